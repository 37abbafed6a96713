"""Exact search: blocks of items against blocks of queries, one matrix product each."""

from typing import Any

import numpy as np

from likewise import kernels
from likewise._threads import for_each, slices
from likewise.index.engines._engine import NO_SLOT, Found, most_off
from likewise.index.stores._growing import GrowingRows
from likewise.similarities import Metric

# A block of scores should stay in the cache of one core.
_QUERIES_IN_BLOCK = 256
_SCORES_IN_BLOCK = 524_288
_LONGEST_SINGLE = 1e15  # whose square, and a sum of some, single precision still holds


class ExactEngine:
    """Vectors in one array, all of which every search looks at."""

    effort: int | None = None
    is_exact = True
    keeps_slots = False
    forgets = False

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._vectors = GrowingRows()
        self._sizes = GrowingRows()  # lengths for the cosine, squared lengths for the distance
        self._shift: np.ndarray | None = None
        self._longest = 0.0

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def width(self) -> int | None:
        """How many numbers a vector has."""
        return None if self._shift is None else len(self._shift)

    def efforts(self, k: int) -> list[int]:
        """There is nothing to choose."""
        return []

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots; the middle is taken away before anything is rounded to `dtype`."""
        if self._shift is None:
            # A distance does not see a common shift, and rounding is least around the middle.
            middle = vectors.mean(axis=0, dtype=np.float64)
            self._shift = middle if self.metric == "euclidean" else np.zeros_like(middle)
        vectors = self._shifted(vectors)
        squares = _squares(vectors)
        self._longest = max(self._longest, float(np.sqrt(squares.max())))
        if dtype is None or self._longest > _LONGEST_SINGLE:
            dtype = vectors.dtype
        self._vectors.cut(len(self))  # what an interrupted call left
        self._vectors.append(vectors.astype(dtype, copy=False))
        # Last, because its length is the engine's.
        self._sizes.append(np.sqrt(squares) if self.metric == "cosine" else squares)

    def _shifted(self, rows: np.ndarray) -> np.ndarray:
        if self.metric != "euclidean":
            return rows
        shifted: np.ndarray = rows - self._shift  # in double precision, as the shift is
        return shifted

    def remove(self, slots: np.ndarray) -> None:
        """Do nothing: a search is told what is allowed."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return what was added; for the distance up to rounding."""
        kept: np.ndarray = self._vectors.take(slots)
        return kept + self._shift if self.metric == "euclidean" else kept

    def most_off(self, queries: np.ndarray) -> np.ndarray:
        """Return by how much rounding may have moved a query's values."""
        width, dtype = self._vectors.all().shape[1], self._vectors.all().dtype
        if self.metric == "cosine":
            return most_off(self.metric, np.ones(len(queries)), 1.0, width, dtype)
        reach = np.sqrt(_squares(self._shifted(queries)))
        return most_off(self.metric, reach, self._longest, width, dtype)

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Found:
        """Find the `k` best slots of each query, among those that are allowed."""
        sizes = self._sizes.all()
        if allowed is not None:
            sizes = sizes[: len(allowed)]
        vectors = self._vectors.all()[: len(sizes)]
        queries = self._shifted(queries)
        squared = _squares(queries)
        if np.sqrt(squared.max()) * max(self._longest, 1) < _LONGEST_SINGLE**2:
            queries = queries.astype(vectors.dtype, copy=False)
        shape = (len(queries), min(k, len(sizes)))
        heap = np.full(shape, -np.inf), np.full(shape, NO_SLOT)
        barred = None if allowed is None else ~allowed

        def work(block: slice) -> None:
            own = queries[block]
            nobody = np.full(len(own), -1)
            for part in slices(len(vectors), max(2048, _SCORES_IN_BLOCK // len(own))):
                scores = self._scores(own, vectors[part], sizes[part])
                if barred is not None:
                    scores[:, barred[part]] = -np.inf
                kernels.scan_scores(scores, part.start, nobody, heap[0][block], heap[1][block])

        for_each(work, list(slices(len(queries), _QUERIES_IN_BLOCK)))
        order = np.lexsort((heap[1], -heap[0]))
        values, slots = (np.take_along_axis(part, order, axis=1) for part in heap)
        if self.metric == "euclidean":
            values = np.sqrt(np.maximum(squared[:, None] - values, 0))
        elif self.metric == "cosine":
            size = np.sqrt(squared)[:, None]
            values = np.divide(values, size, out=np.zeros_like(values), where=size > 0)
        return Found(slots, values)

    def _scores(self, own: np.ndarray, vectors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return inner products, those over the vectors' lengths, or |q|² − d²."""
        found: np.ndarray = own @ vectors.T
        if self.metric == "euclidean":
            found *= 2
            found -= sizes.astype(found.dtype)
        elif self.metric == "cosine":
            inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0)
            found *= inverse.astype(found.dtype)
        return found

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return nothing: the vectors are enough."""
        return {}


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
