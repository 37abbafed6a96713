"""One outer fold of a comparison: settings are tried inside it, and scored outside."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from likewise._progress import LongWork
from likewise._validation import n_rows, take
from likewise.selection._families import Family, Settings
from likewise.tables import Columns

_INNER_FOLDS = 3


class Fold:
    """One outer fold: what was found inside, and how it did outside."""

    def __init__(
        self,
        rows: Any,
        labels: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        columns: Columns,
        seed: int,
        work: LongWork,
    ) -> None:
        self.y_train, self.y_test = labels[train], labels[test]
        self.share = len(test) / len(train)
        self._parts: dict[str, tuple[Any, Any]] = {}
        self._rows, self._train, self._test = rows, train, test
        self._columns, self._seed, self._work = columns, seed, work
        smallest = int(np.unique(self.y_train, return_counts=True)[1].min())
        n_inner = min(_INNER_FOLDS, smallest)
        self._inner = list(_inner_splits(self.y_train, n_inner, seed))
        self.inner: dict[str, dict[int, float]] = {}
        self.predicted: dict[str, np.ndarray] = {}
        self.fit_seconds: dict[str, float] = {}
        self.predict_seconds: dict[str, float] = {}
        self.seconds = 0.0

    def run(
        self, tried: Sequence[Family], until: float, cut_at: float | None = None
    ) -> list[Family]:
        """Search inside until the time is over, then score outside; return who was measured.

        Every family tries its likeliest setting in any case: without it there is nothing to
        compare. With `cut_at`, only those that can begin until then do; and what Ctrl-C leaves is
        scored all the same, so that the first fold always gives something.
        """
        started = monotonic()
        self._search(tried, until, cut_at)
        measured = []
        for family in tried:
            late = self._work.interrupted or (cut_at is not None and monotonic() > cut_at)
            if family.name in self.inner or not (_needs_inner(family) or late):
                if self._work.interrupted and cut_at is None:
                    break
                self._score_outside(family)
                measured.append(family)
        self.seconds = monotonic() - started
        return measured

    def _search(self, tried: Sequence[Family], until: float, cut_at: float | None) -> None:
        for place in range(max(len(family.grid) for family in tried)):
            for family in tried:
                if place >= len(family.grid) or not _needs_inner(family):
                    continue
                if place > 0 and monotonic() > until:
                    return
                if self.inner and cut_at is not None and monotonic() > cut_at:
                    return
                score = self._inner_score(family, family.grid[place])
                if self._work.interrupted:
                    return
                self.inner.setdefault(family.name, {})[place] = score

    def best(self, family: Family) -> int:
        """Return which setting of a family did best inside; of equals the likelier."""
        scores = self.inner.get(family.name, {0: 0.0})
        return max(scores, key=lambda place: (scores[place], -place))

    def best_inner(self, families: Sequence[Family]) -> dict[str, float]:
        """Return the best inner score of each family."""
        return {f.name: max(self.inner.get(f.name, {0: 0.0}).values()) for f in families}

    def _inner_score(self, family: Family, settings: Settings) -> float:
        X = self._prepared(settings)[0]
        scores = []
        for train, test in self._inner:
            estimator = family.estimator(settings, self._seed)
            estimator = within_rows(estimator, len(train))
            with _threads(family):
                fitted = estimator.fit(take(X, train), self.y_train[train])
                predicted = fitted.predict(take(X, test))
            scores.append(np.mean(predicted == self.y_train[test]))
            self._work.advance()
            if self._work.interrupted:
                break
        return float(np.mean(scores))

    def _score_outside(self, family: Family) -> None:
        settings = family.grid[self.best(family)]
        X_train, X_test = self._prepared(settings)
        started = monotonic()
        estimator = within_rows(family.estimator(settings, self._seed), n_rows(X_train))
        with _threads(family):
            fitted = estimator.fit(X_train, self.y_train)
            between = monotonic()
            self.predicted[family.name] = fitted.predict(X_test)
        self.fit_seconds[family.name] = between - started
        self.predict_seconds[family.name] = monotonic() - between
        self._work.advance()

    def _prepared(self, settings: Settings) -> tuple[Any, Any]:
        """Return training and test rows, by columns that have seen the training rows alone."""
        scale = settings["scale"]
        if scale not in self._parts:
            columns = clone(self._columns).set_params(scale=scale)
            train = take_rows(self._rows, self._train)
            X_train = columns.fit(train).transform(train)
            self._parts[scale] = X_train, columns.transform(take_rows(self._rows, self._test))
        return self._parts[scale]


def n_steps(tried: Sequence[Family], n_folds: int) -> int:
    """Return how many fits so many folds do at most."""
    return n_folds * sum(
        len(family.grid) * (_INNER_FOLDS if _needs_inner(family) else 0) + 1 for family in tried
    )


def _needs_inner(family: Family) -> bool:
    """Tell whether anything is decided inside: which setting, or whether to choose it at all."""
    return family.searchable or len(family.grid) > 1


def take_rows(rows: Any, which: np.ndarray) -> Any:
    """Return some rows of a frame of any kind, an array or CSR."""
    if hasattr(rows, "take") and hasattr(rows, "column_names"):  # pyarrow
        return rows.take(which)
    return take(rows, which)


def within_rows(estimator: Any, n_training: int) -> Any:
    """Let a classifier ask for no more neighbours, or directions, than there are rows."""
    given = estimator.get_params()
    for name in ("n_neighbors", "learner__n_components"):
        if (given.get(name) or 0) > n_training:
            estimator.set_params(**{name: n_training})
    return estimator


def _threads(family: Family) -> Any:
    """Hold outsiders to one thread: theirs wait for each other actively, maybe for ever."""
    return threadpool_limits(limits=1) if family.kind == "reference" else nullcontext()


def _inner_splits(labels: np.ndarray, n_inner: int, seed: int) -> Iterable[Any]:
    places = np.zeros(len(labels))
    if n_inner >= 2:
        return StratifiedKFold(n_inner, shuffle=True, random_state=seed).split(places, labels)
    # a class with one row left inside cannot be in both parts
    train, test = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=seed)
    return [(train, test)]
