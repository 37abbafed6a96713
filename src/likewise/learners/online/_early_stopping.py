"""Validation on held-out queries: early stopping, the share to publish, and the final fit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from likewise._execution import current_backend
from likewise._validation import Rows
from likewise._warnings import warn
from likewise.learners.online._beliefs import State, copy_state
from likewise.learners.online._rates import candidate_rates, set_rate
from likewise.learners.validation._gate import KINDS, judge, start_kept_message
from likewise.learners.validation._held_out import HeldOut
from likewise.similarities import Bilinear

if TYPE_CHECKING:
    from likewise.learners.online._base import OnlineLearner

Learner = TypeVar("Learner", bound="OnlineLearner")

PATIENCE = 5  # checks without a gain
_FIRST_CHECK, _N_CHECKS = 1000, 20
_SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass
class Progress:
    """Progress of training, and the best state so far.

    Attributes
    ----------
    best : State or None
        None without a hold-out.
    best_mean : float
        Mean over the held-out queries at the best state.
    n_best : int
        Triplets seen at the best state.
    rounds : int
        Finished intervals between checks.
    stale : int
        Checks since the best.
    interrupted : bool
        Whether Ctrl-C ended training.
    """

    best: State | None = None
    best_mean: float = 0.0
    n_best: int = 0
    rounds: int = 0
    stale: int = 0
    interrupted: bool = False

    def check(self, state: State, mean: float, n_triplets: int) -> None:
        """Compare a state, reached after `n_triplets`, with the best."""
        if mean > self.best_mean:
            self.best, self.best_mean, self.stale = copy_state(state), mean, 0
            self.n_best = n_triplets
        else:
            self.stale += 1


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """An initial form, and training from it.

    Attributes
    ----------
    start : callable that returns the initial W
    train : callable from a number of triplets and the held-out queries, or None, to `Progress`
    rng : numpy.random.Generator, which draws the triplets
    """

    start: Callable[[], np.ndarray]
    train: Callable[[int, HeldOut | None], Progress]
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Run:
    """Training with held-out queries at one rate.

    Attributes
    ----------
    rate : float
    progress : Progress, with a best state
    history : list of dict
    drawn : state of the random generator after the run
    """

    rate: float
    progress: Progress
    history: list[dict[str, Any]]
    drawn: Any


def train_unvalidated(learner: Learner, whole: TrainingSet) -> Learner:
    """Train once on all data."""
    learner._start(whole.start())
    whole.train(learner.n_triplets, None)
    return learner


def train_validated(
    learner: Learner,
    part: TrainingSet,
    whole: TrainingSet,
    held: HeldOut,
    queries: Rows,
    items: Rows,
) -> Learner:
    """Train on a part, decide by the held-out queries, and train again on all data."""
    base = learner._base_form(queries, items)
    backend = current_backend()
    validation = None if backend is None else backend.resumed_validation()
    run, interrupted = None, False
    if validation is None:
        start = part.start()
        runs = _runs(learner, part, start, held)
        validation, run = decide(held, base, start, runs, learner._as_similarity, learner.new_items)
        interrupted = runs[-1].progress.interrupted
        set_rate(learner, run.rate)
        part.rng.bit_generator.state = run.drawn
    if not validation["published"]:
        learner._start(base)
        _warn_that_start_is_kept(validation)
    elif run is not None and interrupted:
        assert run.progress.best is not None
        learner.state_ = run.progress.best  # the user interrupted: do not train again
    else:
        start = whole.start()
        learner._start(start.copy())
        learner.validation_ = validation
        if validation["n_triplets"]:
            whole.train(validation["n_triplets"], None)
    if validation["published"]:
        change = learner.state_.W - start
        learner.state_.W = start + start.dtype.type(validation["share"]) * change
    learner.validation_ = validation
    learner.history_ = learner.history_ if run is None else run.history
    return learner


def _runs(learner: Learner, part: TrainingSet, start: np.ndarray, held: HeldOut) -> list[Run]:
    """Train at each candidate rate, on the same triplets and from the same start."""
    runs: list[Run] = []
    drawn = part.rng.bit_generator.state
    for rate in candidate_rates(learner):
        part.rng.bit_generator.state = drawn
        set_rate(learner, rate)
        learner._start(start.copy())
        progress = part.train(learner.n_triplets, held)
        runs.append(Run(rate, progress, learner.history_, part.rng.bit_generator.state))
        if progress.interrupted:
            break
    return runs


def keep_start(learner: Learner, queries: Rows, items: Rows, measure: str) -> Learner:
    """Keep the start: there are too few queries for a hold-out."""
    verdict = judge(np.zeros((3, 0)), np.zeros((1, 1, 3, 0)))
    set_rate(learner)
    learner._start(learner._base_form(queries, items))
    learner.validation_ = {
        "measure": measure,
        **verdict.outcomes,
        "published": False,
        "share": 0.0,
        "n_triplets": 0,
    }
    _warn_that_start_is_kept(learner.validation_)
    return learner


def _warn_that_start_is_kept(validation: dict[str, Any]) -> None:
    outcomes = {kind: validation[kind] for kind in KINDS}
    warn(start_kept_message(validation["measure"], outcomes))


def check_intervals(n_triplets: int) -> Iterator[int]:
    """Yield the triplets between two checks: few at first, then a twentieth of the total."""
    seen, longest = 0, max(_FIRST_CHECK, n_triplets // _N_CHECKS)
    while seen < n_triplets:
        n = min(max(_FIRST_CHECK, seen), longest, n_triplets - seen)
        yield n
        seen += n


def overall_mean(held: HeldOut, similarity: Bilinear) -> float:
    """Return the mean over all held-out queries."""
    return float(held(similarity)[0].mean())


def decide(
    held: HeldOut,
    base: np.ndarray,
    start: np.ndarray,
    runs: list[Run],
    as_similarity: Callable[[np.ndarray], Bilinear],
    new_items: str,
) -> tuple[dict[str, Any], Run]:
    """Choose a run, and the share of its change in W to publish, by the held-out queries.

    Parameters
    ----------
    held : HeldOut
    base : array
        The form that every share is compared with.
    start : array
        The start of training; it differs from `base` if it was learned itself.
    runs : list of Run
    as_similarity : callable from W to a Bilinear
    new_items : {"protect", "allow", "strict"}

    Returns
    -------
    dict : see `validation_` of the learners
    Run : the chosen one
    """
    shares: tuple[float, ...] = _SHARES
    if not start.any():
        shares = _SHARES[-1:]  # from zero, every share gives the same ranking
    elif not np.array_equal(base, start):
        shares = (0.0, *_SHARES)  # the start itself may be worth publishing
    candidates = [(run, share) for run in runs for share in shares]

    def similarity(run: Run, share: float) -> Bilinear:
        assert run.progress.best is not None
        return as_similarity(start + start.dtype.type(share) * (run.progress.best.W - start))

    values = np.array([held(similarity(*candidate)) for candidate in candidates])[:, None]
    before = held(as_similarity(base)) if base.any() else held.without_ranking()
    heads = None
    if base.any() and held.head(as_similarity(base)) is not None:
        of_candidates = [held.head(similarity(*candidate)) for candidate in candidates]
        heads = np.array([held.head(as_similarity(base)), *of_candidates])
    verdict = judge(before, values, new_items, error_scale=held.error_scale, heads=heads)
    run, share = candidates[verdict.form]
    validation = {
        "measure": held.measure,
        **verdict.outcomes,
        "published": verdict.passes,
        "share": share if verdict.passes else 0.0,
        "n_triplets": run.progress.n_best if share > 0 else 0,
    }
    return validation, run
