"""A learner whose stretches are rounds: shards on workers, put together, and kept."""

import logging
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from likewise._files import check_place, load, save
from likewise._progress import LongWork, show_progress
from likewise._validation import check_whole_number
from likewise.distributed._client import HasClient
from likewise.distributed._mixing import Learned, Plan, ShardRows, TripletShards, draw_shard, mixed
from likewise.distributed._rows import RowBlocks, labels_here
from likewise.distributed._search import neighbors_of
from likewise.distributed._sources import lies_elsewhere
from likewise.exceptions import ClusterLostError
from likewise.learners.online._base import OnlineLearner
from likewise.learners.online._early_stopping import Way
from likewise.learners.online._history import record
from likewise.similarities import Matches, Similarity
from likewise.supervision import TripletSource, check_weights

_LOG = logging.getLogger("likewise.distributed")


def _at_work(door: Callable[..., Any]) -> Callable[..., Any]:
    """Let a door of the plain learner run with the executor there."""

    @wraps(door)
    def run(self: "MixedLearner", *args: Any, **named: Any) -> Any:
        with self._connected():
            return door(self, *args, **named)

    return run


class MixedLearner(HasClient, OnlineLearner):
    """What the two share: the doors of the plain learner, of which each stretch is a round."""

    n_rounds: int | None
    shard_size: int
    checkpoint: Any
    resume: bool

    _OURS: ClassVar = ("client", "n_rounds", "shard_size", "n_jobs", "checkpoint", "resume")

    fit_triplets = _at_work(OnlineLearner.fit_triplets)
    partial_fit_triplets = _at_work(OnlineLearner.partial_fit_triplets)
    fit = _at_work(OnlineLearner.fit)
    partial_fit = _at_work(OnlineLearner.partial_fit)
    fit_relevance = _at_work(OnlineLearner.fit_relevance)
    fit_pairs = _at_work(OnlineLearner.fit_pairs)

    # What the plain learner asks for, answered for rows that need not be here.

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number(self.shard_size, "shard_size")
        if isinstance(self.init, str) and self.init == "ridge":
            raise ValueError(
                "init 'ridge' is fitted in one process: fit RidgeSimilarity there, and give its "
                "similarity_ as init."
            )
        if self.n_rounds is not None:
            check_whole_number(self.n_rounds, "n_rounds")
        if self.checkpoint is not None:
            check_place(self.checkpoint)
        elif self.resume:
            raise ValueError("resume goes on from a checkpoint, but checkpoint is None.")

    def _sides_of(
        self, queries: Any, items: Any, widths: Any = (None, None), *, finite: bool = True
    ) -> tuple[Any, Any]:
        Q = self._blocks_of(queries, "queries", widths[0])
        return Q, Q if items is None else self._blocks_of(items, "items", widths[1])

    def _blocks_of(self, rows: Any, name: str, n_features: int | None) -> RowBlocks:
        blocks = RowBlocks(rows, name, self._executor)
        if n_features not in (None, blocks.shape[1]):
            raise ValueError(f"{name} has {blocks.shape[1]} columns, but {n_features} are needed.")
        blocks.refuse_odd_rows()
        return blocks

    def _stream(self, triplets: Any, queries: Any, items: Any, weights: Any) -> TripletShards:
        return TripletShards(triplets, queries, items, weights, self._executor)

    def _labelled(self, X: Any, y: Any, weights: Any, *, reset: bool) -> tuple[Any, ...]:
        if not lies_elsewhere(X):
            rows, y, weights = super()._labelled(X, y, weights, reset=reset)
            return RowBlocks(rows, "X", self._executor), y, weights
        blocks, y = self._blocks_of(X, "X", None), labels_here(y, "y")
        if len(blocks) != len(y):
            raise ValueError(f"X has {len(blocks)} rows and y has {len(y)} labels.")
        return blocks, y, None if weights is None else check_weights(weights, y, "y")

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of each row as a query among the others."""
        if not lies_elsewhere(X):
            return super().score(X, y)
        from likewise.distributed._evaluate import evaluate_retrieval

        labels, where = labels_here(y, "y"), {"client": self.client, "n_jobs": self.n_jobs}
        return evaluate_retrieval(self.similarity_, X, labels=labels, **where)["map"]

    def _neighbors(self, similarity: Similarity, Q: Any, P: Any, k: int) -> Matches:
        queries = Q if isinstance(Q, RowBlocks) else RowBlocks(Q, "Q", self._executor)
        return neighbors_of(self._executor, similarity, queries, P, k)

    # Rounds.

    def _follow(self, stream: Any, queries: Any, items: Any) -> Any:
        """Learn from triplets that lie somewhere, round by round."""
        rows = ShardRows(queries, items, self._executor)
        way = self._begun(Way(), len(stream))
        edges = np.cumsum([0, *self._plan.rounds()])
        with show_progress(self.verbose), self._work(len(stream)) as work:
            work.advance(int(edges[way.stretches]))
            for number in range(way.stretches, self._plan.n_rounds):
                begin, end = int(edges[number]), int(edges[number + 1])
                parts = self._plan.shards(end - begin)
                shards = [stream.shard(slice(begin + p.start, begin + p.stop)) for p in parts]
                self._round(shards, rows, work)
                way.stretches += 1
                self._kept(way)
                if work.interrupted:
                    break
        return self

    def _stretches(self, n_triplets: int) -> list[int]:
        return self._plan.rounds()

    def _learner_of(
        self, source: TripletSource, queries: Any, items: Any, rng: Any, query_weights: Any
    ) -> Callable[[int, LongWork], Any]:
        """Return what does a round of triplets that the workers draw."""
        rows = ShardRows(queries, items, self._executor)
        seed = int(rng.integers(np.iinfo(np.int32).max))
        weights = self._executor.share(query_weights)
        sent = None if self.hard_negatives > 0 else self._executor.share(source)

        def learn(n: int, work: LongWork) -> None:
            here = self._executor.share(source) if sent is None else sent  # with a new ranking
            seen = self.n_triplets_seen_
            shards = [
                self._executor.submit(
                    draw_shard, here, weights, part.stop - part.start, [seed, seen, number]
                )
                for number, part in enumerate(self._plan.shards(n))
            ]
            self._round(shards, rows, work)

        return learn

    def _round(self, shards: list[Any], rows: ShardRows, work: LongWork) -> None:
        """Do one round, and go on from what it led to."""
        began = perf_counter()
        seen = self.n_triplets_seen_
        try:
            done = mixed(self._executor, self._plain(), self.state_, seen, shards, rows)
        except ClusterLostError as error:
            kept = "this learner" if self.checkpoint is None else f"{self.checkpoint}"
            raise ClusterLostError(
                f"{error} {len(self.rounds_)} of {self._plan.n_rounds} rounds are done; what they "
                f"learned is kept in {kept}"
                + ("." if self.checkpoint is None else ": go on with resume=True.")
            ) from error
        self._take_over(done, perf_counter() - began)
        work.advance(done.n_triplets)
        _LOG.info(
            "round %d of %d: %d triplets, loss %.4f, %.1f s",
            len(self.rounds_),
            self._plan.n_rounds,
            done.n_triplets,
            done.loss / max(1, done.n_triplets),
            self.rounds_[-1]["seconds"],
        )

    def _take_over(self, done: Learned, seconds: float) -> None:
        assert done.state is not None
        self.state_ = done.state
        self.n_triplets_seen_ += done.n_triplets
        self.n_updates_ += done.n_updates
        record(self.history_, self.n_triplets_seen_, self.n_updates_, done.loss)
        self.rounds_.append(
            {
                "triplets": done.n_triplets,
                "seconds": seconds,
                "learning": done.learning,
                "merging": done.merging,
            }
        )

    def _start(self, form: np.ndarray) -> None:
        super()._start(form)
        self.rounds_: list[dict[str, Any]] = []

    # What is kept between rounds.

    def _begun(self, way: Way, n_triplets: int) -> Way:
        """Return how far learning has come: as the checkpoint says, where it is to go on from."""
        self._plan = Plan.of(n_triplets, self.n_rounds, self.shard_size, self._executor.n_workers)
        self._before = self.n_triplets_seen_
        kept = self._checkpointed()
        # Validation and what follows it are two runs, each with a checkpoint of its own.
        if kept is None or hasattr(kept, "validation_") != hasattr(self, "validation_"):
            self.rounds_ = []
            return way
        mixing = getattr(kept, "mixing_", None)
        plan = None if mixing is None else Plan(*mixing["plan"])
        if type(kept) is not self._PLAIN or plan is None or mixing is None:
            raise ValueError(f"{self.checkpoint} is not a checkpoint of {type(self).__name__}.")
        wanted = n_triplets, self.n_rounds or plan.n_rounds, self._before
        if (plan.n_triplets, plan.n_rounds, mixing["before"]) != wanted:
            raise ValueError(
                f"{self.checkpoint} is of {plan.n_triplets} triplets in {plan.n_rounds} rounds "
                f"after {mixing['before']}, but {wanted[0]} in {wanted[1]} after {wanted[2]} are "
                "to be learned from: resume goes on with the same work."
            )
        for name in ("state_", "n_triplets_seen_", "n_updates_", "history_", "rounds_"):
            setattr(self, name, getattr(kept, name))
        self._plan = plan
        return Way(
            mixing["best"], mixing["best_mean"], mixing["n_best"], mixing["rounds"], mixing["stale"]
        )

    def _checkpointed(self) -> Any:
        """Return what the checkpoint holds, where it is to go on from; else None."""
        if not self.resume or not Path(self.checkpoint).exists():
            return None
        return load(self.checkpoint)

    def _decided(self) -> dict[str, Any] | None:
        return getattr(self._checkpointed(), "validation_", None)

    def _kept(self, way: Way) -> None:
        """Write the checkpoint: it is whole or what it was before."""
        if self.checkpoint is None:
            return
        kept = self._state_for_file()
        kept.mixing_ = {
            "plan": list(self._plan),
            "before": self._before,
            "rounds": way.stretches,
            "best": way.best,
            "best_mean": float(way.best_mean),
            "n_best": way.n_best,
            "stale": way.stale,
        }
        save(kept, self.checkpoint)
