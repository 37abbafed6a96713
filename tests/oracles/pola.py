"""POLA as printed: two orthogonal projections for each pair."""

import numpy as np


def loss(M, b, z, y):
    """Return [y (zᵀMz − b) + 1]₊."""
    return max(0.0, y * (z @ M @ z - b) + 1)


def project_half_space(M, b, z, y):
    """Return the nearest (M, b) without a loss: a projection in d² + 1 dimensions."""
    point = np.append(M.ravel(), b)
    normal = y * np.append(np.outer(z, z).ravel(), -1.0)
    excess = normal @ point + 1
    if excess > 0:
        point = point - excess / (normal @ normal) * normal
    return point[:-1].reshape(M.shape), point[-1]


def project_cone(M, b):
    """Return the nearest (M, b) with M ⪰ 0 and b ≥ 1."""
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 0)) @ vectors.T, max(b, 1.0)


def follow(Z, ys):
    """Return M, b and the losses of pairs in order, from M = 0 and b = 0."""
    M, b, losses = np.zeros((Z.shape[1],) * 2), 0.0, []
    for z, y in zip(Z, ys, strict=True):
        losses.append(loss(M, b, z, y))
        if losses[-1] > 0:
            M, b = project_cone(*project_half_space(M, b, z, y))
    return M, b, np.array(losses)
