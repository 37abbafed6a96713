"""Exact search for the k best items of every query, in blocks of bounded memory.

Items are prepared in chunks; within a chunk, blocks of queries are distributed among threads. The
best items so far of each query are kept in a heap (see `likewise.kernels`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from likewise import kernels
from likewise._progress import LongWork
from likewise._threads import ScratchArray, for_each, slices
from likewise._validation import Rows, is_sparse
from likewise.similarities._matches import Matches
from likewise.similarities._rows import map_rows, products

# Sizes of chunks and blocks; a block of scores should stay in the cache of one core.
_ITEMS_IN_CHUNK = 32_768
_NUMBERS_IN_CHUNK = 16_000_000
_ITEMS_IN_BLOCK = 2_048
_QUERIES_IN_BLOCK = 256

# Counting prepares a table for each query, which pays off only for many items.
_ITEMS_IN_COUNT = 16_384
_QUERIES_IN_COUNT = 64

_TILE = 384  # a multiple of 4, 6, 8, 12, 16, 24, 32 and 48

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


def chunks(scorer: Scorer) -> list[slice]:
    """Return the chunks of items, which are prepared one at a time."""
    return list(slices(scorer.n_items, _chunk_size(scorer)))


def _chunk_size(scorer: Scorer) -> int:
    return min(_ITEMS_IN_CHUNK, _NUMBERS_IN_CHUNK // scorer.width)


def query_blocks(scorer: Scorer) -> list[slice]:
    """Return the blocks of queries that are distributed among threads."""
    return list(slices(scorer.n_queries, _QUERIES_IN_BLOCK))


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
            for_each(step, blocks, on_done=work.advance, parallel=scorer.parallel)
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
    order = np.lexsort((ids, -scores))[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


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
    return _sorted_matches(*best, k, dtype)


def _scan_block(
    scorer: Scorer, chunk: Any, first_id: int, skip: Any, heap: Any, block: slice
) -> None:
    scorer.scan(block, chunk, first_id, skip[block], heap[0][block], heap[1][block])


def _sorted_matches(scores: np.ndarray, ids: np.ndarray, k: int, dtype: Any) -> Matches:
    order = np.lexsort((ids, -scores))
    padding = ((0, 0), (0, k - scores.shape[1]))
    scores = np.pad(np.take_along_axis(scores, order, axis=1), padding, constant_values=-np.inf)
    ids = np.pad(np.take_along_axis(ids, order, axis=1), padding, constant_values=NO_ITEM)
    empty = ids == NO_ITEM
    if empty.any():
        ids = ids.astype(object)
        ids[empty] = None
    with np.errstate(over="ignore"):  # scores beyond the range of float32
        return Matches(ids, scores.astype(dtype))


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
        kernels.count_scores(self.scores(queries, chunk), thresholds, _table(thresholds), counts)


class ProductScorer:
    """Dense rows whose score is q·p, or −|q − p|²: one matrix product per block.

    Parameters
    ----------
    queries : (n_queries, n_features) array
    n_items : int
    items : callable on a slice
        Returns the features of these items.
    is_distance : bool
        Score −|q − p|² instead of q·p.
    dtype : float32 or float64
        Precision of the product. Scores have double precision in any case.

    Notes
    -----
    −|q − p|² is the inner product of (2q, −|q|², 1) with (p, 1, −|p|²), after both are shifted
    by the mean of the items, which makes its terms small.
    """

    parallel = True
    cell = (_QUERIES_IN_BLOCK, _ITEMS_IN_BLOCK)

    def __init__(
        self,
        queries: np.ndarray,
        n_items: int,
        items: Callable[[slice], np.ndarray],
        *,
        is_distance: bool,
        dtype: Any,
    ) -> None:
        self.n_queries, self.width = queries.shape
        self.n_items = n_items
        self._queries, self._items = queries, items
        self._is_distance = is_distance
        self._dtype = np.dtype(dtype)
        self._scratch = ScratchArray()
        if is_distance:
            sample = items(slice(0, min(n_items, _ITEMS_IN_BLOCK)))
            self._shift = sample.mean(axis=0, dtype=np.float64).astype(sample.dtype)

    def ready(self, items: slice) -> tuple[np.ndarray, np.ndarray, float]:
        """Return rows in double precision, the right side of the product, and the max length."""
        rows = np.ascontiguousarray(self._items(items), dtype=np.float64)
        centered = rows - self._shift if self._is_distance else rows
        squares = _squared_lengths(centered)
        extra = (np.ones(len(rows)), -squares) if self._is_distance else ()
        return rows, self._side(centered, *extra), float(np.sqrt(squares.max()))

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Multiply, and score every pair that may be among the best exactly."""
        rows = chunk[0]
        own = self._own(queries)
        for part, block, bound in self._products(own, chunk, _ITEMS_IN_BLOCK):
            kernels.scan_products(
                block,
                bound,
                own,
                rows[part],
                self._is_distance,
                first_id + part.start,
                skip,
                *heap,
            )

    def scores(self, queries: slice, chunk: Any) -> np.ndarray:
        """Score pair by pair, as `count` does if a product is not precise enough."""
        own, rows = self._own(queries), chunk[0]
        found = np.empty((len(own), len(rows)))
        for part in slices(len(rows), _ITEMS_IN_BLOCK):
            which = np.indices((len(own), part.stop - part.start), np.int32).reshape(2, -1)
            scores = self._pair_scores(own, rows[part], *which)
            found[:, part] = scores.reshape(len(own), -1)
        return found

    def count(self, queries: slice, chunk: Any, thresholds: np.ndarray, counts: np.ndarray) -> None:
        """Multiply and count; score pairs exactly whose product is too close to a threshold."""
        rows, table = chunk[0], _table(thresholds)
        which = np.empty((2, _QUERIES_IN_COUNT * min(len(rows), _ITEMS_IN_COUNT)), np.int32)
        for few in slices(queries.stop, _QUERIES_IN_COUNT, queries.start):
            own = self._own(few)
            at = slice(few.start - queries.start, few.stop - queries.start)
            counting = thresholds[at], table, counts[at]
            for part, block, bound in self._products(own, chunk, _ITEMS_IN_COUNT):
                n_uncertain = kernels.count_products(block, bound, *counting, *which)
                uncertain = which[:, :n_uncertain]
                scores = self._pair_scores(own, rows[part], *uncertain)
                kernels.count_pairs(uncertain[0], scores, thresholds[at], counts[at])

    def _own(self, queries: slice) -> np.ndarray:
        return np.ascontiguousarray(self._queries[queries], dtype=np.float64)

    def _pair_scores(
        self, own: np.ndarray, rows: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        found = np.empty(len(left))
        kernels.pair_scores(own, rows, left, right, self._is_distance, found)
        return found

    def _products(
        self, own: np.ndarray, chunk: Any, size: int
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield parts of the chunk, their products with the queries, and the rounding bounds.

        The array of products is reused for the next part.
        """
        rows, right, max_length = chunk
        centered = own - self._shift if self._is_distance else own
        squares = _squared_lengths(centered)
        if self._is_distance:
            left = self._side(2 * centered, -squares, np.ones(len(own)))
        else:
            left = self._side(own)
        bound = rounding_bound(
            np.sqrt(squares), max_length, left.shape[1], self._dtype, is_distance=self._is_distance
        )
        for part in slices(len(rows), size):
            block = self._scratch.get((len(left), part.stop - part.start), self._dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # see rounding_bound
                np.matmul(left, right[part].T, out=block)
            yield part, block, bound

    def _side(self, rows: np.ndarray, *extra: np.ndarray) -> np.ndarray:
        """Return one side of the product: the rows with extra columns."""
        columns = [column[:, None] for column in extra]
        with np.errstate(over="ignore"):  # see rounding_bound
            joined = np.concatenate([rows, *columns], axis=1) if extra else rows
            return joined.astype(self._dtype, copy=False)


def rounding_bound(
    query_lengths: np.ndarray,
    max_item_length: float,
    n_terms: int,
    dtype: Any,
    *,
    is_distance: bool = False,
) -> np.ndarray:
    """Return the maximum rounding error of products of queries and items; of d² for a distance.

    A product of n terms has an error of at most n rounding units of the sum of their sizes, or of
    the smallest normal number. Six more cover earlier rounding: of the shift, the squared lengths
    and the factors. Where the terms overflow, the error is unbounded.
    """
    limits = np.finfo(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if is_distance:
            terms = (query_lengths + max_item_length) ** 2
        else:
            terms = query_lengths * max_item_length
    bound = (n_terms + 6) * (limits.eps * terms + limits.tiny)
    return np.where(terms < limits.max / 8, bound, np.inf)


def _table(thresholds: np.ndarray) -> np.ndarray:
    """Return scratch bins for counting: several per threshold, within a core's cache."""
    n_bins = min(max(32 * thresholds.shape[1], 1024), 65_536)
    return np.empty(n_bins, np.int32)


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def steady_map(rows: Rows, linear: np.ndarray) -> Rows:
    """Return ``rows @ linear`` in double precision; equal rows are mapped to equal rows.

    The result does not depend on the number of threads: see `steady_products`.
    """
    if linear.ndim == 0 and linear == 1:
        return rows
    if linear.ndim < 2 or is_sparse(rows):
        return map_rows(rows.astype(np.float64), linear.astype(np.float64))
    columns = np.ascontiguousarray(linear.T, dtype=np.float64)
    mapped = np.empty((len(rows), len(columns)))

    def work(block: slice) -> None:
        mapped[block] = steady_products(rows[block], columns)

    for_each(work, list(slices(len(rows), _ITEMS_IN_BLOCK)))
    return mapped


def steady_products(left: Rows, right: Rows) -> np.ndarray:
    """Return the inner products of all pairs of rows, dense; equal rows have equal products.

    BLAS works in tiles and sums in a different order in partial tiles, so that the products of
    equal rows can differ in the last bit. Rows of zeros complete the last tile.
    """
    if is_sparse(left) or is_sparse(right):
        return products(left, right)
    return (_padded_to_tiles(left) @ _padded_to_tiles(right).T)[: len(left), : len(right)]


def _padded_to_tiles(rows: np.ndarray) -> np.ndarray:
    """Return the rows in double precision, padded with zeros to a multiple of the tile size."""
    padded = np.zeros((-(-len(rows) // _TILE) * _TILE, rows.shape[1]))
    padded[: len(rows)] = rows
    return padded
