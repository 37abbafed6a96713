"""Dissimilarities that somebody else has computed."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import is_sparse
from likewise.similarities.distances._base import Dissimilarity, NamePair


@dataclass(frozen=True, eq=False)
class MatrixDistance(Dissimilarity):
    """Rows of a matrix, compared with its columns by number.

    What a column holds is looked at only when the column is read, so that a matrix may hold
    anything in columns that nobody needs.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("precomputed").pairwise([[0.0, 2.0, 5.0]], [2, 1])
    array([[5., 2.]])
    """

    @property
    def takes(self) -> Literal["matrix"]:
        """Rows of a matrix."""
        return "matrix"

    def check(self, X: Any, name: str = "X") -> np.ndarray:
        """Return a dense matrix of numbers."""
        if is_sparse(X):
            raise TypeError(
                f"{name} is sparse, but a precomputed matrix must be dense: {name}.toarray()."
            )
        matrix = np.asarray(X)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise TypeError(
                f"{name} must be a matrix of numbers, but {matrix.ndim}-D {matrix.dtype} was given."
            )
        return matrix

    def check_items(self, X: Any, name: str = "X") -> np.ndarray:
        """Return column numbers."""
        columns = np.asarray(X)
        if columns.ndim != 1 or columns.dtype.kind not in "iu":
            raise TypeError(f"{name} must be a 1-D array of column numbers of the matrix.")
        return columns

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Read columns."""
        return left[:, right]


def check_square(matrix: np.ndarray) -> None:
    """Refuse training dissimilarities that are not of rows with rows, or negative somewhere."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"X must be a square matrix of rows with rows, but has shape {matrix.shape}."
        )
    if matrix.min() < 0:
        row, column = np.argwhere(matrix < 0)[0]
        raise ValueError(
            f"Negative values in data: X holds {matrix[row, column]:.4g} in row {row}, column "
            f"{column}, but a dissimilarity must not be negative."
        )
