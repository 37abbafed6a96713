"""Rounds of parameter mixing: shards learn from a common start, and what they learned is added up.

Which triplets a shard has depends on the plan alone, and the sums are made in a fixed order: the
result does not depend on which worker did what, nor on how often.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from likewise._progress import LongWork
from likewise._threads import slices
from likewise.distributed._executor import Executor, Handle, mapped, narrowed
from likewise.distributed._parquet import ParquetRows
from likewise.distributed._rows import RowBlocks, together
from likewise.distributed._sources import (
    MemoryRows,
    Source,
    as_source,
    load,
    load_rows,
)
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._beliefs import Evidence, State, added, copied
from likewise.learners.online._early_stopping import Weighted
from likewise.learners.online._triplet_batches import Feed
from likewise.supervision import (
    COLUMNS,
    WEIGHT,
    TripletSource,
    check_triplets,
    check_weights,
    read_file,
    triplets_of,
)

_TRIPLETS_AT_A_TIME = 1024
_TRIPLETS_IN_CHECK = 1_000_000


class Plan(NamedTuple):
    """How triplets are cut: rounds, and within each round shards."""

    n_triplets: int
    n_rounds: int
    n_shards: int

    @classmethod
    def of(cls, n_triplets: int, n_rounds: int | None, shard_size: int, n_workers: int) -> "Plan":
        """Cut so that shards have about `shard_size` triplets.

        Without `n_rounds` every worker has one shard in a round.
        """
        if n_rounds is None:
            n_rounds = max(1, round(n_triplets / (n_workers * shard_size)))
            n_shards = n_workers
        else:
            n_shards = max(1, round(n_triplets / (n_rounds * shard_size)))
        n_rounds = min(n_rounds, n_triplets)
        return cls(n_triplets, n_rounds, max(1, min(n_shards, n_triplets // n_rounds)))

    def rounds(self) -> list[int]:
        """Return how many triplets each round has."""
        edges = np.linspace(0, self.n_triplets, self.n_rounds + 1).astype(np.int64)
        return np.diff(edges).tolist()

    def shards(self, n_triplets: int) -> list[slice]:
        """Cut the triplets of a round."""
        edges = np.linspace(0, n_triplets, self.n_shards + 1).astype(np.int64).tolist()
        return [slice(a, b) for a, b in pairwise(edges) if b > a]


class TripletShards:
    """Triplets that lie somewhere, checked before the first is used.

    Parameters
    ----------
    triplets : array, frame, Dask array, or path of a Parquet file or folder, .npy or .csv
    queries, items : RowBlocks
    weights : array of shape (n_triplets,), optional
    executor : Executor
    """

    def __init__(
        self, triplets: Any, queries: RowBlocks, items: RowBlocks, weights: Any, executor: Executor
    ) -> None:
        self._source, self._weights = _triplet_source(triplets, weights)
        self._limits = len(queries), len(items)
        self._executor = executor
        if isinstance(self._source, MemoryRows):
            check_triplets(self._source.rows, queries, items)
            return
        if self._source.shape[1] != 3:
            raise ValueError(
                "triplets must have three columns (query, closer item, farther item), but has "
                f"shape {self._source.shape}."
            )
        blocks = slices(len(self), _TRIPLETS_IN_CHECK)
        tasks = ((*self._arguments(block), block.start) for block in blocks)
        for _ in mapped(executor, check_shard, tasks):
            pass

    def __len__(self) -> int:
        return self._source.shape[0]

    def shard(self, rows: slice) -> Handle:
        """Return some of the triplets, as a task that reads them."""
        return self._executor.submit(read_shard, *self._arguments(rows))

    def arrays(self) -> Weighted:
        """Return all triplets and weights at once, here."""
        found: Weighted = self._executor.result(self.shard(slice(0, len(self))))
        return found

    def _arguments(self, rows: slice) -> tuple[Any, Any, int, int]:
        weights = None if self._weights is None else self._weights.part(rows)
        return self._source.part(rows), weights, *self._limits


def _triplet_source(triplets: Any, weights: Any) -> tuple[Source, Source | None]:
    if isinstance(triplets, str | os.PathLike):
        path = Path(triplets)
        if weights is not None and path.suffix.lower() != ".npy":
            raise ValueError(f"weights of a file come from its column {WEIGHT!r}, not beside.")
        if path.is_dir() or path.suffix.lower() == ".parquet":
            source = ParquetRows.of_path(path, "triplets", COLUMNS)
            return source, ParquetRows.column_of(path, WEIGHT)
        if path.suffix.lower() == ".csv":
            parts = list(read_file(path))
            triplets = np.concatenate([part for part, _ in parts])
            if parts[0][1] is not None:
                weights = np.concatenate([part for _, part in parts])
        else:
            triplets = as_source(path, "triplets")
    elif isinstance(triplets, np.memmap) or hasattr(triplets, "__dask_graph__"):
        triplets = as_source(triplets, "triplets")
    else:
        triplets, of_frame = triplets_of(triplets)
        weights = of_frame if weights is None else weights
    if not hasattr(triplets, "part"):
        triplets = MemoryRows(np.asarray(triplets))
    if weights is not None:
        weights = MemoryRows(check_weights(weights, range(triplets.shape[0]))[:, None])
    return triplets, weights


def read_shard(part: Any, of_weights: Any, n_queries: int, n_items: int) -> Weighted:
    """Return triplets and weights that lie somewhere."""
    triplets = check_triplets(load(part), range(n_queries), range(n_items))
    weights = None if of_weights is None else np.ravel(load(of_weights))
    return triplets, check_weights(weights, triplets)


def check_shard(part: Any, of_weights: Any, n_queries: int, n_items: int, start: int) -> None:
    """Refuse triplets that `read_shard` would refuse, and say where they are."""
    try:
        read_shard(part, of_weights, n_queries, n_items)
    except (TypeError, ValueError) as error:
        raise type(error)(f"in the triplets from {start} on: {error}") from error


def draw_shard(source: TripletSource, query_weights: Any, n: int, seed: list[int]) -> Weighted:
    """Return triplets and weights that are drawn, with a seed of the shard's own."""
    triplets = source.draw(n, np.random.default_rng(seed))
    ones = np.ones(len(triplets))
    return triplets, ones if query_weights is None else query_weights[triplets[:, 0]]


