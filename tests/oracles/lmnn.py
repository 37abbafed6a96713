"""Large margin nearest neighbours, as printed: sums over triplets, in plain loops."""

import numpy as np


def hinge(h, width=0.0):
    """Return [h]₊, or its form that is a parabola between 0 and `width`; and its slope."""
    if not h > 0:
        return 0.0, 0.0
    if h < width:
        return h * h / (2 * width), h / width
    return h - width / 2, 1.0


def label_triplets(labels, targets):
    """Return the pairs (i, j) to pull and the triplets (i, j, l) to push."""
    pairs = [(i, j) for i, row in enumerate(targets) for j in row if j >= 0]
    others = [(i, j, n) for i, j in pairs for n in range(len(labels)) if labels[n] != labels[i]]
    return pairs, others


def distance(M, X, i, j):
    """Return (x_i − x_j)ᵀ M (x_i − x_j)."""
    gap = X[i] - X[j]
    return float(gap @ M @ gap)


def objective(L, X, pairs, triplets, c, width=0.0, weights=None):
    """Return Σ w_i d(i,j) + c Σ w_i w_l [1 + d(i,j) − d(i,l)]₊."""
    M = np.asarray(L, dtype=np.float64).T @ np.asarray(L, dtype=np.float64)
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if weights is None else weights
    total = sum(w[i] * distance(M, X, i, j) for i, j in pairs)
    for i, j, n in triplets:
        loss = hinge(1 + distance(M, X, i, j) - distance(M, X, i, n), width)[0]
        total += c * w[i] * w[n] * loss
    return total


def gradient(L, X, pairs, triplets, c, width=0.0, weights=None):
    """Return df/dL = 2 L df/dM, with df/dM a sum of outer products."""
    M, by_M = L.T @ L, np.zeros((X.shape[1], X.shape[1]))
    w = np.ones(len(X)) if weights is None else weights
    for i, j in pairs:
        by_M += w[i] * outer(X, i, j)
    for i, j, n in triplets:
        slope = hinge(1 + distance(M, X, i, j) - distance(M, X, i, n), width)[1]
        by_M += c * w[i] * w[n] * slope * (outer(X, i, j) - outer(X, i, n))
    return 2 * L @ by_M


def outer(X, i, j):
    """Return C_ij = (x_i − x_j)(x_i − x_j)ᵀ."""
    return np.outer(X[i] - X[j], X[i] - X[j])


def impostors(between, labels, reach):
    """Return the pairs (i, l) of different labels with d(i, l) below the reach of i."""
    n = len(labels)
    return [
        (i, j) for i in range(n) for j in range(n) if labels[i] != labels[j]
        if between[i, j] < reach[i]
    ]  # fmt: skip


def anchor_costs(near, far, c, width, pull=1.0, push=None):
    """Return the cost of one anchor, and its derivatives by each target's and impostor's d."""
    near = np.asarray(near, dtype=np.float64)
    total = pull * float(np.nansum(near))
    on_targets, on_impostors = np.full(len(near), pull), np.zeros(len(far))
    weights = np.ones(len(far)) if push is None else push
    for j, d_j in enumerate(near):
        for n, d_n in enumerate(far):
            value, slope = hinge(1 + d_j - float(d_n), width)  # 0 where d_j is NaN
            total += c * weights[n] * value
            on_targets[j] += c * weights[n] * slope
            on_impostors[n] -= c * weights[n] * slope
    return total, on_targets, on_impostors
