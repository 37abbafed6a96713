"""Exact search by one matrix product per block, with every candidate scored again from its rows."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from likewise import kernels
from likewise._threads import ScratchArray, for_each, slices
from likewise._validation import Rows, is_sparse
from likewise.similarities._rows import map_rows, products
from likewise.similarities._search import (
    FEW_PAIRS,
    BlockScorer,
    chunks,
    count_few,
    counting_bins,
    items_in_block,
)

# Counting prepares a table for each query, which pays off only for many items.
_ITEMS_IN_COUNT = 16_384
_QUERIES_IN_COUNT = 64

_ROWS_IN_BLOCK = 2_048
_TILE = 96  # a multiple of 4, 6, 8, 12, 16, 24, 32 and 48
_MAX_SMALL_PRODUCT = 1_000_000  # terms, up to which OpenBLAS may use another kernel


class ProductItems:
    """The items of a `ProductScorer`, prepared in chunks.

    Parameters
    ----------
    n_items : int
    rows : callable on a slice or an array of item numbers
        Returns the features of these items.
    is_distance : bool
        Whether scores are −|q − p|² instead of q·p.
    dtype : float32 or float64
        Precision of the product. Scores have double precision in any case.
    keep : bool, default=False
        Prepare all chunks now and keep them, instead of each when it is searched.
    """

    def __init__(
        self,
        n_items: int,
        rows: Callable[[Any], np.ndarray],
        *,
        is_distance: bool,
        dtype: Any,
        keep: bool = False,
    ) -> None:
        self.n_items = n_items
        self.is_distance = is_distance
        self.dtype = np.dtype(dtype)
        self._rows = rows
        self._kept: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, float]] = {}
        sample = rows(slice(0, min(n_items, _ROWS_IN_BLOCK)))
        self.width = sample.shape[1]
        if is_distance:
            self.shift = sample.mean(axis=0, dtype=np.float64).astype(sample.dtype)
        if keep:
            for chunk in chunks(self):
                self._kept[chunk.start, chunk.stop] = self.ready(chunk)

    def ready(self, items: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Return rows in double precision, the right side of the product, and the max length."""
        kept = self._kept.get((items.start, items.stop)) if isinstance(items, slice) else None
        if kept is not None:
            return kept
        # kernels have no other specialization for arrays that must not be written to
        rows = np.require(self._rows(items), np.float64, ["C", "W"])
        centered = rows - self.shift if self.is_distance else rows
        squares = _squared_lengths(centered)
        extra = (np.ones(len(rows)), -squares) if self.is_distance else ()
        return rows, self.side(centered, *extra), float(np.sqrt(squares.max()))

    def side(self, rows: np.ndarray, *extra: np.ndarray) -> np.ndarray:
        """Return one side of the product: the rows with extra columns."""
        columns = [column[:, None] for column in extra]
        with np.errstate(over="ignore"):  # see rounding_bound
            joined = np.concatenate([rows, *columns], axis=1) if extra else rows
            return joined.astype(self.dtype, copy=False)


class ProductScorer:
    """Dense rows whose score is q·p, or −|q − p|²: one matrix product per block.

    Parameters
    ----------
    queries : (n_queries, n_features) array
    items : ProductItems

    Notes
    -----
    −|q − p|² is the inner product of (2q, −|q|², 1) with (p, 1, −|p|²), after both are shifted
    by the mean of the items, which makes its terms small.
    """

    parallel = True
    cell = BlockScorer.cell

    def __init__(self, queries: np.ndarray, items: ProductItems) -> None:
        self.n_queries, self.width = queries.shape
        self.n_items, self.ready = items.n_items, items.ready
        self._queries, self._items = queries, items
        self._is_distance = items.is_distance
        self._scratch = ScratchArray()

    def scan(self, queries: slice, chunk: Any, first_id: int, skip: Any, *heap: Any) -> None:
        """Multiply, and score every pair that may be among the best exactly."""
        rows = chunk[0]
        own = self._own(queries)
        for part, block, bound in self._products(own, chunk, items_in_block(len(own))):
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
        for part in slices(len(rows), items_in_block(len(own))):
            which = np.indices((len(own), part.stop - part.start), np.int32).reshape(2, -1)
            scores = self._pair_scores(own, rows[part], *which)
            found[:, part] = scores.reshape(len(own), -1)
        return found

    def count(self, queries: slice, chunk: Any, thresholds: np.ndarray, counts: np.ndarray) -> None:
        """Multiply and count; score pairs exactly whose product is too close to a threshold."""
        if len(chunk[0]) * (queries.stop - queries.start) <= FEW_PAIRS:
            count_few(self.scores(queries, chunk), thresholds, counts)
            return
        rows, table = chunk[0], counting_bins(thresholds)
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
        (rows, right, max_length), dtype = chunk, self._items.dtype
        centered = own - self._items.shift if self._is_distance else own
        squares = _squared_lengths(centered)
        if self._is_distance:
            left = self._items.side(2 * centered, -squares, np.ones(len(own)))
        else:
            left = self._items.side(own)
        bound = rounding_bound(
            np.sqrt(squares), max_length, left.shape[1], dtype, is_distance=self._is_distance
        )
        for part in slices(len(rows), size):
            block = self._scratch.get((len(left), part.stop - part.start), dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # see rounding_bound
                np.matmul(left, right[part].T, out=block)
            yield part, block, bound


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

    for_each(work, list(slices(len(rows), _ROWS_IN_BLOCK)))
    return mapped


def steady_products(left: Rows, right: Rows) -> np.ndarray:
    """Return the inner products of all pairs of rows, dense; equal rows have equal products.

    BLAS works in tiles and sums in a different order in partial tiles, so that the products of
    equal rows can differ in the last bit; in small products it may sum in yet another order. Rows
    of zeros complete the last tile, and a product that would be small.
    """
    if is_sparse(left) or is_sparse(right):
        return products(left, right)
    n_right = _in_tiles(len(right))
    not_small = _MAX_SMALL_PRODUCT // (n_right * left.shape[1]) + 1
    n_left = _in_tiles(max(len(left), min(not_small, _ROWS_IN_BLOCK)))
    return (_padded(left, n_left) @ _padded(right, n_right).T)[: len(left), : len(right)]


def _in_tiles(n_rows: int) -> int:
    """Return the number of rows, rounded up to whole tiles."""
    return -(-n_rows // _TILE) * _TILE


def _padded(rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the rows in double precision, followed by rows of zeros."""
    padded = np.zeros((n_rows, rows.shape[1]))
    padded[: len(rows)] = rows
    return padded
