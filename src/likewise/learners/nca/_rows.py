"""Rows with centered columns of unit variance, dense or CSR, without a copy of all rows."""

from typing import Any, NamedTuple

import numpy as np

from likewise._execution import current_backend
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners.linear_map import column_moments, combined_moments, is_constant

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
    dtype : type of the columns
    """

    mean: np.ndarray
    deviation: np.ndarray
    varies: np.ndarray
    dtype: Any


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
        # Rounding the mean of single-precision columns moves all rows alike, which is no matter.
        mean, inverse = scale.mean.astype(X.dtype), (1 / scale.deviation).astype(X.dtype)
        for part in slices(X.shape[0], _ROWS_PER_BLOCK):
            np.multiply(X[part] - mean, inverse, out=self._rows[part], casting="same_kind")

    @property
    def dense(self) -> np.ndarray | None:
        """The standardized rows; None for CSR."""
        return None if self._sparse else self._rows

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


def in_memory(X: Any) -> bool:
    """Tell whether rows are an array or CSR; others are read by the workers of a cluster."""
    return isinstance(X, np.ndarray) or is_sparse(X)


def column_scale(X: Any) -> ColumnScale:
    """Return mean and standard deviation of the columns of rows, also on a cluster."""
    backend = current_backend()
    if in_memory(X) or backend is None:
        moments = column_moments(X)
    else:
        moments = combined_moments(backend.map_rows(column_moments, X))
    deviation = moments.deviation
    varies = ~is_constant(deviation, moments.largest, moments.n_rows)
    return ColumnScale(moments.mean, np.where(varies, deviation, 1.0), varies, moments.dtype)


def standardized_targets(y: np.ndarray) -> np.ndarray:
    """Return targets as columns with mean 0 and variance 1; a constant one is only centered."""
    scale = column_scale(y.reshape(len(y), -1))
    return np.asarray((y.reshape(len(y), -1) - scale.mean) / scale.deviation)
