"""The k best items for every query, in blocks: memory does not grow with queries times items.

Items pass by in chunks that are made ready once; within a chunk blocks of queries are shared among
threads. Each query's best so far live in a heap (see `likewise.kernels`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise._threads import for_each
from likewise.similarities._matches import Matches

# Bounds of what is held at a time; a block of scores should stay in the cache of one core.
_ITEMS_IN_CHUNK = 32_768
_ITEMS_IN_BLOCK = 2_048
_QUERIES_IN_BLOCK = 256


class Scorer(Protocol):
    """What a similarity hands to `search`."""

    @property
    def n_queries(self) -> int: ...

    @property
    def n_items(self) -> int: ...

    @property
    def parallel(self) -> bool:
        """Whether `scan` may be called from several threads."""

    @property
    def ready(self) -> Callable[[slice], Any]:
        """What prepares a chunk of items."""

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Offer the scores of a block of queries with a chunk of items to the heap."""


def search(scorer: Scorer, k: int, *, exclude_self: bool, dtype: Any) -> Matches:
    """Return the `k` best items of every query; of equal scores the lower row comes first."""
    available = max(0, min(k, scorer.n_items - exclude_self))
    shape = (scorer.n_queries, max(available, 1))
    heap = np.full(shape, -np.inf), np.full(shape, np.iinfo(np.int64).max)
    own_row = np.arange(scorer.n_queries) if exclude_self else np.full(scorer.n_queries, -1)

    chunks = list(_slices(scorer.n_items, _ITEMS_IN_CHUNK))
    blocks = list(_slices(scorer.n_queries, _QUERIES_IN_BLOCK))
    total = len(chunks) * len(blocks)
    with LongWork("searching neighbours", total=total, unit="blocks") as work:
        for chunk in chunks:
            step = partial(_scan_block, scorer, scorer.ready(chunk), chunk.start, own_row, heap)
            for_each(step, blocks, on_done=work.advance, parallel=scorer.parallel)
    return _sorted_matches(*heap, k, available, dtype)


def _scan_block(
    scorer: Scorer, chunk: Any, first_id: int, skip: Any, heap: Any, block: slice
) -> None:
    scorer.scan(block, chunk, first_id, skip[block], heap[0][block], heap[1][block])


def _sorted_matches(
    scores: np.ndarray, ids: np.ndarray, k: int, available: int, dtype: Any
) -> Matches:
    order = np.lexsort((ids, -scores))[:, :available]
    scores = np.take_along_axis(scores, order, axis=1).astype(dtype, copy=False)
    ids = np.take_along_axis(ids, order, axis=1)
    if available < k:
        missing = (len(scores), k - available)
        scores = np.concatenate([scores, np.full(missing, -np.inf, dtype)], axis=1)
        ids = np.concatenate([ids.astype(object), np.full(missing, None)], axis=1)
    return Matches(ids, scores)


def _slices(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


@dataclass(frozen=True, eq=False)
class BlockScorer:
    """Scores that come in blocks: sparse products, normalised forms, a function, a matrix.

    Parameters
    ----------
    n_queries, n_items : int
    ready : callable on a slice of items
        What `score_block` wants of them.
    score_block : callable on (slice of queries, ready items)
        The scores, dense.
    parallel : bool, default=True
        Whether `score_block` may be called from several threads.
    """

    n_queries: int
    n_items: int
    ready: Callable[[slice], Any]
    score_block: Callable[[slice, Any], np.ndarray]
    parallel: bool = True

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Score the block and offer it."""
        scores = np.ascontiguousarray(self.score_block(queries, chunk))
        kernels.scan_scores(scores, first_id, skip, *heap)


class ProductScorer:
    """Dense rows whose score is q·p, or −|q − p|²: one matrix product a block.

    Parameters
    ----------
    n_queries, n_items : int
    queries : (n_queries, n_features) array
    items : callable on a slice
        The same features of the items.
    is_distance : bool
        Score −|q − p|² instead of q·p.

    Notes
    -----
    −|q − p|² is the inner product of (2q, −|q|², 1) with (p, 1, −|p|²), after both are shifted to
    the middle of the items, where its terms are smallest.
    """

    parallel = True

    def __init__(
        self,
        n_queries: int,
        n_items: int,
        queries: np.ndarray,
        items: Callable[[slice], np.ndarray],
        *,
        is_distance: bool,
    ) -> None:
        self.n_queries, self.n_items = n_queries, n_items
        self._queries, self._items = queries, items
        self._is_distance = is_distance
        if is_distance:
            self._shift = items(slice(0, min(n_items, _ITEMS_IN_BLOCK))).mean(axis=0)
            centred = queries - self._shift
            self._reach = np.sqrt(_squared_lengths(centred))
            self._left = _beside(2 * centred, -(self._reach**2), np.ones(len(queries)))
        else:
            self._reach = np.sqrt(_squared_lengths(queries))
            self._left = queries

    def ready(self, items: slice) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the rows, the right-hand side of the product, and the longest row's length."""
        rows = np.ascontiguousarray(self._items(items))
        centred = rows - self._shift if self._is_distance else rows
        squares = _squared_lengths(centred)
        right = _beside(centred, np.ones(len(rows)), -squares) if self._is_distance else rows
        return rows, right, float(np.sqrt(squares.max()))

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Multiply, and offer every pair that may be among the best."""
        rows, right, longest = chunk
        left, reach = self._left[queries], self._reach[queries]
        # A product of n terms is off by at most n units of rounding of its terms' total size. Six
        # more cover the shift and the squared lengths, which are rounded before.
        terms = (reach + longest) ** 2 if self._is_distance else reach * longest
        slack = (left.shape[1] + 6) * np.finfo(left.dtype).eps * terms
        for part in _slices(len(rows), _ITEMS_IN_BLOCK):
            kernels.scan_products(
                left @ right[part].T,
                slack,
                self._queries[queries],
                rows[part],
                self._is_distance,
                first_id + part.start,
                skip,
                *heap,
            )


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def _beside(rows: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    return np.concatenate(
        [rows, *(column[:, None].astype(rows.dtype) for column in columns)], axis=1
    )
