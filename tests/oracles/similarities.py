"""The scores as printed, one pair of rows at a time."""

import numpy as np


def matrix_of(linear, width):
    """Return the matrix that a number, a diagonal or a matrix stands for."""
    linear = np.asarray(linear, dtype=float)
    return linear if linear.ndim == 2 else np.diag(np.broadcast_to(linear, width))


def mahalanobis(L, Q, P):
    """Return −|L(q − p)|²."""
    L = matrix_of(L, Q.shape[1])
    return np.array([[-((L @ (q - p)) ** 2).sum() for p in P] for q in Q])


def bilinear(W, norm, Q, P):
    """Return qᵀWp / N(q, p), and 0 where N is 0."""
    W = matrix_of(W, Q.shape[1])
    N = {
        "none": lambda q, p: 1.0,
        "cosine": lambda q, p: np.sqrt(q @ q) * np.sqrt(p @ p),
        "dice": lambda q, p: q.sum() + p.sum(),
        "jaccard": lambda q, p: q.sum() + p.sum() - q @ p,
    }[norm]
    return np.array([[q @ W @ p / N(q, p) if N(q, p) else 0.0 for p in P] for q in Q])


def positive_part(W):
    """Return (S + |S|)/2 with S = (W + Wᵀ)/2, and |S| the root of S² by its singular values."""
    S = (np.asarray(W, dtype=float) + np.asarray(W, dtype=float).T) / 2
    _, sizes, directions = np.linalg.svd(S)
    return (S + directions.T @ np.diag(sizes) @ directions) / 2


def index_scores(metric, queries, items):
    """Return what an index with this metric computes for every query and stored item."""
    if metric == "euclidean":
        return np.array([[np.sqrt(((q - p) ** 2).sum()) for p in items] for q in queries])
    found = np.array([[q @ p for p in items] for q in queries])
    if metric == "cosine":
        lengths = [np.sqrt((rows**2).sum(axis=1)) for rows in (queries, items)]
        found /= np.maximum(np.outer(*lengths), np.finfo(float).tiny)
    return found
