"""Search for the nearest sparse rows: exact up to a size, in a shortlist beyond it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise._execution import current_backend
from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise.matching._inverted_lists import InvertedLists, csr_parts

_MAX_EXACT = 50_000  # items; of more, rare pairs of words shortlist those that are scored
_ITEMS_IN_BLOCK = 32_768  # below 65,536: rows of a block are uint16
_QUERIES_IN_BLOCK = 1_024
_QUERIES_IN_TASK = 16_384  # of a cluster
_LEVELS = (0.02, 0.04, 0.08, 0.12, 0.18, 0.27, 0.4)  # of the work, at which the rest is bounded
_Heap = tuple[np.ndarray, np.ndarray]
_NO_ITEM = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest items of each query, best first; among equals, the lower row number.

    Attributes
    ----------
    ids : (n_queries, k) int32 array
        Row numbers; −1 where no other item has a term in common.
    scores : (n_queries, k) float64 array
        Inner products, 0 where there is no item.
    """

    ids: np.ndarray
    scores: np.ndarray


def nearest(
    queries: Any,
    items: Any,
    k: int,
    words: tuple[Any, Any],
    *,
    exclude_self: bool = False,
) -> Nearest:
    """Return the `k` nearest items of each query by inner product.

    Parameters
    ----------
    queries, items : CSR arrays
        Rows of at most unit length, without negative values. Columns should go from rare to common
        terms: then most of the common ones are never read.
    k : int
    words : two CSR arrays
        Words of the queries and of the items, from rare to common: where there are many items,
        rare pairs of words shortlist those that are scored.
    exclude_self : bool, default=False
        Leave out the item of the query's own row number.
    """
    k = min(k, items.shape[0])
    backend = current_backend()
    inverted = None
    if items.shape[0] > _MAX_EXACT:
        inverted = InvertedLists.of(items, words[1])
    if backend is None:
        own = 0 if exclude_self else None
        return _search_part((queries, words[0], own), items, inverted, k)
    parts = [
        (csr_rows(queries, part), csr_rows(words[0], part), part.start if exclude_self else None)
        for part in slices(queries.shape[0], _QUERIES_IN_TASK)
    ]
    shared = items if inverted is None else None
    found = list(backend.map_tasks(_search_part, parts, shared, inverted, k))
    return Nearest(
        np.concatenate([part.ids for part in found]),
        np.concatenate([part.scores for part in found]),
    )


def _search_part(
    part: tuple[Any, Any, int | None], items: Any, inverted: InvertedLists | None, k: int
) -> Nearest:
    """Search for some queries: a task of a cluster, too.

    The last of `part` is the row number of the first query, where queries leave themselves out.
    """
    queries, words, own = part
    n = queries.shape[0]
    skip = np.full(n, -1) if own is None else np.arange(own, own + n)
    heap = np.full((n, k), -np.inf), np.full((n, k), _NO_ITEM)
    if inverted is None:
        _search(queries, items, skip, heap)
    else:
        _search_shortlist(queries, words, inverted, skip, heap)
    order = np.lexsort((heap[1], -heap[0]))
    scores, ids = (np.take_along_axis(side, order, axis=1) for side in heap)
    empty = ids == _NO_ITEM
    return Nearest(np.where(empty, -1, ids).astype(np.int32), np.where(empty, 0.0, scores))


def _search_shortlist(
    queries: Any, words: Any, inverted: InvertedLists, skip: np.ndarray, heap: _Heap
) -> None:
    """Search among shortlisted items."""
    parts = list(slices(queries.shape[0], _QUERIES_IN_TASK))
    with LongWork("searching records", total=len(parts), unit="blocks") as work:

        def scan(part: slice) -> None:
            rows = csr_rows(queries, part), csr_rows(words, part)
            inverted.scan(*rows, skip[part], (heap[0][part], heap[1][part]))

        for_each(scan, parts, on_done=work.advance)


def _search(queries: Any, items: Any, skip: np.ndarray, heap: _Heap) -> None:
    """Search among all items, in blocks of bounded memory."""
    starts, columns, values = csr_parts(queries)
    cuts = _cuts(queries, items)
    blocks = list(slices(items.shape[0], _ITEMS_IN_BLOCK))
    parts = list(slices(queries.shape[0], _QUERIES_IN_BLOCK))
    with LongWork("searching records", total=len(blocks) * len(parts), unit="blocks") as work:
        for block in blocks:
            ready = _prepared(csr_rows(items, block), cuts)

            def scan(part: slice, ready: tuple[Any, ...] = ready, first: int = block.start) -> None:
                scratch = np.empty(ready[-1].shape[1], np.float32), np.zeros(queries.shape[1])
                kernels.scan_sparse(
                    starts[part.start : part.stop + 1], columns, values, *ready,
                    first, skip[part], *scratch, heap[0][part], heap[1][part],
                )  # fmt: skip

            for_each(scan, parts, on_done=work.advance)


def _cuts(queries: Any, items: Any) -> np.ndarray:
    """Return the columns at which given shares of the work are done."""
    n_columns = items.shape[1]
    n_products = np.ones(n_columns)
    for rows in (queries, items):
        n_products *= np.bincount(rows.indices, minlength=n_columns)
    work = np.cumsum(n_products)
    return np.searchsorted(work, np.array(_LEVELS) * work[-1])


def _prepared(items: Any, cuts: np.ndarray) -> tuple[Any, ...]:
    """Return a block of items as `kernels.scan_sparse` takes it."""
    by_column = items.tocsc()
    rows = np.repeat(np.arange(items.shape[0]), np.diff(items.indptr))
    squares = items.data**2
    rests = [
        np.bincount(rows, np.where(items.indices >= cut, squares, 0.0), items.shape[0])
        for cut in cuts
    ]
    return (
        *csr_parts(items),
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.uint16),
        by_column.data.astype(np.float32),
        cuts.astype(np.int64),
        (np.sqrt(np.stack(rests)) * (1 + 1e-6)).astype(np.float32),
    )


def csr_rows(rows: Any, part: slice) -> Any:
    """Return consecutive rows of a CSR array, without a copy of their values."""
    from scipy.sparse import csr_array

    indptr = rows.indptr[part.start : part.stop + 1]
    begin, end = indptr[0], indptr[-1]
    shape = (len(indptr) - 1, rows.shape[1])
    return csr_array((rows.data[begin:end], rows.indices[begin:end], indptr - begin), shape=shape)
