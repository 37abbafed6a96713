"""Rounds of an online learner on a cluster, and the checkpoint after each."""

import copy
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from likewise._files import load, save
from likewise._progress import LongWork
from likewise.distributed._executor import Executor, Handle
from likewise.distributed._rows import RowBlocks
from likewise.distributed._shards import (
    Plan,
    ShardRows,
    SubmittedRound,
    TripletShards,
    draw_shard,
    submit_round,
)
from likewise.distributed._start import Start
from likewise.exceptions import ClusterLostError
from likewise.learners.online import DrawnTriplets, Progress, State, Step, UpdateRule

_LOG = logging.getLogger("likewise.distributed")
_RESTORED = ("state_", "n_triplets_seen_", "n_updates_", "history_")
# The scheduler keeps the tasks, and so the triplets, of rounds that start where others ended.
_ROUNDS_IN_CHAIN = 8


class Checkpoint(NamedTuple):
    """The file that holds the last finished round, and whether to resume from it."""

    path: str | os.PathLike[str]
    resume: bool

    def load(self) -> Any:
        """Return the learner in the file, to resume from; None to start from the beginning."""
        return load(self.path) if self.resume and Path(self.path).exists() else None


class Round(NamedTuple):
    """One round of a plan, and the seed of triplets that are drawn."""

    plan: Plan
    number: int
    seed: int


