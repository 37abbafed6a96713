"""A stage of a comparison: families on the same outer splits of some of the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from likewise._progress import LongWork
from likewise.selection._families import Family, Settings
from likewise.selection._scoring import Scoring
from likewise.selection._split import Problem, Split, Stopped, Trial


@dataclass(frozen=True, eq=False)
class Outcome:
    """A family's results on the outer splits of a stage.

    Attributes
    ----------
    family : Family
    settings : mapping
        The settings with the best mean inner score.
    inner : ndarray of shape (n_splits,)
        The inner score, which decided on settings inside each split, of the best settings there.
    mean_inner : float
        Mean inner score of `settings`, by which families are chosen.
    scores : ndarray of shape (n_splits,)
        Scores on the test rows.
    predictions : list of ndarray
        Predictions for the test rows of each split.
    fit_seconds, predict_seconds : ndarray of shape (n_splits,)
    n_rows : int
        Number of rows in the stage.
    """

    family: Family
    settings: Settings
    inner: np.ndarray
    mean_inner: float
    scores: np.ndarray
    predictions: list[np.ndarray]
    fit_seconds: np.ndarray
    predict_seconds: np.ndarray
    n_rows: int

    @property
    def seconds(self) -> float:
        """Mean time to fit and predict in a split."""
        return float((self.fit_seconds + self.predict_seconds).mean())


class Stage:
    """Outer splits, and the trials of the families that finished all of them.

    Parameters
    ----------
    problem : Problem
    splits : list of Split
    work : LongWork
        The progress, advanced by every fit.
    """

    def __init__(self, problem: Problem, splits: Sequence[Split], work: LongWork) -> None:
        self.problem, self.splits, self._work = problem, splits, work
        self._trials: dict[str, list[Trial]] = {}
        self._families: dict[str, Family] = {}

    @property
    def scoring(self) -> Scoring:
        """The measure of this comparison."""
        return self.problem.scoring

    @property
    def n_rows(self) -> int:
        """Number of rows, of which each split trains on some and tests on others."""
        return len(self.splits[0].train) + len(self.splits[0].test)

    @property
    def n_training_rows(self) -> int:
        """Number of training rows of a split."""
        return len(self.splits[0].train)

    @property
    def outcomes(self) -> list[Outcome]:
        """The results of the families that finished, in the order in which they did."""
        return [self._outcome(family) for family in self._families.values()]

    def finished(self, family: Family) -> bool:
        """Tell whether a family has a result."""
        return family.name in self._trials

    def try_setting(self, family: Family, place: int, stop: Callable[[], bool]) -> bool:
        """Try a setting in every split; return False, and change nothing, if `stop` ended it."""
        before: Sequence[Trial | None] = self._trials.get(family.name) or [None] * len(self.splits)
        try:
            trials = [
                split.try_setting(family, place, trial, self._work, stop)
                for split, trial in zip(self.splits, before, strict=True)
            ]
        except Stopped:
            return False
        self._trials[family.name] = trials
        self._families[family.name] = family
        return True

    def _outcome(self, family: Family) -> Outcome:
        trials = self._trials[family.name]
        tried = trials[0].inner
        means = {place: float(np.mean([t.inner[place] for t in trials])) for place in tried}
        best = max(means, key=lambda place: (self.scoring.sign * means[place], -place))
        return Outcome(
            family,
            family.grid[best],
            np.array([trial.inner[trial.place] for trial in trials]),
            means[best],
            np.array(
                [
                    self.scoring.measure(trial.predicted, split.truth)
                    for trial, split in zip(trials, self.splits, strict=True)
                ]
            ),
            [trial.predicted.values for trial in trials],
            np.array([trial.fit_seconds for trial in trials]),
            np.array([trial.predict_seconds for trial in trials]),
            self.n_rows,
        )


def best_outcome(outcomes: Sequence[Outcome], scoring: Scoring) -> Outcome:
    """Return the outcome with the best inner score; of equals the first, which is the simplest."""
    return max(outcomes, key=lambda outcome: scoring.sign * outcome.mean_inner)
