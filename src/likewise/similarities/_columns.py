"""Dissimilarities between rows and items, for classifiers and features that only compare.

The dissimilarity is the distance of a similarity, or −score if it has none: callers use only
differences d(x, x′) − d(x, x″). For a `Ranked` it is the share of its sample that is closer.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import n_rows
from likewise.similarities import _search
from likewise.similarities._base import Similarity
from likewise.similarities._precomputed import Precomputed

_MAX_NUMBERS = 2**27  # 1 GiB
_ROWS_IN_BLOCK = 512


def exact_scores(similarity: Similarity, Q: Any, P: Any) -> np.ndarray:
    """Return the score of every query with every item, with which equal pairs tie exactly."""
    return _search.exact_scores(similarity._scorer(Q, P)[0])


def dissimilarities(similarity: Similarity, Q: Any, P: Any) -> np.ndarray:
    """Return the dissimilarity of every query and item, as an (n_queries, n_items) array."""
    return scores_to_dissimilarities(similarity, exact_scores(similarity, Q, P))


def scores_to_dissimilarities(similarity: Similarity, scores: np.ndarray) -> np.ndarray:
    """Return the dissimilarities that belong to scores of this similarity."""
    return np.asarray(similarity._dissimilarity(scores))


class DissimilarityColumns:
    """Columns of a dissimilarity matrix, computed on first use and cached.

    Each column is a row of `values`, where compiled loops read it fastest. When the cache is full,
    all columns are dropped.

    Parameters
    ----------
    similarity : Similarity
    X : checked rows, objects, or square matrix
        The rows and, except for a matrix, also the items. Columns of a symmetric matrix are read
        as its rows, because a column is one cache line per entry; if it holds distances in double
        precision, it is itself the cache.
    max_numbers : int
        Size of the cache in numbers; it always holds the columns of one request.
    """

    def __init__(self, similarity: Similarity, X: Any, max_numbers: int = _MAX_NUMBERS) -> None:
        self.n_rows = n_rows(X)
        items = np.arange(self.n_rows) if similarity.takes == "matrix" else X
        self._similarity = similarity
        self._scorer = similarity._scorer(X, items)[0]
        self._n_cached = 0
        self.n_computed = 0
        self._read: Callable[[np.ndarray], np.ndarray] | None = None
        if isinstance(similarity, Precomputed):
            is_symmetric = _is_symmetric(X)
            self._read = partial(similarity.columns, X, is_symmetric=is_symmetric)
            if is_symmetric and similarity.is_distance and _has_compiled_type(X):
                self.values, self._position = X, np.arange(self.n_rows)
                return
        self._capacity = min(self.n_rows, max(1, max_numbers // self.n_rows))
        self.values = np.empty((self._capacity, self.n_rows))  # allocated by the system when used
        self._position = np.full(self.n_rows, -1)

    def positions(self, items: np.ndarray) -> np.ndarray:
        """Return the rows of `values` that hold the columns of `items`; compute missing ones."""
        positions = self._position[items]
        if (positions >= 0).all():
            return positions
        wanted = np.unique(items)
        new = wanted[self._position[wanted] < 0]
        if self._n_cached + len(new) > self._capacity:
            self._clear(len(wanted))
            new = wanted
        stop = self._n_cached + len(new)
        if self._read is not None:
            self.values[self._n_cached : stop] = self._read(new)
        else:
            scores = _search.exact_scores(self._scorer, new)
            self.values[self._n_cached : stop] = self._similarity._dissimilarity(scores).T
        self._position[new] = np.arange(self._n_cached, stop)
        self._n_cached = stop
        self.n_computed += len(new)
        return self._position[items]

    def _clear(self, n_wanted: int) -> None:
        self._position[:] = -1
        self._n_cached = 0
        if n_wanted > self._capacity:
            self._capacity = n_wanted
            self.values = np.empty((self._capacity, self.n_rows))


def _is_symmetric(matrix: np.ndarray) -> bool:
    """Return whether a square matrix equals its transpose, compared in blocks within the cache."""
    blocks = list(slices(len(matrix), _ROWS_IN_BLOCK))
    return all(
        np.array_equal(matrix[rows, columns], matrix[columns, rows].T)
        for at, rows in enumerate(blocks)
        for columns in blocks[: at + 1]
    )


def _has_compiled_type(matrix: np.ndarray) -> bool:
    """Return whether kernels that read `values` take the matrix without being compiled again."""
    return matrix.dtype == np.float64 and matrix.flags.c_contiguous and matrix.flags.writeable
