"""Rows with centered columns of unit variance, dense or CSR, without a copy of all rows."""

from typing import Any, NamedTuple

import numpy as np

from likewise._threads import slices
from likewise._validation import is_sparse

_ROWS_PER_BLOCK = 1024


class ColumnScale(NamedTuple):
    """Mean and standard deviation of each column.

    Attributes
    ----------
    mean : (n_features,) array
    deviation : (n_features,) array
        1 for a constant column.
    varies : bool array of shape (n_features,)
        False for a constant column.
    """

    mean: np.ndarray
    deviation: np.ndarray
    varies: np.ndarray


class StandardizedRows:
    """Some rows of X, with the map to their components and its transpose.

    CSR stays as it is: the mean is subtracted after the map.

    Parameters
    ----------
    X : array or CSR of shape (n_rows, n_features)
    scale : ColumnScale
    dtype : type of the mapped rows
    """

    def __init__(self, X: Any, scale: ColumnScale, dtype: Any) -> None:
        self._sparse = is_sparse(X)
        self._dtype = dtype
        if self._sparse:
            self._rows = X.astype(dtype, copy=False)
            self._deviation = scale.deviation
            self._mean = scale.mean / scale.deviation
            return
        self._rows = np.empty(X.shape, dtype)
        for part in slices(X.shape[0], _ROWS_PER_BLOCK):
            np.divide(
                X[part] - scale.mean, scale.deviation, out=self._rows[part], casting="same_kind"
            )

    def mapped(self, L: np.ndarray) -> np.ndarray:
        """Return the rows times Lᵀ."""
        if not self._sparse:
            return np.asarray(self._rows @ L.T.astype(self._dtype))
        mapped = self._rows @ np.ascontiguousarray((L / self._deviation).T, self._dtype)
        return np.asarray(mapped - (L @ self._mean).astype(self._dtype))

    def pulled_back(self, by_rows: np.ndarray) -> np.ndarray:
        """Return the gradient by L for a gradient by the mapped rows, in double precision."""
        if not self._sparse:
            return (by_rows.T @ self._rows).astype(np.float64)
        by_map = np.asarray((self._rows.T @ by_rows).T, np.float64) / self._deviation
        return np.asarray(by_map - np.outer(by_rows.sum(axis=0, dtype=np.float64), self._mean))


def column_scale(X: Any) -> ColumnScale:
    """Return mean and standard deviation of the columns of an array or CSR."""
    n_rows, eps = X.shape[0], np.finfo(np.float64).eps
    # The deviation of a constant is a rounding error.
    if is_sparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n_rows
        squares = np.asarray(X.multiply(X).sum(axis=0, dtype=np.float64)).ravel() / n_rows
        variance = np.maximum(squares - mean**2, 0)
        rounding = np.sqrt(squares * n_rows * eps)
    else:
        mean = X.mean(axis=0, dtype=np.float64)
        variance, largest = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for part in slices(n_rows, _ROWS_PER_BLOCK):
            variance += ((X[part] - mean) ** 2).sum(axis=0)
            np.maximum(largest, np.abs(X[part]).max(axis=0), out=largest)
        variance /= n_rows
        rounding = largest * n_rows * eps
    deviation = np.sqrt(variance)
    varies = deviation > rounding
    return ColumnScale(mean, np.where(varies, deviation, 1.0), varies)
