"""Mean and spread of the columns of rows, which may be in blocks, and sparse rows made dense."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from likewise._threads import slices
from likewise._validation import is_sparse

_ROWS_PER_BLOCK = 1024
_MAX_SPARSE_FEATURES = 2_000


class ColumnMoments(NamedTuple):
    """Moments of the columns of some rows, in double precision.

    Attributes
    ----------
    n_rows : int
    mean : (n_features,) array
    squares : (n_features,) array
        Sum of the squared differences from the mean.
    largest : (n_features,) array
        Largest absolute value.
    dtype : type of the rows
    """

    n_rows: int
    mean: np.ndarray
    squares: np.ndarray
    largest: np.ndarray
    dtype: Any

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of each column."""
        return np.sqrt(self.squares / self.n_rows)


def column_moments(X: Any) -> ColumnMoments:
    """Return the moments of an array, or of CSR without duplicate entries."""
    n_rows, n_features = X.shape
    mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n_rows
    squares, largest = np.zeros(n_features), np.zeros(n_features)
    stored = np.zeros(n_features)
    for part in slices(n_rows, _ROWS_PER_BLOCK):
        block = X[part]
        if is_sparse(X):
            columns = block.indices
            squares += np.bincount(columns, (block.data - mean[columns]) ** 2, n_features)
            stored += np.bincount(columns, minlength=n_features)
            np.maximum.at(largest, columns, np.abs(block.data))
        else:
            squares += ((block - mean) ** 2).sum(axis=0)
            np.maximum(largest, np.abs(block).max(axis=0), out=largest)
    if is_sparse(X):
        squares += (n_rows - stored) * mean**2
    return ColumnMoments(n_rows, mean, squares, largest, X.dtype)


def combined_moments(parts: Iterable[ColumnMoments]) -> ColumnMoments:
    """Return the moments of several parts together, after Chan, Golub and LeVeque."""
    remaining = iter(parts)
    n, mean, squares, largest, dtype = next(remaining)
    for part in remaining:
        total, gap = n + part.n_rows, part.mean - mean
        squares = squares + part.squares + gap**2 * (n * part.n_rows / total)
        mean = mean + gap * (part.n_rows / total)
        n, largest = total, np.maximum(largest, part.largest)
        dtype = np.result_type(dtype, part.dtype)
    return ColumnMoments(n, mean, squares, largest, dtype)


def is_constant(deviation: np.ndarray, largest: np.ndarray, n_rows: int) -> np.ndarray:
    """Tell for each column whether its standard deviation is but a rounding error."""
    return np.asarray(deviation <= largest * n_rows * np.finfo(np.float64).eps)


def dense_rows(X: Any, learner: Any) -> Any:
    """Return CSR rows as an array, if they are narrow enough; other rows unchanged."""
    check_sparse_width(X, learner)
    return X.toarray() if is_sparse(X) else X


def check_sparse_width(X: Any, learner: Any) -> None:
    """Refuse sparse rows that are too wide to make dense."""
    if is_sparse(X) and X.shape[-1] > _MAX_SPARSE_FEATURES:
        raise ValueError(
            f"X is sparse with {X.shape[-1]} features, and {type(learner).__name__} makes it "
            f"dense, for which the limit is {_MAX_SPARSE_FEATURES}: reduce it first, as by "
            "TruncatedSVD."
        )
