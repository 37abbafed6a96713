"""Precomputed scores or distances."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import check_bool, check_rows, check_same_length, is_sparse
from likewise.similarities._blocks import BlockSimilarity, NamePair


@dataclass(frozen=True, eq=False)
class Precomputed(BlockSimilarity):
    """A matrix of scores or distances: a query is a row of it, an item the number of a column.

    Parameters
    ----------
    is_distance : bool, default=False
        Whether the matrix holds distances, which are negated, instead of similarities.

    Notes
    -----
    Scoring reads only the columns that `P` names; the others may hold anything.

    Examples
    --------
    >>> import likewise as lw
    >>> S = [[0.1, 0.9, 0.5]]                     # one query, three items
    >>> lw.Precomputed().neighbors(S, [0, 1, 2], k=2).ids
    array([[1, 2]])
    >>> lw.Precomputed(is_distance=True).neighbors(S, [0, 1, 2], k=2).ids
    array([[0, 2]])
    """

    takes = "matrix"
    is_symmetric = False  # queries are rows and items are column numbers
    is_distance: bool = False

    def __post_init__(self) -> None:
        check_bool(self.is_distance, "is_distance")

    @property
    def has_distance(self) -> bool:
        """Whether the matrix holds distances."""
        return self.is_distance

    def check_queries(self, Q: Any, name: str = "Q") -> np.ndarray:
        """Return a dense, finite matrix, without negative entries if it holds distances."""
        matrix = self._check_matrix(Q, name, finite=True)
        if self.is_distance and matrix.min() < 0:
            row, column = np.argwhere(matrix < 0)[0]
            raise ValueError(
                f"Negative values in data: {name} holds {matrix[row, column]:.4g} in row {row}, "
                f"column {column}, but a distance must not be negative."
            )
        return matrix

    def check_items(self, P: Any, name: str = "P") -> np.ndarray:
        """Return column numbers."""
        columns = np.asarray(P)
        if columns.ndim != 1 or columns.size == 0 or columns.dtype.kind not in "iu":
            raise TypeError(
                f"{name} must be a 1-D array of column numbers of Q, but {columns.dtype} of shape "
                f"{columns.shape} was given."
            )
        return columns

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return entry (i, P[i]) of the matrix `Q` for every i, as an (n_queries,) array."""
        matrix, columns = self._check(Q, P)
        check_same_length(matrix, "Q", columns, "P")
        entries = matrix[np.arange(len(columns)), columns]
        self._check_values(entries[:, None], lambda i, _: f"query {i} and item {columns[i]}")
        return -entries if self.is_distance else entries

    def columns(self, matrix: np.ndarray, which: np.ndarray, *, is_symmetric: bool) -> np.ndarray:
        """Return dissimilarities from columns of a checked matrix, one column in each row."""
        entries = matrix[which] if is_symmetric else np.take(matrix, which, axis=1).T
        return entries if self.is_distance else -entries

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Read columns."""
        entries: np.ndarray = left[:, right]
        return entries

    def _check(self, Q: Any, P: Any) -> tuple[np.ndarray, np.ndarray]:
        matrix, columns = self._check_matrix(Q, "Q", finite=False), self.check_items(P)
        outside = columns[(columns < 0) | (columns >= matrix.shape[1])]
        if len(outside):
            raise ValueError(
                f"P points at column {outside[0]}, but Q has {matrix.shape[1]} columns."
            )
        return matrix, columns

    def _item_numbers(self, P: Any) -> np.ndarray:
        return np.asarray(P)

    def _dtype(self, Q: Any, P: Any) -> Any:
        return Q.dtype

    @staticmethod
    def _check_matrix(Q: Any, name: str, *, finite: bool) -> np.ndarray:
        if is_sparse(Q):
            raise TypeError(
                f"{name} is sparse, but a precomputed matrix must be dense: {name}.toarray()."
            )
        matrix: np.ndarray = check_rows(Q, name, finite=finite)
        return matrix