class RoundTrainer:
    """Trains a learner on a cluster, round by round.

    The next round is submitted before the result of the current one is there, and starts from it
    on the workers, which send it here while they train. After a few rounds the start is sent anew,
    so that a loss of all workers costs a few rounds.

    Parameters
    ----------
    executor : Executor
    learner : AROMA or OASIS
    rule : UpdateRule
    queries, items : RowBlocks
    n_rounds : int or None
    shard_size : int or None
    checkpoint : Checkpoint or None
    finished : list of dict
        Receives an entry for each finished round.
    """

    def __init__(
        self,
        executor: Executor,
        learner: Any,
        rule: UpdateRule,
        queries: RowBlocks,
        items: RowBlocks,
        n_rounds: int | None,
        shard_size: int | None,
        checkpoint: Checkpoint | None,
        finished: list[dict[str, Any]],
    ) -> None:
        self._executor, self._learner, self._rule = executor, learner, rule
        self._rows = ShardRows(queries, items, executor)
        self._n_rounds, self._shard_size = n_rounds, shard_size
        self._n_workers = executor.n_workers
        self._checkpoint, self._finished = checkpoint, finished
        self._shared: dict[str, Handle] = {}
        self._ahead: dict[int, SubmittedRound] = {}  # the next round

    def rounds(
        self, triplets: DrawnTriplets | TripletShards, progress: Progress, work: LongWork
    ) -> Iterator[Round]:
        """Yield the rounds that are left; after each, the checkpoint is written."""
        n_before = self._learner.n_triplets_seen_
        plan = Plan.of(
            len(triplets),
            self._n_rounds,
            self._shard_size,
            self._n_workers,
            validated=progress.best is not None,
        )
        seed = 0
        if isinstance(triplets, DrawnTriplets):
            seed = int(triplets.rng.integers(np.iinfo(np.int32).max))
        self._finished.clear()
        resumed = self._resume(plan, n_before, progress)
        if resumed is not None:
            plan, seed = resumed
        work.advance(plan.start_of(progress.rounds))
        for number in range(progress.rounds, plan.n_rounds):
            yield Round(plan, number, seed)
            self._write_checkpoint(plan, seed, n_before, progress)

    def train(
        self, state: State, n_seen: int, triplets: DrawnTriplets | TripletShards, current: Round
    ) -> Iterator[Step]:
        """Train one round on the workers."""
        began = perf_counter()
        plan, number, seed = current
        submitted = self._ahead.pop(number, None)
        if submitted is None:
            submitted = self._submit(Start(state), n_seen, triplets, current)
        following = number + 1
        # hard negatives depend on the state after this round
        if (
            following < plan.n_rounds
            and following % _ROUNDS_IN_CHAIN != 0
            and self._learner.hard_negatives == 0
        ):
            n_then = n_seen + plan.start_of(following) - plan.start_of(number)
            self._ahead[following] = self._submit(
                submitted, n_then, triplets, Round(plan, following, seed)
            )
        try:
            done = submitted.fetch(state)
        except ClusterLostError as error:
            kept = "the learner." if self._checkpoint is None else f"{self._checkpoint.path}: "
            remedy = "" if self._checkpoint is None else "continue with resume=True."
            raise ClusterLostError(
                f"{error} {len(self._finished)} of {plan.n_rounds} rounds are finished, and their "
                f"result is in {kept}{remedy}"
            ) from error
        assert done.state is not None
        entry = {
            "triplets": done.n_triplets,
            "seconds": perf_counter() - began,
            "learning": done.learning,
            "merging": done.merging,
        }
        self._finished.append(entry)
        _LOG.info(
            "round %d of %d: %d triplets, loss %.4f, %.1f s",
            len(self._finished),
            plan.n_rounds,
            done.n_triplets,
            done.loss / max(1, done.n_triplets),
            entry["seconds"],
        )
        yield Step(done.state, done.n_triplets, done.n_updates, done.loss)

    def _submit(
        self,
        start: Start | SubmittedRound,
        n_seen: int,
        triplets: DrawnTriplets | TripletShards,
        current: Round,
    ) -> SubmittedRound:
        """Submit a round; tasks of earlier rounds go first."""
        priority = -current.number
        shards = self._shards(triplets, n_seen, current, priority)
        return submit_round(
            self._executor,
            self._rule,
            start,
            n_seen,
            shards,
            self._rows,
            self._n_workers,
            priority,
        )

    def _shards(
        self,
        triplets: DrawnTriplets | TripletShards,
        n_seen: int,
        current: Round,
        priority: int,
    ) -> list[Any]:
        """Return the triplets of each shard of a round, or a task that draws or reads them."""
        cuts = current.plan.shards(current.number)
        if isinstance(triplets, TripletShards):
            inline = self._rows.random_access  # else another task needs the triplets, too
            return [triplets.shard(cut, priority, inline=inline) for cut in cuts]
        if not self._shared or self._learner.hard_negatives > 0:  # with a new ranking
            self._shared["source"] = self._executor.share(triplets.source)
        if "weights" not in self._shared:
            self._shared["weights"] = self._executor.share(triplets.query_weights)
        return [
            self._executor.spread(
                draw_shard,
                self._shared["source"],
                self._shared["weights"],
                cut.stop - cut.start,
                [current.seed, n_seen, shard],
                priority=priority,
            )
            for shard, cut in enumerate(cuts)
        ]

    def _resume(self, plan: Plan, n_before: int, progress: Progress) -> tuple[Plan, int] | None:
        """Restore the learner and its progress; return the plan and the seed of the checkpoint."""
        learner = self._learner
        kept = None if self._checkpoint is None else self._checkpoint.load()
        # Validation and the training after it are two runs, each with its own checkpoint.
        if kept is None or hasattr(kept, "validation_") != hasattr(learner, "validation_"):
            return None
        assert self._checkpoint is not None
        path, stored = self._checkpoint.path, getattr(kept, "checkpoint_", None)
        if type(kept) is not type(learner) or stored is None:
            raise ValueError(f"{path} is not a checkpoint of {type(learner).__name__}.")
        done = Plan(*stored["plan"])
        n_rounds = self._n_rounds or done.n_rounds
        wanted = plan.n_triplets, n_rounds, n_before
        if (done.n_triplets, done.n_rounds, stored["n_before"]) != wanted:
            raise ValueError(
                f"{path} is a checkpoint of {done.n_triplets} triplets in {done.n_rounds} rounds "
                f"after {stored['n_before']}, but {plan.n_triplets} in {n_rounds} after {n_before} "
                "were given: resume needs the same triplets and rounds."
            )
        for name in _RESTORED:
            setattr(learner, name, getattr(kept, name))
        for name in ("best", "best_mean", "n_best", "rounds", "stale"):
            setattr(progress, name, stored[name])
        self._finished.extend(stored["finished"])
        return done, stored["seed"]

    def _write_checkpoint(self, plan: Plan, seed: int, n_before: int, progress: Progress) -> None:
        """Write the learner with its progress, as a model file."""
        if self._checkpoint is None:
            return
        model = copy.copy(self._learner)
        model.checkpoint_ = {
            "plan": list(plan),
            "seed": seed,
            "n_before": n_before,
            "rounds": progress.rounds,
            "best": progress.best,
            "best_mean": float(progress.best_mean),
            "n_best": progress.n_best,
            "stale": progress.stale,
            "finished": self._finished,
        }
        save(model, self._checkpoint.path)
