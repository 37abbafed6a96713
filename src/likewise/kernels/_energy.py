"""The energy of each hypothesized label of a test point (Weinberger, Blitzer and Saul)."""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def class_energies(distances, labels, nearest, radii, weights, c, reach, invaded, out):
    """Write E(t, y) of every row t and label y into `out`.

    E(t, y) = Σ_{j in N_y} d(t,j) + c Σ_{j in N_y} Σ_{l: y_l≠y} v_l [1 + d(t,j) − d(t,l)]₊
    + c Σ_{i: y_i≠y} v_i Σ_{j in T(i)} [1 + d(i,j) − d(i,t)]₊, with d a squared distance.

    Parameters
    ----------
    distances : (n_rows, n_items) float64, d(t, i)
    labels : (n_items,) int64 from 0
    nearest : (n_rows, n_classes, k) float64, d(t, j) of j in N_y(t) ascending; NaN if fewer
    radii : (n_items, k) float64, d(i, j) of j in T(i) ascending; NaN where i has fewer targets
    weights : (n_items,) float64, v_i
    c : float
    reach, invaded : (n_classes,) float64, scratch arrays
    out : (n_rows, n_classes) float64
    """
    n_classes, k = nearest.shape[1], nearest.shape[2]
    for t in range(distances.shape[0]):
        widest = 0.0
        for y in range(n_classes):
            pull = 0.0
            reach[y] = 0.0
            for j in range(k):
                d = nearest[t, y, j]
                if not np.isnan(d):
                    pull += d
                    reach[y] = 1.0 + d
            out[t, y] = pull
            invaded[y] = 0.0
            widest = max(widest, reach[y])

        all_invaded = 0.0
        for i in range(distances.shape[1]):
            d = distances[t, i]
            # t is closer to i than its targets: counts against all labels except that of i
            hinges = 0.0
            for j in range(k):
                hinge = 1.0 + radii[i, j] - d
                if hinge > 0.0:  # false for the NaN of a missing target
                    hinges += hinge
            invaded[labels[i]] += weights[i] * hinges
            all_invaded += weights[i] * hinges
            # i is closer to t than the neighbors of t with another label
            if d < widest:
                for y in range(n_classes):
                    if y != labels[i] and d < reach[y]:
                        push = 0.0
                        for j in range(k):
                            hinge = 1.0 + nearest[t, y, j] - d
                            if hinge > 0.0:
                                push += hinge
                        out[t, y] += c * weights[i] * push

        for y in range(n_classes):
            out[t, y] += c * (all_invaded - invaded[y])
