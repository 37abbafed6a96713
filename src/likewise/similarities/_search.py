"""Exact search for the k best items of every query, in blocks of bounded memory.

Items are prepared in chunks; within a chunk, blocks of queries are distributed among threads. The
best items so far of each query are kept in a heap (see `likewise.kernels`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise.similarities._matches import Matches

# Sizes of chunks and blocks; a block of scores should stay in the cache of one core.
_ITEMS_IN_CHUNK = 32_768
_NUMBERS_IN_CHUNK = 16_000_000
_ITEMS_IN_BLOCK = 2_048
_QUERIES_IN_BLOCK = 256
_SCORES_IN_BLOCK = 524_288
FEW_PAIRS = 65_536  # up to which NumPy counts scores, before a kernel is worth its compilation

Best: TypeAlias = tuple[np.ndarray, np.ndarray]  # scores and ids, one row per query

NO_ITEM = np.iinfo(np.int64).max  # id of an empty entry of a heap; sorts after every row


class Scorer(Protocol):
    """The scores of queries with items, as `search` needs them."""

    @property
    def n_queries(self) -> int: ...

    @property
    def n_items(self) -> int: ...

    @property
    def width(self) -> int:
        """Number of values in a prepared item."""

    @property
    def parallel(self) -> bool:
        """Whether `scan` may be called from several threads."""

    @property
    def cell(self) -> tuple[int, int]:
        """Numbers of queries and items that one call of `scores` should compare."""

    @property
    def ready(self) -> Callable[[Any], Any]:
        """Function that prepares a chunk of items, given by a slice or an array of numbers."""

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Push the scores of a block of queries with a chunk of items to the heap."""

    def scores(self, queries: slice, chunk: Any) -> np.ndarray:
        """Return the exact scores of a block of queries with a chunk of items."""

    def count(self, queries: slice, chunk: Any, thresholds: np.ndarray, counts: np.ndarray) -> None:
        """Count the items of a chunk that score above thresholds; see `kernels.count_scores`."""


class _Sized(Protocol):
    """Anything with a number of items and a number of values in each."""

    @property
    def n_items(self) -> int: ...

    @property
    def width(self) -> int: ...


def chunks(scorer: _Sized) -> list[slice]:
    """Return the chunks of items, which are prepared one at a time."""
    return list(slices(scorer.n_items, _chunk_size(scorer)))


