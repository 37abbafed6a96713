"""One outer split of a comparison: settings are searched inside it and scored outside."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from threadpoolctl import threadpool_limits

from likewise._compilation import clock
from likewise._progress import LongWork
from likewise._validation import n_rows, take
from likewise.selection._families import Family, Settings
from likewise.tables import Columns

_INNER_SPLITS = 3


class Split:
    """One outer split: inner scores of settings, and predictions for the test rows.

    Parameters
    ----------
    rows, labels : the whole table
    train, test : row numbers
    columns : Columns
        Fitted here on the training rows alone, once for all `scales`.
    scales : scales of the settings
    seed : int
    work : LongWork

    Attributes
    ----------
    inner_scores : dict
        Of each family, the mean inner score of each setting by its place in the grid.
    predicted, fit_seconds, predict_seconds : dict
        Of each family that was scored.
    """

    def __init__(
        self,
        rows: Any,
        labels: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        columns: Columns,
        scales: Iterable[str],
        seed: int,
        work: LongWork,
    ) -> None:
        self.y_train, self.y_test = labels[train], labels[test]
        self.test_share = len(test) / len(train)
        training_rows, test_rows = take(rows, train), take(rows, test)
        self._parts: Mapping[str, tuple[Any, Any]] = {
            scale: (fitted.transform(training_rows), fitted.transform(test_rows))
            for scale, fitted in columns.fit_scales(training_rows, scales).items()
        }
        self._seed, self._work = seed, work
        self._inner = list(_inner_splits(self.y_train, seed))
        self.inner_scores: dict[str, dict[int, float]] = {}
        self.predicted: dict[str, np.ndarray] = {}
        self.fit_seconds: dict[str, float] = {}
        self.predict_seconds: dict[str, float] = {}
        self.seconds = 0.0

    def run(
        self, families: Sequence[Family], until: float, cutoff: float | None = None
    ) -> list[Family]:
        """Search settings until `until`, score each family outside, and return those scored.

        Every family tries its first setting in any case. With `cutoff`, only families that start
        before it do; after Ctrl-C what was searched is still scored, so that the first split
        always has a result.
        """
        started = clock()
        self._search(families, until, cutoff)
        scored = []
        for family in families:
            late = self._work.interrupted or (cutoff is not None and clock() > cutoff)
            if family.name in self.inner_scores or not (_is_searched(family) or late):
                if self._work.interrupted and cutoff is None:
                    break
                self._score_outside(family)
                scored.append(family)
        self.seconds = clock() - started
        return scored

    def _search(self, families: Sequence[Family], until: float, cutoff: float | None) -> None:
        for place in range(max(len(family.grid) for family in families)):
            for family in families:
                if place >= len(family.grid) or not _is_searched(family):
                    continue
                if place > 0 and clock() > until:
                    return
                if self.inner_scores and cutoff is not None and clock() > cutoff:
                    return
                score = self._inner_score(family, family.grid[place])
                if self._work.interrupted:
                    return
                self.inner_scores.setdefault(family.name, {})[place] = score

    def best_setting(self, family: Family) -> int:
        """Return the place of the setting with the best inner score; the first of equals."""
        scores = self.inner_scores.get(family.name, {0: 0.0})
        return max(scores, key=lambda place: (scores[place], -place))

    def best_inner_scores(self, families: Sequence[Family]) -> dict[str, float]:
        """Return the best inner score of each family."""
        return {f.name: max(self.inner_scores.get(f.name, {0: 0.0}).values()) for f in families}

    def accuracy(self, family: Family) -> float:
        """Return the accuracy of a scored family on the test rows."""
        return float(np.mean(self.predicted[family.name] == self.y_test))

    def _inner_score(self, family: Family, settings: Settings) -> float:
        X = self._parts[settings["scale"]][0]
        scores = []
        for train, test in self._inner:
            estimator = limit_to_rows(family.estimator(settings, self._seed), len(train))
            with _threads(family):
                fitted = estimator.fit(take(X, train), self.y_train[train])
                predicted = fitted.predict(take(X, test))
            scores.append(np.mean(predicted == self.y_train[test]))
            self._work.advance()
            if self._work.interrupted:
                break
        return float(np.mean(scores))

    def _score_outside(self, family: Family) -> None:
        settings = family.grid[self.best_setting(family)]
        X_train, X_test = self._parts[settings["scale"]]
        started = clock()
        estimator = limit_to_rows(family.estimator(settings, self._seed), n_rows(X_train))
        with _threads(family):
            fitted = estimator.fit(X_train, self.y_train)
            between = clock()
            self.predicted[family.name] = fitted.predict(X_test)
        self.fit_seconds[family.name] = between - started
        self.predict_seconds[family.name] = clock() - between
        self._work.advance()


def max_fits(families: Sequence[Family], n_splits: int) -> int:
    """Return the largest number of fits that the splits can need."""
    return n_splits * sum(
        len(family.grid) * (_INNER_SPLITS if _is_searched(family) else 0) + 1 for family in families
    )


def limit_to_rows(estimator: Any, n_training: int) -> Any:
    """Lower numbers of neighbors and components that exceed the number of training rows."""
    params = estimator.get_params()
    for name in ("n_neighbors", "learner__n_components"):
        if (params.get(name) or 0) > n_training:
            estimator.set_params(**{name: n_training})
    return estimator


def _is_searched(family: Family) -> bool:
    """Tell whether inner scores are needed: to choose a setting, or to choose the family."""
    return family.searchable or len(family.grid) > 1


def _threads(family: Family) -> Any:
    """Limit references to one thread: their busy-waiting threads can block each other for long."""
    return threadpool_limits(limits=1) if family.kind == "reference" else nullcontext()


def _inner_splits(labels: np.ndarray, seed: int) -> Iterable[Any]:
    n_splits = min(_INNER_SPLITS, int(np.unique(labels, return_counts=True)[1].min()))
    if n_splits < 2:  # a class with one training row cannot be stratified
        return ShuffleSplit(1, test_size=0.3, random_state=seed).split(labels)
    splitter = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    return splitter.split(np.zeros(len(labels)), labels)
