"""Exact search: every item is scored, one matrix product per block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise.index._growing import GrowingRows
from likewise.index.engines._base import NO_SLOT, Hits, squared_lengths
from likewise.similarities import (
    NO_ITEM,
    Best,
    BlockScorer,
    Metric,
    best_items,
    items_in_block,
    ratio,
    rounding_bound,
    sort_best,
)

_MAX_LENGTH_SINGLE = 1e15  # whose square, and sums of such squares, fit into single precision


class ExactEngine:
    """Vectors in one array, all of which are scored in every search.

    The loop over blocks is that of `Similarity.neighbors`. Unlike there, vectors are prepared once,
    when they are added, so that a single query costs one pass over them.
    """

    effort: int | None = None
    is_exact = True
    keeps_slots = False
    forgets = False

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._vectors = GrowingRows()
        self._sizes = GrowingRows()  # 1/length for the cosine, squared lengths for the distance
        self._precision = np.dtype(np.float64)  # the lowest to which vectors were rounded
        self._shift: np.ndarray | None = None
        self._max_length = 0.0

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def width(self) -> int | None:
        return None if self._shift is None else len(self._shift)

    def efforts(self, k: int) -> list[int]:
        return []

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots; the mean is subtracted before vectors are rounded to `dtype`."""
        if self._shift is None:
            # Distances do not depend on a common shift, and rounding is smallest near the mean.
            mean = vectors.mean(axis=0, dtype=np.float64)
            self._shift = mean if self.metric == "euclidean" else np.zeros_like(mean)
        vectors = self._shifted(vectors)
        squares = squared_lengths(vectors)
        self._max_length = max(self._max_length, float(np.sqrt(squares.max())))
        if dtype is None or self._max_length > _MAX_LENGTH_SINGLE:
            dtype = vectors.dtype
        self._vectors.cut(len(self))  # rows of an interrupted call
        self._vectors.append(vectors.astype(dtype, copy=False))
        self._precision = min(self._precision, np.dtype(dtype))
        sizes = squares
        if self.metric == "cosine":
            sizes = ratio(np.ones_like(squares), np.sqrt(squares)).astype(dtype)
        elif self.metric == "euclidean":
            sizes = squares.astype(dtype)
        self._sizes.append(sizes)  # last, because its length is the engine's

    def _shifted(self, rows: np.ndarray) -> np.ndarray:
        if self.metric != "euclidean":
            return rows
        shifted: np.ndarray = rows - self._shift  # in double precision, as the shift is
        return shifted

    def remove(self, slots: np.ndarray) -> None:
        """Do nothing: searches name the allowed slots."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return the vectors in some slots; for the distance up to rounding."""
        kept: np.ndarray = self._vectors.take(slots)
        return kept + self._shift if self.metric == "euclidean" else kept

    def error_bounds(self, queries: np.ndarray) -> np.ndarray:
        n_terms = queries.shape[1] + 2
        if self.metric == "cosine":
            return rounding_bound(np.ones(len(queries)), 1.0, n_terms, self._precision)
        lengths = np.sqrt(squared_lengths(self._shifted(queries)))
        is_distance = self.metric == "euclidean"
        return rounding_bound(
            lengths, self._max_length, n_terms, self._precision, is_distance=is_distance
        )

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Hits:
        sizes = self._sizes.all()
        if allowed is not None:
            sizes = sizes[: len(allowed)]
        vectors = self._vectors.all()[: len(sizes)]
        queries = self._shifted(queries)
        squares = squared_lengths(queries)
        if np.sqrt(squares.max()) * max(self._max_length, 1) < _MAX_LENGTH_SINGLE**2:
            queries = queries.astype(vectors.dtype, copy=False)
        barred = None if allowed is None else ~allowed

        def score_block(own: slice, block: slice) -> np.ndarray:
            scores = self._scores(queries[own], vectors[block], sizes[block])
            if barred is not None:
                scores[:, barred[block]] = -np.inf
            return scores

        if len(queries) == 1:
            best = _best_of_one(score_block, len(vectors), k)
        else:
            scorer = _PreparedScorer(
                len(queries), len(vectors), lambda items: items, score_block, width=vectors.shape[1]
            )
            best = best_items(scorer, k)
        values, slots = sort_best(best)
        slots[slots == NO_ITEM] = NO_SLOT
        if self.metric == "euclidean":
            values = np.sqrt(np.maximum(squares[:, None] - values, 0))
        elif self.metric == "cosine":
            values = ratio(values, np.sqrt(squares)[:, None])
        return Hits(slots, values)

    def _scores(self, own: np.ndarray, vectors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return q·p, q·p/|p| or |q|² − |q − p|²."""
        scores: np.ndarray = own @ vectors.T
        if self.metric == "euclidean":
            scores *= 2
            scores -= sizes
        elif self.metric == "cosine":
            scores *= sizes
        return scores

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return nothing: the vectors are sufficient."""
        return {}


def _best_of_one(score_block: Callable[[slice, slice], np.ndarray], n_items: int, k: int) -> Best:
    """Return what `best_items` returns for one query, without its threads and progress."""
    shape = (1, min(k, n_items))
    heap = np.full(shape, -np.inf), np.full(shape, NO_ITEM)
    for block in slices(n_items, items_in_block(1)):
        kernels.scan_scores(score_block(slice(0, 1), block), block.start, np.full(1, -1), *heap)
    return heap


class _PreparedScorer(BlockScorer):
    """Scores of prepared vectors, in blocks that fit into the cache."""

    def scan(self, queries: slice, chunk: slice, first_id: int, skip: Any, *heap: Any) -> None:
        """Score the chunk in blocks and offer the scores to the heap."""
        n_queries = queries.stop - queries.start
        for block in slices(chunk.stop, items_in_block(n_queries), chunk.start):
            super().scan(queries, block, first_id - chunk.start + block.start, skip, *heap)
