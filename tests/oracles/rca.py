"""RCA as printed."""

import numpy as np


def covariance(X, y, weights=None):
    """Return Σ w (x − m)(x − m)ᵀ / Σ w, with m the weighted mean of the class of x."""
    weights = np.ones(len(y)) if weights is None else weights
    C = np.zeros((X.shape[1], X.shape[1]))
    for label in np.unique(y):
        rows, w = X[y == label], weights[y == label]
        mean = w @ rows / w.sum()
        for x, weight in zip(rows, w, strict=True):
            C += weight * np.outer(x - mean, x - mean)
    return C / weights.sum()
