"""Shards of triplets: trained from a common start on workers, and their evidence added up.

The triplets of a shard depend on the plan alone, and sums are made in a fixed order: the result
does not depend on which worker trained which shard, nor on how often.
"""

import copy
import math
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from likewise._progress import LongWork
from likewise._threads import slices
from likewise.distributed._executor import Executor, Handle, map_tasks, reduce_to_few
from likewise.distributed._parquet import ParquetRows
from likewise.distributed._rows import RowBlocks, stack_selected
from likewise.distributed._sources import MemoryRows, Source, as_source, load, load_rows
from likewise.distributed._start import Start
from likewise.learners.online import (
    DrawnTriplets,
    Evidence,
    State,
    TripletBatches,
    UpdateRule,
    Weighted,
    apply_triplets,
    copy_state,
    prepare_arrays,
    sum_evidence,
    weighted_blocks,
)
from likewise.supervision import (
    COLUMNS,
    WEIGHT,
    TripletSource,
    check_triplets,
    check_weights,
    read_file,
    triplets_of,
)

_TRIPLETS_IN_BLOCK = 1024
_TRIPLETS_IN_CHECK = 1_000_000
# Few rounds cost quality where shards are many: two are enough for two shards, four for eight and
# ten for 64. A round costs hundredths of a second of transfers, and waits for the slowest.
_ROUNDS_BY_ROOT, _MAX_SHARD_SIZE = 1.25, 250_000
_MIN_CHECKS = 4  # rounds where held-out queries are scored after each
_MAX_STEP = 2.0  # times the averaged change; best of 1, 2 and 3 with 8 and with 64 shards


