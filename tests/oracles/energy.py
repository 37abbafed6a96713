"""The energy rule of Weinberger, Blitzer and Saul (2005), as printed."""

import numpy as np


def squared_distances(left, right):
    """Return |l − r|² of every pair."""
    return ((left[:, None] - right[None]) ** 2).sum(axis=2)


def targets(between, labels, k):
    """Return T(i) of every row i: its k nearest of the same label, itself left out."""
    return [
        [
            int(j)
            for j in np.argsort(between[i], kind="stable")
            if j != i and labels[j] == labels[i]
        ][:k]
        for i in range(len(labels))
    ]


def nearest_of_label(distances, labels, y, k):
    """Return N_y(t): the k rows of label y nearest to t."""
    return [int(j) for j in np.argsort(distances, kind="stable") if labels[j] == y][:k]


def energies(tests, rows, labels, k, c, weights=None):
    """Return E(t, y).

    E = Σ_{j∈N_y} d(t,j) + c Σ_{j∈N_y} Σ_{l: y_l≠y} v_l [1 + d(t,j) − d(t,l)]₊
      + c Σ_{i: y_i≠y} v_i Σ_{j∈T(i)} [1 + d(i,j) − d(i,t)]₊, with weights v, ones as printed
    """
    d = squared_distances(tests, rows)
    between = squared_distances(rows, rows)
    T = targets(between, labels, k)
    v = np.ones(len(rows)) if weights is None else weights
    found = np.zeros((len(tests), labels.max() + 1))
    for t in range(len(tests)):
        for y in range(found.shape[1]):
            N = nearest_of_label(d[t], labels, y, k)
            others = np.flatnonzero(labels != y)
            found[t, y] = (
                sum(d[t, j] for j in N)
                + c * sum(v[o] * max(0, 1 + d[t, j] - d[t, o]) for j in N for o in others)
                + c * sum(v[i] * max(0, 1 + between[i, j] - d[t, i]) for i in others for j in T[i])
            )
    return found