@dataclass(frozen=True)
class Learned:
    """What one or several shards have learned in a round.

    Attributes
    ----------
    evidence : what adds up: see `State.evidence_since`
    n_triplets, n_updates : int
    loss : float, summed
    learning, merging : float
        Seconds that workers spent on each, summed.
    state : State or None
        After the round, once all has been added up.
    """

    evidence: Evidence
    n_triplets: int
    n_updates: int
    loss: float
    learning: float
    merging: float = 0.0
    state: State | None = None


def learn_shard(
    learner: OnlineLearner,
    start: State,
    seen: int,
    shard: Weighted,
    queries: Any,
    items: Any,
    needed: tuple[np.ndarray, np.ndarray] | None,
    alone: bool,
) -> Learned:
    """Go on from `start` with the triplets of a shard.

    Parameters
    ----------
    learner : the plain estimator, without a state
    start : State, which is not changed
    seen : int, triplets that the start has seen
    shard : triplets and weights
    queries, items : all rows, or those that are needed, as they were picked from blocks
    needed : which rows these are; None for all
    alone : bool
        There is no other shard to put this one together with: its state is the round's.
    """
    began = perf_counter()
    triplets, weights = shard
    if needed is None:
        Q, P = (load_rows(side, "rows", finite=False) for side in (queries, items))
    else:
        Q, P = together(queries), together(items)
        triplets = np.column_stack(
            [
                np.searchsorted(needed[0], triplets[:, 0]),
                np.searchsorted(needed[1], triplets[:, 1:]),
            ]
        )
    learner = type(learner)(**learner.get_params(deep=False))
    learner.state_ = copied(start)
    learner.n_triplets_seen_, learner.n_updates_, learner.history_ = seen, 0, []
    feed = Feed(Q, P, unit=learner.normalize, dtype=learner.dtype)
    with LongWork("learning", total=len(triplets), unit="triplets") as work:
        loss = learner._learn(_blocks(triplets, weights), feed, work)
    between = perf_counter()
    evidence = () if alone else learner.state_.evidence_since(start, learner.n_updates_)
    return Learned(
        evidence,
        len(triplets),
        learner.n_updates_,
        loss,
        between - began,
        perf_counter() - between,
        learner.state_ if alone else None,
    )


def _blocks(triplets: np.ndarray, weights: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for block in slices(len(triplets), _TRIPLETS_AT_A_TIME):
        yield triplets[block], weights[block]


def add_learned(parts: list[Learned]) -> Learned:
    """Return what several shards have learned together."""
    began = perf_counter()
    evidence = added(part.evidence for part in parts)
    return Learned(
        evidence,
        sum(part.n_triplets for part in parts),
        sum(part.n_updates for part in parts),
        sum(part.loss for part in parts),
        sum(part.learning for part in parts),
        sum(part.merging for part in parts) + perf_counter() - began,
    )


def put_together(parts: list[Learned], start: State) -> Learned:
    """Return the round with the state that it leads to, and without the evidence."""
    learned = add_learned(parts)
    began = perf_counter()
    state = start.with_evidence(learned.evidence)
    merging = learned.merging + perf_counter() - began
    return replace(learned, evidence=(), merging=merging, state=state)


class ShardRows:
    """Gives shards the rows that their triplets point at.

    Rows that a worker can open are handed over as they are. Of others, such as Parquet files and
    Dask arrays, each block is read where it lies and only the rows that are needed are sent.
    """

    def __init__(self, queries: RowBlocks, items: RowBlocks, executor: Executor) -> None:
        self._sides = queries, items
        self._executor = executor

    def of(self, shard: Handle) -> tuple[Any, Any, Any]:
        """Return the rows as `learn_shard` takes them, and which they are."""
        queries, items = self._sides
        if queries.can_be_opened and items.can_be_opened:
            return queries.all(), items.all(), None
        needed = self._executor.submit(needed_rows, shard)
        return queries.picked(needed, 0), items.picked(needed, 1), needed


def needed_rows(shard: Weighted) -> tuple[np.ndarray, np.ndarray]:
    """Return which queries and which items the triplets of a shard point at, ascending."""
    triplets = shard[0]
    return np.unique(triplets[:, 0]), np.unique(triplets[:, 1:])


def mixed(
    executor: Executor,
    learner: OnlineLearner,
    state: State,
    seen: int,
    shards: list[Handle],
    rows: ShardRows,
) -> Learned:
    """Do one round from `state`, and return it.

    The start is sent anew in every round: what is lost with a worker is at most the round.
    """
    start: Handle = executor.share(state)
    alone = len(shards) == 1
    parts = [
        executor.submit(learn_shard, learner, start, seen, shard, *rows.of(shard), alone)
        for shard in shards
    ]
    if not alone:
        few = narrowed(executor, add_learned, parts)
        parts = [executor.submit(put_together, few, start)]
    found: Learned = executor.result(parts[0])
    return found