class Plan(NamedTuple):
    """The number of rounds, and of shards in each round."""

    n_triplets: int
    n_rounds: int
    n_shards: int

    @classmethod
    def of(
        cls,
        n_triplets: int,
        n_rounds: int | None,
        shard_size: int | None,
        n_workers: int,
        *,
        validated: bool = False,
    ) -> "Plan":
        """Plan shards of about `shard_size` triplets.

        Unless both are given, every worker has one shard per round. Without `n_rounds` and
        `shard_size` there are 1.25 √n rounds for n workers, rounded up, more where shards would
        exceed 250,000 triplets, and at least four if training is `validated` after each round.
        """
        n_shards = n_workers
        if n_rounds is None:
            n_rounds = max(1, round(n_triplets / (n_workers * (shard_size or _MAX_SHARD_SIZE))))
            if not shard_size:
                by_workers = math.ceil(_ROUNDS_BY_ROOT * math.sqrt(n_workers))
                n_rounds = max(n_rounds, by_workers, _MIN_CHECKS if validated else 1)
        elif shard_size:
            n_shards = max(1, round(n_triplets / (n_rounds * shard_size)))
        n_rounds = min(n_rounds, n_triplets)
        return cls(n_triplets, n_rounds, max(1, min(n_shards, n_triplets // n_rounds)))

    def start_of(self, number: int) -> int:
        """Return the number of triplets before a round."""
        return int(np.linspace(0, self.n_triplets, self.n_rounds + 1)[number])

    def shards(self, number: int) -> list[slice]:
        """Cut the triplets of a round into shards."""
        bounds = self.start_of(number), self.start_of(number + 1)
        edges = np.linspace(*bounds, self.n_shards + 1).astype(np.int64).tolist()
        return [slice(a, b) for a, b in pairwise(edges) if b > a]


class TripletShards:
    """Triplets in memory or in files, checked before the first is used.

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
        self._sizes: tuple[int, int] | None = (len(queries), len(items))
        self._executor = executor
        if isinstance(self._source, MemoryRows):
            checked = check_triplets(self._source.rows, queries, items)
            smallest = np.min_scalar_type(max(self._sizes))  # fewer bytes to send
            self._source = MemoryRows(checked.astype(smallest))
            self._sizes = None  # nothing left to check
            return
        if self._source.shape[1] != 3:
            raise ValueError(
                "triplets must have three columns (query, closer item, farther item), but has "
                f"shape {self._source.shape}."
            )
        blocks = slices(len(self), _TRIPLETS_IN_CHECK)
        tasks = ((*self._arguments(block), block.start) for block in blocks)
        for _ in map_tasks(executor, check_shard, tasks):
            pass

    def __len__(self) -> int:
        return self._source.shape[0]

    def shard(self, rows: slice, priority: int = 0, *, inline: bool = False) -> Handle | Weighted:
        """Return a task that reads some of the triplets.

        With `inline`, triplets in memory are returned as they are, to be sent with another task.
        """
        arguments = self._arguments(rows)
        if inline and self._sizes is None:
            return arguments[:2]
        return self._executor.submit(read_shard, *arguments, priority=priority)

    def arrays(self) -> Weighted:
        """Return all triplets and weights in this process."""
        everything: Weighted = self._executor.result(self.shard(slice(0, len(self))))
        return everything

    def _arguments(self, rows: slice) -> tuple[Any, Any, tuple[int, int] | None]:
        weights = None if self._weights is None else self._weights.part(rows)
        return self._source.part(rows), weights, self._sizes


def _triplet_source(triplets: Any, weights: Any) -> tuple[Source, Source | None]:
    if isinstance(triplets, str | os.PathLike):
        path = Path(triplets)
        if weights is not None and path.suffix.lower() != ".npy":
            raise ValueError(
                f"weights must be None for triplets in a file: its column {WEIGHT!r} holds them."
            )
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
        triplets, frame_weights = triplets_of(triplets)
        weights = frame_weights if weights is None else weights
    if not hasattr(triplets, "part"):
        triplets = MemoryRows(np.asarray(triplets))
    if weights is not None:
        weights = MemoryRows(check_weights(weights, range(triplets.shape[0]))[:, None])
    return triplets, weights


def read_shard(part: Any, weight_part: Any, sizes: tuple[int, int] | None) -> Weighted:
    """Return the triplets and weights of a shard, which may be what this function returned before.

    Triplets are checked against the numbers of queries and items, unless these are None.
    """
    triplets = load(part)
    if sizes is None:
        triplets = triplets.astype(np.int64, copy=False)
    else:
        n_queries, n_items = sizes
        triplets = check_triplets(triplets, range(n_queries), range(n_items))
    weights = None if weight_part is None else np.ravel(load(weight_part))
    return triplets, check_weights(weights, triplets)


def check_shard(part: Any, weight_part: Any, sizes: tuple[int, int], start: int) -> None:
    """Refuse triplets that `read_shard` would refuse, and say which."""
    try:
        read_shard(part, weight_part, sizes)
    except (TypeError, ValueError) as error:
        raise type(error)(f"in the triplets from {start} on: {error}") from error


def draw_shard(source: TripletSource, query_weights: Any, n: int, seed: list[int]) -> Weighted:
    """Return the triplets and weights of a shard, drawn with a seed of its own."""
    return DrawnTriplets(source, n, np.random.default_rng(seed), query_weights).draw(n)


@dataclass(frozen=True)
class ShardResult:
    """The result of one or several shards of a round.

    Attributes
    ----------
    evidence : arrays that add up over shards: see `State.evidence_since`
    n_triplets, n_updates : int
    loss : float, summed
    learning, merging : float
        Seconds that workers spent on each, summed.
    state : State or None
        After the round, once all shards are merged.
    """

    evidence: Evidence
    n_triplets: int
    n_updates: int
    loss: float
    learning: float
    merging: float = 0.0
    state: State | None = None


class ShardRows:
    """Gives shards the rows that their triplets point at.

    Rows with random access are handed over whole. Of others, such as Parquet files and Dask
    arrays, each block is read where it lies and only the rows that are needed are sent.
    """

    def __init__(self, queries: RowBlocks, items: RowBlocks, executor: Executor) -> None:
        self._sides = queries, items
        self._executor = executor

    @property
    def random_access(self) -> bool:
        """Whether rows are handed over whole."""
        return all(side.random_access for side in self._sides)

    def of(self, shard: Handle, priority: int) -> tuple[Any, Any, Any]:
        """Return the rows as `train_shard` takes them, and their row numbers."""
        queries, items = self._sides
        if self.random_access:
            return queries.all(), items.all(), None
        needed = self._executor.submit(needed_rows, shard, priority=priority)
        sides = (side.select(needed, n, priority) for n, side in enumerate(self._sides))
        return *sides, needed


def needed_rows(shard: Weighted) -> tuple[np.ndarray, np.ndarray]:
    """Return the queries and the items that the triplets of a shard point at, ascending."""
    triplets = shard[0]
    return np.unique(triplets[:, 0]), np.unique(triplets[:, 1:])


class SubmittedRound:
    """The tasks of a round, whose results are merged when they are needed.

    Parameters
    ----------
    executor : Executor
    starts : list of tasks for the state from which the round starts, with equal results
    parts : list of tasks for the results of its shards, or for sums of them
    n_shards : int
    n_copies : int, number of workers that merge
    priority : int
    """

    def __init__(
        self,
        executor: Executor,
        starts: list[Handle],
        parts: list[Handle],
        n_shards: int,
        n_copies: int,
        priority: int,
    ) -> None:
        self._executor, self._starts, self._parts = executor, starts, parts
        self._n_shards, self._n_copies, self._priority = n_shards, n_copies, priority
        self._merged: list[Handle] = parts if n_shards == 1 else []

    def merge(self) -> list[Handle]:
        """Submit the merge, if that is not done yet; return tasks with equal results."""
        if not self._merged:
            self._merged = [
                self._executor.submit(
                    merge_shards,
                    self._parts,
                    self._starts[n % len(self._starts)],
                    self._n_shards,
                    priority=self._priority,
                )
                for n in range(self._n_copies)
            ]
        return self._merged

    def fetch(self, before: State) -> ShardResult:
        """Wait for the result and return it; `before` is the state before the round.

        If no round starts from the result of two shards, it is merged here.
        """
        if not self._merged and self._n_shards == 2:
            return merge_results(self._executor.results(self._parts), before, self._n_shards)
        result: ShardResult = self._executor.result(self.merge()[0])
        return result


def submit_round(
    executor: Executor,
    rule: UpdateRule,
    start: Start | SubmittedRound,
    n_seen: int,
    shards: list[Handle | Weighted],
    rows: ShardRows,
    n_workers: int,
    priority: int,
) -> SubmittedRound:
    """Submit the training of a round, from a state or from the result of another round.

    Two workers with a shard each both merge the results: otherwise, one of them would have to
    receive a result before it could send the merged state.
    """
    n_shards = len(shards)
    n_copies = 2 if n_shards == n_workers == 2 else 1

    def submit() -> SubmittedRound:
        starts = [executor.share(start)] if isinstance(start, Start) else start.merge()
        parts = []
        for number, shard in enumerate(shards):
            task = train_shard, rule, starts[number % len(starts)], n_seen, shard
            sides = rows.of(shard, priority)
            parts.append(executor.submit(*task, *sides, n_shards == 1, priority=priority))
        few = reduce_to_few(executor, add_results, parts, priority=priority)
        return SubmittedRound(executor, starts, few, n_shards, n_copies, priority)

    # a task for each block of rows that cannot be handed over whole: too many for one message
    return executor.in_one_message(submit) if rows.random_access else submit()


def train_shard(
    rule: UpdateRule,
    start: Start | ShardResult,
    n_seen: int,
    shard: Weighted,
    queries: Any,
    items: Any,
    needed: tuple[np.ndarray, np.ndarray] | None,
    alone: bool,
) -> ShardResult:
    """Apply the triplets of a shard to a copy of the start's state.

    Parameters
    ----------
    rule : UpdateRule
    start : Start or ShardResult, whose state is not changed
    n_seen : int, triplets that the start has seen
    shard : triplets and weights, as `read_shard` takes or returns them
    queries, items : all rows, or those that are needed, as they were selected from blocks
    needed : row numbers of the selected rows; None for all
    alone : bool
        There is no other shard to merge with: its state is the result of the round.
    """
    began = perf_counter()
    triplets, weights = read_shard(*shard, sizes=None)
    if needed is None:
        Q, P = (load_rows(side, "rows", finite=False) for side in (queries, items))
    else:
        Q, P = stack_selected(queries), stack_selected(items)
        triplets = np.column_stack(
            [
                np.searchsorted(needed[0], triplets[:, 0]),
                np.searchsorted(needed[1], triplets[:, 1:]),
            ]
        )
    before = start.state
    assert before is not None
    state, n_updates, loss = copy_state(before), 0, 0.0
    batches = TripletBatches(Q, P, unit=rule.normalize, dtype=rule.dtype)
    with LongWork("learning", total=len(triplets), unit="triplets") as work:
        blocks = weighted_blocks((triplets, weights), _TRIPLETS_IN_BLOCK)
        for step in apply_triplets(state, n_seen, blocks, batches, rule, work):
            n_updates += step.n_updates
            loss += step.loss
    learned = perf_counter()
    evidence = () if alone else state.evidence_since(before, n_updates)
    seconds = learned - began, perf_counter() - learned
    return ShardResult(evidence, len(triplets), n_updates, loss, *seconds, state if alone else None)


def add_results(parts: list[ShardResult]) -> ShardResult:
    """Return the results of several shards as one."""
    began = perf_counter()
    evidence = sum_evidence(part.evidence for part in parts)
    return ShardResult(
        evidence,
        sum(part.n_triplets for part in parts),
        sum(part.n_updates for part in parts),
        sum(part.loss for part in parts),
        sum(part.learning for part in parts),
        sum(part.merging for part in parts) + perf_counter() - began,
    )


def merge_shards(
    parts: list[ShardResult], start: Start | ShardResult, n_shards: int
) -> ShardResult:
    """Return the result of a round: the merged state instead of the evidence."""
    assert start.state is not None
    return merge_results(parts, start.state, n_shards)


def merge_results(parts: list[ShardResult], before: State, n_shards: int) -> ShardResult:
    """Return the result of a round from the state before it.

    The sum of the precisions would make later rounds hardly move, and the averaged change of W is
    shorter than that of one learner on all triplets: hence the mean precision and a longer step.
    """
    total = add_results(parts)
    began = perf_counter()
    step = min(_MAX_STEP, n_shards**0.5)
    start = copy.copy(before)
    prepare_arrays(start)  # kernels are not compiled for arrays that are read-only
    state = start.with_evidence(total.evidence, step, 1 / n_shards)
    merging = total.merging + perf_counter() - began
    return replace(total, evidence=(), merging=merging, state=state)