def _chunk_size(scorer: _Sized) -> int:
    return min(_ITEMS_IN_CHUNK, _NUMBERS_IN_CHUNK // scorer.width)


def query_blocks(scorer: Scorer) -> list[slice]:
    """Return the blocks of queries that are distributed among threads."""
    return list(slices(scorer.n_queries, _QUERIES_IN_BLOCK))


def items_in_block(n_queries: int) -> int:
    """Return the number of items to score at a time with a block of queries."""
    return max(_ITEMS_IN_BLOCK, _SCORES_IN_BLOCK // n_queries)


def search(scorer: Scorer, k: int, *, exclude_self: bool, dtype: Any) -> Matches:
    """Return the `k` best items of every query; ties are ordered by row number."""
    own_rows = np.arange(scorer.n_queries) if exclude_self else None
    return to_matches(best_items(scorer, k, own_rows=own_rows), k, scorer.n_items, own_rows, dtype)


def best_items(
    scorer: Scorer, k: int, *, first_item: int = 0, own_rows: np.ndarray | None = None
) -> Best:
    """Return the scores and ids of the `k` best items of every query, unordered.

    `merge_best` combines the results of several parts of the items.

    Parameters
    ----------
    scorer : Scorer
    k : int
    first_item : int, default=0
        Id of the first item; the following ones are consecutive.
    own_rows : (n_queries,) int64 array, optional
        An id that is excluded for each query.
    """
    shape = (scorer.n_queries, min(k, scorer.n_items))
    heap = np.full(shape, -np.inf), np.full(shape, NO_ITEM)
    skip = np.full(scorer.n_queries, -1) if own_rows is None else own_rows

    parts = chunks(scorer)
    blocks = query_blocks(scorer)
    total = len(parts) * len(blocks)
    with LongWork("searching neighbors", total=total, unit="blocks") as work:
        for chunk in parts:
            first_id = first_item + chunk.start
            step = partial(_scan_block, scorer, scorer.ready(chunk), first_id, skip, heap)
            if scorer.n_queries > 1:
                for_each(step, blocks, on_done=work.advance, parallel=scorer.parallel)
                continue
            step(blocks[0])  # in less time than `for_each` needs to control BLAS
            work.advance()
    return heap


def exact_scores(scorer: Scorer, which: np.ndarray | None = None) -> np.ndarray:
    """Return the score of every query with every item; equal pairs have equal scores.

    Parameters
    ----------
    scorer : Scorer
    which : array of item numbers, optional
        Score these items only, in this order.
    """
    n_items = scorer.n_items if which is None else len(which)
    scores = np.empty((scorer.n_queries, n_items))
    queries_in_cell, items_in_cell = scorer.cell
    blocks = list(slices(scorer.n_queries, queries_in_cell))

    def work(cell: tuple[slice, slice, Any]) -> None:
        block, columns, ready = cell
        scores[block, columns] = scorer.scores(block, ready)

    total = len(blocks) * -(-n_items // items_in_cell)
    with LongWork("comparing", total=total, unit="blocks") as progress:
        for chunk in slices(n_items, _chunk_size(scorer)):
            cells = [
                (block, part, ready)
                for part in slices(chunk.stop, items_in_cell, chunk.start)
                for ready in [scorer.ready(part if which is None else which[part])]
                for block in blocks
            ]
            if scorer.parallel:
                for_each(work, cells, on_done=progress.advance)
                continue
            for cell in cells:  # without the BLAS control that `for_each` would load
                work(cell)
                progress.advance()
    if not np.isfinite(scores).all():
        raise ValueError("Q and P give scores beyond the range of numbers: scale them down.")
    return scores


def merge_best(parts: Sequence[Best], k: int) -> Best:
    """Return the `k` best items from the results of several parts of the items."""
    scores, ids = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
    return sort_best((scores, ids), k)


def sort_best(best: Best, k: int | None = None) -> Best:
    """Return the `k` best of each row, or all, in order; among equal scores the lower id first."""
    scores, ids = best
    order = np.lexsort((ids, -scores))[:, :k]
    rows = np.arange(len(scores))[:, None]
    return scores[rows, order], ids[rows, order]


def to_matches(
    best: Best, k: int, n_items: int, own_rows: np.ndarray | None, dtype: Any
) -> Matches:
    """Return the best of all `n_items`, sorted, and padded if there are fewer than `k`."""
    # Every entry is filled, except for queries that request all items and exclude one.
    n_excluded = 0
    if own_rows is not None and k >= n_items:
        n_excluded = int(np.count_nonzero(own_rows < n_items))
    if np.count_nonzero(best[1] == NO_ITEM) > n_excluded:
        raise ValueError("Q and P give scores beyond the range of numbers: scale them down.")
    scores, ids = sort_best(best)
    if k > scores.shape[1]:
        missing = ((0, 0), (0, k - scores.shape[1]))
        scores = np.pad(scores, missing, constant_values=-np.inf)
        ids = np.pad(ids, missing, constant_values=NO_ITEM)
    empty = ids == NO_ITEM
    if empty.any():
        ids = ids.astype(object)
        ids[empty] = None
    with np.errstate(over="ignore"):  # scores beyond the range of float32
        return Matches(ids, scores.astype(dtype))


def _scan_block(
    scorer: Scorer, chunk: Any, first_id: int, skip: Any, heap: Any, block: slice
) -> None:
    scorer.scan(block, chunk, first_id, skip[block], heap[0][block], heap[1][block])


@dataclass(frozen=True, eq=False)
class BlockScorer:
    """Scores that are computed in blocks: of sparse rows, normalized forms or distances.

    Parameters
    ----------
    n_queries, n_items : int
    ready : callable on a slice or an array of item numbers
        Prepares these items for `score_block`.
    score_block : callable on (slice of queries, prepared items)
        Returns the scores, dense.
    parallel : bool, default=True
        Whether `score_block` may be called from several threads.
    width : int, default=1
        Number of values in a prepared item.
    cell : see `Scorer`
    """

    n_queries: int
    n_items: int
    ready: Callable[[Any], Any]
    score_block: Callable[[slice, Any], np.ndarray]
    parallel: bool = True
    width: int = 1
    cell: tuple[int, int] = (_QUERIES_IN_BLOCK, _ITEMS_IN_BLOCK)

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Score the block and push it to the heap."""
        kernels.scan_scores(self.scores(queries, chunk), first_id, skip, *heap)

    def scores(self, queries: slice, chunk: Any) -> np.ndarray:
        """Return the block."""
        return np.ascontiguousarray(self.score_block(queries, chunk))

    def count(self, queries: slice, chunk: Any, thresholds: np.ndarray, counts: np.ndarray) -> None:
        """Score the block and count."""
        scores = self.scores(queries, chunk)
        if scores.size <= FEW_PAIRS:
            count_few(scores, thresholds, counts)
        else:
            kernels.count_scores(scores, thresholds, counting_bins(thresholds), counts)


def count_few(scores: np.ndarray, thresholds: np.ndarray, counts: np.ndarray) -> None:
    """Count like `kernels.count_scores`, without waiting for a compiler."""
    for own, limits, found in zip(scores, thresholds, counts, strict=True):
        found += np.bincount(np.searchsorted(limits, own), minlength=len(found))


def counting_bins(thresholds: np.ndarray) -> np.ndarray:
    """Return scratch bins for counting: several per threshold, within a core's cache."""
    n_bins = min(max(32 * thresholds.shape[1], 1024), 65_536)
    return np.empty(n_bins, np.int32)
