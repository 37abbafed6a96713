"""Roots of positive semidefinite matrices."""

import numpy as np

from likewise._validation import Rows
from likewise.similarities import to_dense


def inverse_root(C: np.ndarray, message: str) -> np.ndarray:
    """Return C^(−1/2), with eigenvalues of zero replaced by the smallest of the others.

    Raises ValueError with this message if C is zero.
    """
    values, vectors = np.linalg.eigh(C)
    varies = values > len(C) * np.finfo(np.float64).eps * np.abs(values).max()
    if not varies.any():
        raise ValueError(message)
    values = np.where(varies, values, values[varies].min())
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def inverse_covariance_root(X: Rows) -> np.ndarray:
    """Return C^(−1/2), with C the covariance of the rows."""
    rows = to_dense(X).astype(np.float64)
    rows = rows - rows.mean(axis=0)
    return inverse_root(rows.T @ rows / len(rows), "X does not vary: all of its rows are equal.")


def map_of(M: np.ndarray) -> np.ndarray:
    """Return a square L with LᵀL = M, the directions of the largest eigenvalues first."""
    values, vectors = np.linalg.eigh(M)
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0))).T[::-1])
