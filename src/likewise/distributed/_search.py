"""Exact search in blocks: queries against items, the best of each part combined."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from likewise._progress import LongWork
from likewise.distributed._blocks import even_blocks
from likewise.distributed._executor import TASKS_PER_WORKER, Executor, Handle, tree_reduce
from likewise.distributed._rows import RowBlocks
from likewise.distributed._sources import load_rows
from likewise.similarities import (
    NO_ITEM,
    Best,
    Matches,
    Similarity,
    best_items,
    merge_best,
    to_matches,
)
from likewise.supervision import best_of_class

_ROWS_OF_CLASSES = 2048  # minimum of a block of whole classes


class PartialMatches(NamedTuple):
    """The best items of a block of queries so far, and the type of their scores."""

    best: Best
    dtype: Any


def search(
    executor: Executor,
    similarity: Similarity,
    queries: RowBlocks,
    items: RowBlocks,
    k: int,
    function: Callable[..., Any],
    arguments: Callable[[slice], tuple[Any, ...]],
    *,
    exclude_self: bool = False,
    block_size: int | None = None,
) -> Iterator[Any]:
    """Yield ``function(matches, *arguments(block))`` for each block of queries, in order.

    Each block is finished before many others are begun, so that memory stays flat.
    """
    blocks = queries.blocks if block_size is None else even_blocks(len(queries), block_size)
    # Rows with random access are searched by one task, which does not hold them all at once.
    single = items.random_access and len(blocks) >= executor.n_workers
    pieces = [slice(0, len(items))] if single else items.blocks
    shared = executor.share(similarity)
    pending: deque[tuple[Handle, slice]] = deque()

    def submit(block: slice) -> Handle:
        own = block.start if exclude_self else None
        query_part = queries.part(block)
        parts = [
            executor.spread(search_part, shared, query_part, items.part(p), k, p.start, own)
            for p in pieces
        ]
        best = tree_reduce(executor, combine_parts, parts, k)
        options = k, len(items), own, function
        return executor.submit(finish_block, best, options, *arguments(block))

    with LongWork("searching", total=len(queries), unit="queries") as work:
        for block in [*blocks, None]:
            if block is not None:
                pending.append((submit(block), block))
            limit = 0 if block is None else TASKS_PER_WORKER * executor.n_workers
            while len(pending) > limit:
                handle, finished = pending.popleft()
                yield executor.result(handle)
                work.advance(finished.stop - finished.start)


def search_part(
    similarity: Similarity, queries: Any, items: Any, k: int, first_item: int, own: int | None
) -> PartialMatches:
    """Return the best of some items for some queries.

    `own` is the row number of the first query, where queries are excluded from their own matches.
    """
    Q, P = load_rows(queries, "Q"), load_rows(items, "P", finite=False)
    scorer, dtype = similarity._scorer(Q, P)
    own_rows = None if own is None else np.arange(own, own + scorer.n_queries)
    return PartialMatches(best_items(scorer, k, first_item=first_item, own_rows=own_rows), dtype)


def combine_parts(parts: list[PartialMatches], k: int) -> PartialMatches:
    """Return the best of several parts."""
    best = merge_best([part.best for part in parts], k)
    return PartialMatches(best, np.result_type(*(part.dtype for part in parts)))


def finish_block(found: PartialMatches, options: tuple[Any, ...], *arguments: Any) -> Any:
    """Return ``function(matches, *arguments)`` of a block of queries."""
    k, n_items, own, function = options
    own_rows = None if own is None else np.arange(own, own + len(found.best[0]))
    return function(to_matches(found.best, k, n_items, own_rows, found.dtype), *arguments)


def best_of_class_in_blocks(
    executor: Executor, similarity: Similarity, rows: RowBlocks, y: np.ndarray, k: int
) -> Best:
    """Return the nearest rows of the same class, blocks against blocks with a class in common.

    Rows with random access are taken in the order of their classes, in blocks of whole classes.
    """
    if not rows.random_access:
        return _best_of_class_in_blocks(executor, similarity, rows, y, k, rows.blocks)
    order = np.argsort(y, kind="stable")
    in_order = rows.reordered(order)
    blocks = class_blocks(y[order], max(block.stop - block.start for block in rows.blocks))
    best = _best_of_class_in_blocks(executor, similarity, in_order, y[order], k, blocks)
    is_item = best[1] != NO_ITEM
    best[1][is_item] = order[best[1][is_item]]
    positions = np.argsort(order)
    return best[0][positions], best[1][positions]


def class_blocks(labels: np.ndarray, max_rows: int) -> list[slice]:
    """Cut rows in the order of their labels: small classes are joined, and large ones are cut."""
    ends = np.append(np.flatnonzero(labels[1:] != labels[:-1]) + 1, len(labels)).tolist()
    blocks, start = [], 0
    for end in ends:
        if end - start >= min(_ROWS_OF_CLASSES, max_rows) or end == len(labels):
            parts = even_blocks(end - start, max_rows)
            blocks += [slice(start + part.start, start + part.stop) for part in parts]
            start = end
    return blocks


def _best_of_class_in_blocks(
    executor: Executor,
    similarity: Similarity,
    rows: RowBlocks,
    y: np.ndarray,
    k: int,
    blocks: list[slice],
) -> Best:
    labels, shared = executor.share(y), executor.share(similarity)
    classes = [np.unique(y[block]) for block in blocks]
    handles = []
    for block, own in zip(blocks, classes, strict=True):
        parts = [
            executor.submit(
                best_of_class_part,
                shared,
                rows.part(block),
                rows.part(other),
                labels,
                block,
                other,
                k,
                priority=int(block == other),  # the most work first: workers finish together
            )
            for other, others in zip(blocks, classes, strict=True)
            if np.isin(own, others).any()
        ]
        handles.append(tree_reduce(executor, merge_best, parts, k))
    best = [executor.result(handle) for handle in handles]
    return np.concatenate([part[0] for part in best]), np.concatenate([part[1] for part in best])


def best_of_class_part(
    similarity: Similarity,
    queries: Any,
    items: Any,
    labels: np.ndarray,
    block: slice,
    other: slice,
    k: int,
) -> Best:
    """Return the nearest rows of one block for the rows of another."""
    return best_of_class(
        similarity,
        load_rows(queries, "X"),
        load_rows(items, "X"),
        labels[block],
        labels[other],
        k,
        own_rows=np.arange(block.start, block.stop),
        first_item=other.start,
    )


def as_matches(parts: list[Matches]) -> Matches:
    """Return the matches of blocks of queries as one."""
    return Matches(
        *(np.concatenate([getattr(p, side) for p in parts]) for side in ("ids", "scores"))
    )


def unchanged(matches: Matches) -> Matches:
    """Return the matches of a block: the function of a plain search."""
    return matches
