"""Scores or distances that somebody else has computed."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import check_rows, check_same_length, is_sparse
from likewise.similarities._base import Similarity
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._search import BlockScorer, Scorer


@dataclass(frozen=True, eq=False)
class Precomputed(Similarity):
    """A similarity whose query is its row of a matrix and whose item is the number of a column.

    Parameters
    ----------
    is_distance : bool, default=False
        The matrix holds distances, which are negated, instead of similarities.

    Examples
    --------
    >>> import likewise as lw
    >>> S = [[0.1, 0.9, 0.5]]                     # one query, three items
    >>> lw.Precomputed().neighbors(S, [0, 1, 2], k=2).ids
    array([[1, 2]])
    >>> lw.Precomputed(is_distance=True).neighbors(S, [0, 1, 2], k=2).ids
    array([[0, 2]])
    """

    is_distance: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.is_distance, bool):
            raise TypeError(
                f"is_distance must be True or False, but {self.is_distance!r} was given."
            )

    @property
    def takes(self) -> Literal["matrix"]:
        """Rows of a matrix of scores."""
        return "matrix"

    @property
    def has_distance(self) -> bool:
        """Whether the matrix holds distances."""
        return self.is_distance

    @property
    def is_symmetric(self) -> bool:
        """Never known: queries and items are different things here."""
        return False

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return columns `P` of the matrix `Q`, as an (n_queries, n_items) array."""
        matrix, columns = self._check(Q, P)
        return matrix[:, columns]

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return entry (i, P[i]) of the matrix `Q` for every i, as an (n_queries,) array."""
        matrix, columns = self._check(Q, P)
        check_same_length(matrix, "Q", columns, "P")
        return matrix[np.arange(len(columns)), columns]

    def distance(self, Q: Any, P: Any) -> np.ndarray:
        """Return the distance of every query to every item, as an (n_queries, n_items) array."""
        if not self.is_distance:
            raise TypeError(f"{self!r} has no distance: its matrix holds similarities.")
        return -self.score(Q, P)

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Return the score as one term: a matrix does not tell where its entries come from."""
        score = float(self.score_pairs(np.atleast_2d(q), np.atleast_1d(p))[0])
        return Explanation(score, (Term("query", "item", score),), 0.0)

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        matrix, columns = self._check(Q, P)
        return BlockScorer(
            len(matrix),
            len(columns),
            ready=lambda chunk: columns[chunk],
            score_block=lambda block, chunk: matrix[block][:, chunk],
        ), matrix.dtype

    def check_queries(self, Q: Any, name: str = "Q") -> np.ndarray:
        """Return a dense, finite matrix, not negative where it holds distances."""
        if is_sparse(Q):
            raise TypeError(
                f"{name} is sparse, but a precomputed matrix must be dense: {name}.toarray()."
            )
        matrix: np.ndarray = check_rows(Q, name)
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
            raise TypeError(f"{name} must be a 1-D array of column numbers of Q.")
        return columns

    def _check(self, Q: Any, P: Any) -> tuple[np.ndarray, np.ndarray]:
        matrix, columns = self.check_queries(Q), self.check_items(P)
        outside = columns[(columns < 0) | (columns >= matrix.shape[1])]
        if len(outside):
            raise ValueError(
                f"P points at column {outside[0]}, but Q has {matrix.shape[1]} columns."
            )
        return -matrix if self.is_distance else matrix, columns
