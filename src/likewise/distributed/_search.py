"""Search in blocks: queries against items, the best of each part put together."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._validation import check_whole_number
from likewise.distributed._executor import TASKS_AHEAD, Executor, Handle, connected, reduced
from likewise.distributed._rows import RowBlocks
from likewise.distributed._sources import load_rows
from likewise.similarities import (
    Best,
    Matches,
    Similarity,
    as_similarity,
    best_items,
    joined,
    matches_of,
)


def neighbors(
    similarity: Any,
    queries: Any,
    items: Any,
    k: int,
    *,
    exclude_self: bool = False,
    client: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Matches:
    """Find the `k` items most alike to each query, wherever the rows lie.

    The answer is that of `Similarity.neighbors`. Rows are read by the workers, block by block;
    what comes back are row numbers and scores.

    Parameters
    ----------
    similarity : Similarity, fitted learner or name
        One that takes rows of numbers.
    queries, items : array, CSR, memory-mapped array, Dask array, path, or list of CSR or paths
        A path names an .npy, .npz or Parquet file, or a folder of Parquet files, and the same one
        on every worker; see also `read_parquet`.
    k : int
    exclude_self : bool, default=False
        Item i is never a match of query i.
    client : distributed.Client or address, optional
        Threads of this process by default.
    n_jobs : int, optional
        How many threads these are.
    verbose : bool, default=False
        Show progress.

    Examples
    --------
    >>> import likewise as lw
    >>> X = lw.datasets.load("iris").X
    >>> lw.distributed.neighbors("euclidean", X, X, k=2, exclude_self=True, n_jobs=2)
    Matches(150 queries, k=2)
    """
    k = check_whole_number(k, "k")
    similarity = similarity_of_rows(similarity)
    with show_progress(verbose), connected(client, n_jobs) as executor:
        Q = RowBlocks(queries, "queries", executor)
        P = Q if items is queries else RowBlocks(items, "items", executor)
        return neighbors_of(executor, similarity, Q, P, k, exclude_self=exclude_self)


def similarity_of_rows(similarity: Any) -> Similarity:
    """Return a similarity, or refuse one that does not take rows of numbers."""
    found = as_similarity(similarity)
    if found.takes != "rows":
        raise ValueError(
            f"similarity must take rows of numbers to be searched in blocks, but {found!r} takes "
            f"{'a matrix of scores' if found.takes == 'matrix' else 'objects'}."
        )
    return found


def neighbors_of(
    executor: Executor,
    similarity: Similarity,
    queries: RowBlocks,
    items: RowBlocks,
    k: int,
    *,
    exclude_self: bool = False,
) -> Matches:
    """Find the `k` best items of every query."""
    tasks = [(k, len(items), block.start if exclude_self else None) for block in queries.blocks]
    search = Search(executor, similarity, queries, items, exclude_self=exclude_self)
    parts = list(search.each(queries.blocks, k, finish_matches, tasks))
    return Matches(*(np.concatenate(side) for side in zip(*parts, strict=True)))


class Found(NamedTuple):
    """The best items of a block of queries so far, and the type of their scores."""

    best: Best
    dtype: Any


class Search:
    """Searches blocks of queries, each to its end before many others are begun.

    Parameters
    ----------
    executor : Executor
    similarity : Similarity
    queries, items : RowBlocks
    exclude_self : bool
    """

    def __init__(
        self,
        executor: Executor,
        similarity: Similarity,
        queries: RowBlocks,
        items: RowBlocks,
        *,
        exclude_self: bool,
    ) -> None:
        self._executor = executor
        self._similarity = executor.share(similarity)
        self._queries, self._items = queries, items
        self._exclude_self = exclude_self

    def each(
        self,
        blocks: list[slice],
        k: int,
        finish: Callable[..., Any],
        tasks: list[tuple[Any, ...]],
    ) -> Iterator[Any]:
        """Yield ``finish(found, *task)`` of every block of queries and its task, in order."""
        # Rows that can be opened are searched by one task, which does not hold them all at once.
        whole = self._items.can_be_opened and len(blocks) >= self._executor.n_workers
        pieces = [slice(0, len(self._items))] if whole else self._items.blocks
        pending: deque[tuple[Handle, slice]] = deque()
        with LongWork("searching", total=len(self._queries), unit="queries") as work:
            for block, task in zip(blocks, tasks, strict=True):
                found = self._found(block, pieces, k)
                pending.append((self._executor.submit(finish, found, *task), block))
                if len(pending) > TASKS_AHEAD * self._executor.n_workers:
                    yield self._next(pending, work)
            while pending:
                yield self._next(pending, work)

    def _found(self, block: slice, pieces: list[slice], k: int) -> Handle:
        own = block.start if self._exclude_self else None
        query_part = self._queries.part(block)
        parts = [
            self._executor.submit(
                search_part,
                self._similarity,
                query_part,
                self._items.part(piece),
                k,
                piece.start,
                own,
            )
            for piece in pieces
        ]
        return reduced(self._executor, join_parts, parts, k)

    def _next(self, pending: deque[tuple[Handle, slice]], work: LongWork) -> Any:
        handle, block = pending.popleft()
        result = self._executor.result(handle)
        work.advance(block.stop - block.start)
        return result


def search_part(
    similarity: Similarity, queries: Any, items: Any, k: int, first_item: int, own: int | None
) -> Found:
    """Return the best of some items for some queries; `own` is the row number of the first query.

    Queries are left out of their own matches where `own` is given.
    """
    Q, P = load_rows(queries, "queries"), load_rows(items, "items", finite=False)
    scorer, dtype = similarity._scorer(Q, P)
    own_rows = None if own is None else np.arange(own, own + scorer.n_queries)
    return Found(best_items(scorer, k, first_item=first_item, own_rows=own_rows), dtype)


def join_parts(parts: list[Found], k: int) -> Found:
    """Return the best of several parts."""
    best = joined([part.best for part in parts], k)
    return Found(best, np.result_type(*(part.dtype for part in parts)))


def finish_matches(
    found: Found, k: int, n_items: int, own: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and scores, best first."""
    own_rows = None if own is None else np.arange(own, own + len(found.best[0]))
    matches = matches_of(found.best, k, n_items, own_rows, found.dtype)
    return matches.ids, matches.scores
