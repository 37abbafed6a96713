"""One outer split of a comparison: settings are searched inside it and scored outside."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from likewise._compilation import thread_clock
from likewise._progress import LongWork
from likewise._validation import n_rows, take
from likewise.selection._families import Family, Settings
from likewise.selection._folds import NEVER_TESTED, assign_folds
from likewise.selection._scoring import Predicted, Scoring, predict
from likewise.tables import Columns


@dataclass(frozen=True, eq=False)
class Problem:
    """The table and how predictions of it are scored.

    Attributes
    ----------
    rows : frame, array or CSR
    target : ndarray of shape (n_rows,)
    strata : ndarray of shape (n_rows,)
        Classes, or ranges of numbers, that have equal shares in all splits.
    groups : ndarray of shape (n_rows,)
        Rows of one group are never on both sides of a split.
    columns : Columns
    scales : set of str
        The scales of all settings.
    scoring : Scoring
    seed : int
    """

    rows: Any
    target: np.ndarray
    strata: np.ndarray
    groups: np.ndarray
    columns: Columns
    scales: frozenset[str]
    scoring: Scoring
    seed: int

    @property
    def classes(self) -> np.ndarray | None:
        """The classes in order; None for numbers."""
        return None if self.target.dtype.kind == "f" else np.unique(self.target)


@dataclass(frozen=True, eq=False)
class Trial:
    """A family in one outer split.

    Attributes
    ----------
    inner : dict of int to float
        The inner score of each setting that was tried, by its place in the grid.
    place : int
        The setting with the best inner score, with which the test rows were predicted.
    predicted : Predicted
    fit_seconds, predict_seconds : float
    """

    inner: dict[int, float]
    place: int
    predicted: Predicted
    fit_seconds: float
    predict_seconds: float


class Stopped(Exception):
    """The time is over, or Ctrl-C was pressed."""


@dataclass(eq=False)
class Split:
    """One outer split: inner scores of settings, and predictions for the test rows.

    Parameters
    ----------
    problem : Problem
    train, test : row numbers
    n_inner : int
        Number of inner splits; with one, a quarter of the training rows is the inner test part.
    keep : bool
        Keep the encoded rows for the next family. Without it, memory holds one split at a time.
    """

    problem: Problem
    train: np.ndarray
    test: np.ndarray
    n_inner: int
    keep: bool
    _parts: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False)
    _inner: list[tuple[np.ndarray, np.ndarray]] | None = field(default=None, init=False)

    @property
    def truth(self) -> np.ndarray:
        """The target of the test rows."""
        return self.problem.target[self.test]

    @property
    def test_share(self) -> float:
        """Number of test rows per training row."""
        return len(self.test) / len(self.train)

    def try_setting(
        self,
        family: Family,
        place: int,
        before: Trial | None,
        work: LongWork,
        stop: Callable[[], bool],
    ) -> Trial:
        """Return a trial with one more setting; the best is fitted and predicts the test rows.

        Parameters
        ----------
        family : Family
        place : int
            Position of the setting in the grid.
        before : Trial or None
            Trial of the earlier settings.
        work : LongWork
        stop : callable
            Checked after each fit; if it returns True, `Stopped` is raised.
        """
        settings = family.grid[place]
        X_train, X_test = self._encoded(settings["scale"])
        y_train = self.problem.target[self.train]
        scores = []
        for train, test in self._inner_splits():
            fitted = self._fitted(family, settings, take(X_train, train), y_train[train])
            scores.append(self._score(fitted, family, take(X_train, test), y_train[test]))
            _advance(work, stop)
        inner = {
            **(before.inner if before else {}),
            place: float(np.mean(scores)) if scores else 0.0,
        }
        best = max(inner, key=lambda tried: (self.problem.scoring.sign * inner[tried], -tried))
        if before is not None and best == before.place:
            return Trial(inner, best, before.predicted, before.fit_seconds, before.predict_seconds)
        started = thread_clock()
        fitted = self._fitted(family, settings, X_train, y_train)
        between = thread_clock()
        with _threads(family):
            predicted = predict(fitted, X_test, self.problem.scoring, self.problem.classes)
        ended = thread_clock()
        _advance(work, stop)
        return Trial(inner, best, predicted, between - started, ended - between)

    def _encoded(self, scale: str) -> tuple[Any, Any]:
        """Return training and test rows as numbers; columns are fitted on the training rows."""
        if scale in self._parts:
            return self._parts[scale]
        problem = self.problem
        scales: Iterable[str] = problem.scales if self.keep else (scale,)
        training_rows, test_rows = take(problem.rows, self.train), take(problem.rows, self.test)
        parts = {
            name: (fitted.transform(training_rows), fitted.transform(test_rows))
            for name, fitted in problem.columns.fit_scales(training_rows, scales).items()
        }
        if self.keep:
            self._parts = parts
        return parts[scale]

    def _inner_splits(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self._inner is None:
            problem = self.problem
            groups = problem.groups[self.train]
            n_folds = self.n_inner if self.n_inner > 1 else 4
            folds = assign_folds(problem.strata[self.train], groups, n_folds, problem.seed)
            last = folds.max() if self.n_inner > 1 else 0
            self._inner = [
                (np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(last + 1)
            ]
        return iter(self._inner)

    def _fitted(self, family: Family, settings: Settings, X: Any, y: np.ndarray) -> Any:
        estimator = limit_to_rows(family.estimator(settings, self.problem.seed), n_rows(X))
        with _threads(family):
            return estimator.fit(X, y)

    def _score(self, fitted: Any, family: Family, X: Any, y: np.ndarray) -> float:
        with _threads(family):
            predicted = predict(fitted, X, self.problem.scoring, self.problem.classes)
        return self.problem.scoring.measure(predicted, y)


def outer_splits(
    problem: Problem, used: np.ndarray, folds: np.ndarray, n_inner: int, keep: bool
) -> list[Split]:
    """Return the splits of the rows `used`, of which `folds` says where each is a test row."""
    return [
        Split(problem, used[folds != k], used[folds == k], n_inner, keep)
        for k in range(folds.max() + 1)
        if k != NEVER_TESTED
    ]


def limit_to_rows(estimator: Any, n_training: int) -> Any:
    """Lower numbers of neighbors and components that exceed the number of training rows."""
    params = estimator.get_params()
    for name in ("n_neighbors", "learner__n_components"):
        if (params.get(name) or 0) > n_training:
            estimator.set_params(**{name: n_training})
    return estimator


def _advance(work: LongWork, stop: Callable[[], bool]) -> None:
    work.advance()
    if stop():
        raise Stopped


def _threads(family: Family) -> Any:
    """Limit references to one thread: their busy-waiting threads can block each other for long."""
    return threadpool_limits(limits=1) if family.kind == "reference" else nullcontext()
