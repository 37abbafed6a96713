"""Training of an online learner: triplets update a state one at a time."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise._execution import current_backend
from likewise._progress import LongWork, show_progress
from likewise._threads import single_threaded_blas, slices
from likewise._validation import Rows, check_rows
from likewise.learners._initial_form import same_init
from likewise.learners.online._beliefs import (
    Belief,
    State,
    Weighted,
    copy_state,
    prepare_arrays,
    sum_evidence,
)
from likewise.learners.online._early_stopping import (
    PATIENCE,
    Learner,
    Progress,
    check_intervals,
    overall_mean,
)
from likewise.learners.online._history import record
from likewise.learners.online._rates import current_rate, set_rate
from likewise.learners.online._triplet_batches import TripletBatches
from likewise.learners.ridge import RidgeSimilarity
from likewise.learners.validation._held_out import HeldOut
from likewise.supervision import RelevanceTriplets, TripletSource, TripletStream

if TYPE_CHECKING:
    from likewise.learners.online._base import OnlineLearner

FitRidge: TypeAlias = Callable[[RidgeSimilarity], Any]  # to the supervision of the learner

_BLOCK = 1024  # triplets between checks for Ctrl-C
_FORGET_EVERY = 1000
_N_RANKED = 50  # top items of each query from which hard negatives are drawn


def check_sides(
    queries: Any, items: Any, widths: Any = (None, None), *, finite: bool = True
) -> tuple[Any, Any]:
    """Return the checked rows of both sides; without items, the queries twice.

    With `finite` false, NaN and infinity are accepted.
    """
    backend = current_backend()

    def check(rows: Any, name: str, n_features: int | None) -> Any:
        if backend is None:
            return check_rows(rows, name, n_features=n_features, finite=finite)
        return backend.rows(rows, name, n_features)

    queries = check(queries, "queries", widths[0])
    return queries, queries if items is None else check(items, "items", widths[1])


def check_stream(triplets: Any, queries: Any, items: Any, weights: Any) -> Any:
    """Return checked triplets: a `TripletStream`, or the form in which workers read them."""
    backend = current_backend()
    make = TripletStream if backend is None else backend.triplets
    return make(triplets, queries, items, weights)


def ridge_form(learner: "OnlineLearner", fit_ridge: FitRidge) -> np.ndarray:
    """Return the form of a ridge regression, from which training then starts."""
    ridge = RidgeSimilarity(
        new_items=learner.new_items,
        normalize=learner.normalize,
        random_state=learner.random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # if the ridge keeps its start, training begins there
        form: np.ndarray = fit_ridge(ridge).similarity_.W.astype(learner.dtype)
    return form


def train(
    learner: "OnlineLearner",
    triplets: Any,
    queries: Rows,
    items: Rows,
    held: HeldOut | None = None,
) -> Progress:
    """Train on triplets in rounds; with held-out queries, find the best state."""
    progress = Progress()
    if held is not None:
        progress = Progress(copy_state(learner.state_), overall_mean(held, learner.similarity_))
    work = LongWork(
        "learning",
        total=len(triplets),
        unit="triplets",
        partial_result="the state learned so far",
    )
    backend, rule = current_backend(), learner._update_rule()
    with show_progress(learner.verbose), work:
        trainer: Trainer = (
            LocalTrainer(rule, queries, items, work)
            if backend is None
            else backend.trainer(learner, rule, queries, items)
        )
        for current in trainer.rounds(triplets, progress, work):
            if work.interrupted or progress.stale >= PATIENCE:
                break
            if isinstance(triplets, DrawnTriplets) and learner.hard_negatives > 0:
                _rank_hard_negatives(learner, triplets.source, queries, items)
            for step in trainer.train(learner.state_, learner.n_triplets_seen_, triplets, current):
                learner.state_ = step.state
                learner.n_triplets_seen_ += step.n_triplets
                learner.n_updates_ += step.n_updates
                record(learner.history_, learner.n_triplets_seen_, learner.n_updates_, step.loss)
                work.advance(step.n_triplets)
            progress.rounds += 1
            if held is not None:
                mean = overall_mean(held, learner.similarity_)
                seen = learner.n_triplets_seen_
                record(learner.history_, seen, learner.n_updates_, validation=mean)
                progress.check(learner.state_, mean, seen)
        progress.interrupted = work.interrupted
    return progress


def train_once(learner: "OnlineLearner", triplets: Any, queries: Rows, items: Rows) -> Progress:
    """Train on all triplets of a stream; the best state is the last."""
    progress = train(learner, triplets, queries, items)
    progress.best, progress.n_best = copy_state(learner.state_), learner.n_triplets_seen_
    return progress


def _rank_hard_negatives(
    learner: "OnlineLearner", source: TripletSource, queries: Rows, items: Rows
) -> None:
    if isinstance(source, RelevanceTriplets):
        k = min(_N_RANKED, items.shape[0])
        source.set_ranking(learner.similarity_.neighbors(queries, items, k).ids)


class UpdateRule(NamedTuple):
    """Parameters of the updates.

    Attributes
    ----------
    rate : float, r of AROMA or C of OASIS
    forget : float, share by which variance moves back towards its start every 1,000 triplets
    normalize : bool, scale rows to unit length
    dtype : "float32" or "float64"
    mistakes : bool, learn from mistakes alone, in dual form
    """

    rate: float
    forget: float
    normalize: bool
    dtype: str
    mistakes: bool = False


class Step(NamedTuple):
    """A state, and the triplets, updates and summed loss since the step before."""

    state: State
    n_triplets: int
    n_updates: int
    loss: float


@dataclass(frozen=True, eq=False)
class DrawnTriplets:
    """Triplets to be drawn from labels or relevance.

    Attributes
    ----------
    source : TripletSource
    n_triplets : int
    rng : numpy.random.Generator
    query_weights : array of shape (n_queries,), or None
    """

    source: TripletSource
    n_triplets: int
    rng: np.random.Generator
    query_weights: np.ndarray | None = None

    def __len__(self) -> int:
        return self.n_triplets

    def draw(self, n: int, rng: np.random.Generator | None = None) -> Weighted:
        """Return drawn triplets and their weights."""
        triplets = self.source.draw(n, self.rng if rng is None else rng)
        if self.query_weights is None:
            return triplets, np.ones(len(triplets))
        return triplets, self.query_weights[triplets[:, 0]]


class Trainer(Protocol):
    """Applies triplets to a state, in this process or on a cluster."""

    def rounds(self, triplets: Any, progress: Progress, work: LongWork) -> Iterator[Any]:
        """Yield each remaining round, as `train` takes it."""

    def train(self, state: State, n_seen: int, triplets: Any, current: Any) -> Iterator[Step]:
        """Apply the triplets of a round to a state that has seen `n_seen`."""


class LocalTrainer:
    """Applies triplets in this process.

    Parameters
    ----------
    rule : UpdateRule
    queries, items : array or CSR
    work : LongWork
        Its interruption ends training between blocks.
    """

    def __init__(self, rule: UpdateRule, queries: Rows, items: Rows, work: LongWork) -> None:
        self._rule, self._work = rule, work
        self._batches = TripletBatches(queries, items, unit=rule.normalize, dtype=rule.dtype)

    def rounds(
        self, triplets: DrawnTriplets | TripletStream, progress: Progress, work: LongWork
    ) -> Iterator[int]:
        """Yield intervals between checks; a stream is a single round."""
        if isinstance(triplets, DrawnTriplets):
            return check_intervals(len(triplets))
        return iter([len(triplets)])

    def train(
        self, state: State, n_seen: int, triplets: DrawnTriplets | TripletStream, n: int
    ) -> Iterator[Step]:
        """Yield a step after each block."""
        if isinstance(triplets, DrawnTriplets):
            drawn = triplets
            blocks: Any = (drawn.draw(b.stop - b.start) for b in slices(n, _BLOCK))
        else:
            blocks = triplets.blocks(_BLOCK)
        return apply_triplets(state, n_seen, blocks, self._batches, self._rule, self._work)


def apply_triplets(
    state: State,
    n_seen: int,
    blocks: Iterable[Weighted],
    batches: TripletBatches,
    rule: UpdateRule,
    work: LongWork,
) -> Iterator[Step]:
    """Apply blocks of triplets to a state, in place, until they end or `work` is interrupted."""
    prepare_arrays(state)
    belief = cast(Belief, state)  # if the rule forgets or learns from mistakes
    learn = belief.learn_mistakes if rule.mistakes else state.learn
    with single_threaded_blas():
        for triplets, weights in blocks:
            if work.interrupted:
                break
            totals = np.zeros(2)
            for part in _between_forgetting(len(triplets), n_seen, rule.forget):
                learn((triplets[part], weights[part]), batches, rule.rate, totals)
                n_seen += part.stop - part.start
                if rule.forget > 0 and n_seen % _FORGET_EVERY == 0:
                    belief.forget(rule.forget)
            yield Step(state, len(triplets), int(totals[1]), float(totals[0]))


def _between_forgetting(n: int, n_seen: int, forget: float) -> Iterator[slice]:
    """Split a block at every 1,000th triplet of the stream, where the state forgets."""
    first = n if forget == 0 else -n_seen % _FORGET_EVERY
    if first:
        yield slice(0, min(first, n))
    yield from slices(n, _FORGET_EVERY, start=first)


def _check_mergeable(kind: Any, models: Sequence[Any], start: Any) -> None:
    if not models:
        raise ValueError("models is empty; at least one learner is needed.")
    first = models[0]
    learners: list[Any] = [*models, *([] if start is None else [start])]
    for model in learners:
        if type(model) is not kind:
            raise TypeError(f"models must be {kind.__name__}s, but {model!r} was given.")
        check_is_fitted(model, "state_")
        if model.normalize != first.normalize:
            raise ValueError("models must agree in normalize, but both True and False were given.")
        if type(model.state_) is not type(first.state_) or (
            model.state_.W.shape != first.state_.W.shape
        ):
            raise ValueError(
                "models must have states of the same kind and shape, but "
                f"{type(first.state_).__name__} {first.state_.W.shape} and "
                f"{type(model.state_).__name__} {model.state_.W.shape} were given."
            )
    if start is None and any(not same_init(model.init, first.init) for model in models):
        raise ValueError("models must have the same start, but init differs.")
    if start is not None and any(m.n_triplets_seen_ < start.n_triplets_seen_ for m in models):
        fewest = min(model.n_triplets_seen_ for model in models)
        raise ValueError(
            f"start has seen {start.n_triplets_seen_} triplets, but a model that continues from it "
            f"has seen {fewest}: start must be the learner from which the models continued."
        )


def merge_learners(
    kind: "type[Learner]", models: "Sequence[Learner]", start: "Learner | None"
) -> "Learner":
    """Return one learner that combines several; parameters as in `OnlineLearner.merge`."""
    _check_mergeable(kind, models, start)
    merged = kind(**models[0].get_params(deep=False))
    merged._start(merged._default_form(*models[0].state_.W.shape))
    set_rate(merged, current_rate(models[0]))
    first: Any = merged if start is None else start
    updates = [model.n_updates_ - first.n_updates_ for model in models]
    evidence = (
        model.state_.evidence_since(first.state_, n)
        for model, n in zip(models, updates, strict=True)
    )
    merged.state_ = first.state_.with_evidence(sum_evidence(evidence))
    merged.n_updates_ = first.n_updates_ + sum(updates)
    n_seen = first.n_triplets_seen_
    merged.n_triplets_seen_ = n_seen + sum(m.n_triplets_seen_ - n_seen for m in models)
    return merged
