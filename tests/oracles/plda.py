"""Probabilistic linear discriminant analysis of pairs, as printed; plain NumPy."""

import numpy as np


def remainder(rows):
    """Return rows less their mean and, if it exceeds the deviation there, less its direction."""
    mean = rows.mean(axis=0)
    length = np.linalg.norm(mean)
    if length <= np.std(rows @ mean / length):
        return rows - mean
    unit = mean / length
    return np.array([row - (row @ unit) * unit for row in rows])


def principal(rows, k):
    """Return the first principal directions of rows without their mean direction, and variances."""
    left = remainder(rows)
    covariance = sum(np.outer(row, row) for row in left) / (len(rows) - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(-values)[:k]
    return vectors[:, order].T, values[order]


def form(rows, pairs, k, weight_per_direction=2.0):
    """Return W of the two-covariance model by the log-likelihood ratio, scaled to a mean of 1."""
    V, variances = principal(rows, k)
    T = np.diag(variances)
    C = np.zeros((k, k))
    for a, b in pairs:
        d = V @ (rows[a] - rows[b])
        C += np.outer(d, d) / 2
    n, weight = len(pairs), weight_per_direction * k
    C = (C + weight * np.trace(C) / n / k * np.eye(k)) / (n + weight)
    # Between covariance: that of the total, less that within, without negative directions.
    root = np.diag(np.sqrt(variances))
    inverse = np.diag(1 / np.sqrt(variances))
    values, vectors = np.linalg.eigh(inverse @ (T - C) @ inverse)
    B = root @ (vectors * np.clip(values, 0, 0.99)) @ vectors.T @ root
    # Two rows of a kind have the joint covariance [[T, B], [B, T]], others [[T, 0], [0, T]].
    joint = np.linalg.inv(np.block([[T, B], [B, T]]))
    W = V.T @ -joint[:k, k:] @ V
    left = remainder(rows)
    return W / (np.einsum("ij,jk,ik->", left, W, left) / (len(rows) - 1))
