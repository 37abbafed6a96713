"""Nested cross-validation within a budget: what is chosen inside is scored outside."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from likewise._progress import LongWork, show_progress
from likewise._validation import check_number, check_whole_number, is_sparse, n_rows, take
from likewise.evaluation import Comparison, Table
from likewise.selection._families import FAMILIES, Family, Settings
from likewise.tables import Columns, TableModel

_INNER_FOLDS = 3
_UNSCALED = ("categorical", "image", "text")  # columns that are the same at every scale
_WIDE = 100  # features
_MOST_ROWS = 2000  # that are compared on; what is chosen is fitted on all


@dataclass(frozen=True, eq=False)
class Selection:
    """What was tried, how well it did on rows it had not seen, and what was chosen.

    Attributes
    ----------
    rows : list of dict
        For each family ``name``, ``kind``, ``mean``, ``deviation``, ``scores`` (one for each outer
        fold), ``settings`` and ``chosen``, best first.
    chosen : Family
        The one with the best inner scores among those that leave a similarity.
    settings : mapping
        Its settings.
    nested : ndarray of shape (n_folds,)
        Accuracy of whatever would have been chosen in each outer fold: the honest figure.
    predictions : (labels, predicted labels)
        On the outer test rows, by that choice.
    comparison : Comparison
        The outer scores, with times and paired tests.
    notes : tuple of str
        What a reader should know.
    columns : Columns
        As given; the scale is that of `settings`.
    seed : int
    """

    rows: list[dict[str, Any]]
    chosen: Family
    settings: Settings
    nested: np.ndarray
    predictions: tuple[np.ndarray, np.ndarray]
    comparison: Comparison
    notes: tuple[str, ...]
    columns: Columns
    seed: int

    def fit(self, rows: Any, labels: Any, *, target: str | None = None) -> TableModel:
        """Fit what was chosen on a whole table."""
        columns = clone(self.columns).set_params(scale=self.settings["scale"]).fit(rows)
        estimator = _within_rows(self.chosen.estimator(self.settings, self.seed), len(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(columns.transform(rows), labels)
        return TableModel(columns, estimator, target=target)

    def table(self) -> Table:
        """Return a row for each family, best first."""
        return Table(
            ("", "kind", "accuracy", "deviation", "p against best", "fit s", "settings"),
            [
                (
                    f"{row['name']}{' *' if row['chosen'] else ''}",
                    row["kind"],
                    f"{row['mean']:.4f}",
                    f"{row['deviation']:.4f}",
                    "best" if place == 0 else _shown(self.comparison.p_value(row["name"])),
                    f"{self.comparison.fit_seconds[row['name']].mean():.3g}",
                    described(row["settings"]),
                )
                for place, row in enumerate(self.rows)
            ],
        )

    def __str__(self) -> str:
        return str(self.table())


def select(
    rows: Any,
    labels: Any,
    *,
    columns: Columns | None = None,
    families: Iterable[Family] = FAMILIES,
    choose_from: Iterable[str] | None = None,
    budget: float = 120.0,
    n_folds: int = 5,
    random_state: int = 0,
    verbose: bool = False,
) -> Selection:
    """Compare families on a table and choose one, honestly and within a time.

    Rows are cut into outer folds. In each, columns are learned from the training part, every
    family tries its settings there by inner cross-validation, and its best setting is fitted on the
    whole training part and scored on the rows left out. First every family tries its likeliest
    setting, then the next, until the time for the fold is used up. What is chosen in the end has
    the best inner scores over all outer folds; what its figure is worth is told by `nested`.

    Ctrl-C ends the work; the finished outer folds are kept.

    Parameters
    ----------
    rows : frame, array or CSR
    labels : array of shape (n_rows,)
    columns : Columns, optional
        How columns are to be taken; `scale` is tried out here.
    families : families to compare
    choose_from : names of families, optional
        What may be chosen: baselines and learners with a similarity by default.
    budget : float, default=120.0
        Seconds. At least one outer fold is finished in any case.
    n_folds : int, default=5
        Outer folds; fewer where a class has fewer rows.
    random_state : int, default=0
        Seed of folds and learners. The result is the same each time unless the time runs out.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    Selection
    """
    budget = check_number(budget, "budget", least=0.0, strictly=True)
    check_whole_number(n_folds, "n_folds", least=2)
    labels = check_classes(labels)
    columns = Columns() if columns is None else columns
    seen = clone(columns).fit(rows)  # refuses, before any work, what cannot be learned from
    notes: list[str] = []
    rows, labels = _sampled(rows, labels, random_state, notes)
    tried = _that_take(families, seen.transform(take_rows(rows, np.arange(2))), labels, notes)
    if len(seen.feature_names_) > _WIDE:
        tried = [
            replace(f, grid=tuple({**settings, **f.wide} for settings in f.grid)) for f in tried
        ]
    if all(block["kind"] in _UNSCALED for block in seen.blocks_):
        tried = [_of_one_scale(family) for family in tried]
    allowed = _allowed(tried, choose_from)
    n_folds = min(n_folds, int(np.unique(labels, return_counts=True)[1].min()))
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    splits = list(splitter.split(np.zeros(len(labels)), labels))

    until = monotonic() + budget
    folds: list[_Fold] = []
    with (
        show_progress(verbose),
        LongWork(
            f"comparing, {budget:.0f} s at most",
            total=_n_steps(tried, n_folds),
            unit="fits",
            keeps="the best so far",
        ) as work,
        warnings.catch_warnings(),
    ):
        # said once and in our own words where they matter, not once a fit
        warnings.simplefilter("ignore")
        for number, (train, test) in enumerate(splits):
            share = (until - monotonic()) / (n_folds - number)
            fold = _Fold(rows, labels, train, test, columns, random_state, work)
            # the first fold decides who is in time; if it is cut short, what it has is kept
            measured = fold.run(tried, monotonic() + share, until if number == 0 else None)
            if len(measured) < len(tried) and number > 0:
                break
            folds.append(fold)
            left_out = [family.title for family in tried if family not in measured]
            tried = measured
            if left_out:
                notes.append(f"The time did not suffice for {', '.join(left_out)}.")
            if work.interrupted:
                break
            if number + 1 < n_folds and monotonic() + 0.8 * fold.seconds > until:
                notes.append(
                    f"The time was enough for {number + 1} of {n_folds} folds: a larger budget "
                    "gives surer figures."
                )
                break
    allowed = [family for family in allowed if family in tried]
    if not allowed:
        raise KeyboardInterrupt("interrupted before anything that may be chosen was measured")
    if work.interrupted:
        notes.append(f"Interrupted: the figures are of {len(folds)} of {n_folds} folds.")
    return _concluded(folds, tried, allowed, notes, columns, random_state)


def check_classes(labels: Any) -> np.ndarray:
    """Return labels that can be learned from: two classes at least, two rows in each."""
    labels = np.asarray(labels)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"the target has one class, {str(classes[0])!r}; at least two are needed.")
    if counts.min() < 2:
        alone = [str(name) for name in classes[counts < 2]]
        several = f" (and {len(alone) - 1} more)" if len(alone) > 1 else ""
        raise ValueError(
            f"class {alone[0]!r}{several} of the target has one row; at least two are needed, one "
            "to learn from and one to be tested on."
        )
    return labels


def described(settings: Mapping[str, Any]) -> str:
    """Return settings in a few words."""
    return ", ".join(f"{key} {value}" for key, value in settings.items())


def _shown(p: float) -> str:
    return f"{p:.3f}" if p == p else "–"  # one fold tells nothing


def _sampled(rows: Any, labels: np.ndarray, seed: int, notes: list[str]) -> tuple[Any, np.ndarray]:
    """Return at most so many rows as are compared on, of every class its share."""
    if len(labels) <= _MOST_ROWS:
        return rows, labels
    classes = np.unique(labels)
    kept = np.concatenate([np.flatnonzero(labels == name)[:2] for name in classes])
    others = np.setdiff1d(np.arange(len(labels)), kept)
    room = _MOST_ROWS - len(kept)
    if 0 < room < len(others):
        shuffled = np.random.default_rng(seed).permutation(others)[:room]
        kept = np.concatenate([kept, shuffled])
    kept.sort()
    notes.append(
        f"Compared on {len(kept)} of {len(labels)} rows, drawn at random; what is chosen is "
        "fitted on all of them."
    )
    return take_rows(rows, kept), labels[kept]


def take_rows(rows: Any, which: np.ndarray) -> Any:
    """Return some rows of a frame of any kind, an array or CSR."""
    if hasattr(rows, "take") and hasattr(rows, "column_names"):  # pyarrow
        return rows.take(which)
    return take(rows, which)


def _that_take(
    families: Iterable[Family], X: Any, labels: np.ndarray, notes: list[str]
) -> list[Family]:
    families = list(families)
    if not families:
        raise ValueError("families is empty; at least one is needed.")
    if labels.dtype.kind in "iu" and -1 in labels:  # by which it knows rows without a label
        families = [family for family in families if family.name != "landmarks"]
    if not is_sparse(X):
        return families
    left_out = [family.title for family in families if not family.sparse]
    if left_out:
        notes.append(f"Left out, since rows are sparse: {', '.join(left_out)}.")
    return [family for family in families if family.sparse]


def _of_one_scale(family: Family) -> Family:
    """Leave out settings that differ from others in the scale alone."""
    kept = {described({**settings, "scale": ""}): settings for settings in reversed(family.grid)}
    return replace(family, grid=tuple(s for s in family.grid if s in kept.values()))


def _allowed(tried: Sequence[Family], choose_from: Iterable[str] | None) -> list[Family]:
    if choose_from is None:
        allowed = [family for family in tried if family.searchable]
    else:
        names = set(choose_from)
        allowed = [family for family in tried if family.name in names]
    if not allowed:
        raise ValueError(
            "none of the families that may be chosen takes these rows: "
            f"{', '.join(choose_from or ())}."
        )
    return allowed


def _n_steps(tried: Sequence[Family], n_folds: int) -> int:
    return n_folds * sum(
        len(family.grid) * (_INNER_FOLDS if _needs_inner(family) else 0) + 1 for family in tried
    )


def _needs_inner(family: Family) -> bool:
    """Tell whether anything is decided inside: which setting, or whether to choose it at all."""
    return family.searchable or len(family.grid) > 1


class _Fold:
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
            estimator = _within_rows(estimator, len(train))
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
        estimator = _within_rows(family.estimator(settings, self._seed), n_rows(X_train))
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


def _within_rows(estimator: Any, n_training: int) -> Any:
    """Let a classifier ask for no more neighbours, or directions, than there are rows."""
    given = estimator.get_params()
    for name in ("n_neighbors", "learner__n_components"):
        if (given.get(name) or 0) > n_training:
            estimator.set_params(**{name: n_training})
    return estimator


def _concluded(
    folds: list[_Fold],
    tried: Sequence[Family],
    allowed: Sequence[Family],
    notes: list[str],
    columns: Columns,
    seed: int,
) -> Selection:
    inner = {family.name: _mean_inner(folds, family) for family in tried}
    settings = {
        family.name: max(inner[family.name], key=lambda p: (inner[family.name][p], -p), default=0)
        for family in tried
    }
    chosen = _best_of(allowed, {name: max(s.values(), default=0.0) for name, s in inner.items()})
    picks = [_best_of(allowed, fold.best_inner(allowed)) for fold in folds]
    nested = np.array(
        [
            np.mean(fold.predicted[pick.name] == fold.y_test)
            for fold, pick in zip(folds, picks, strict=True)
        ]
    )
    scores = {
        family.title: np.array([np.mean(f.predicted[family.name] == f.y_test) for f in folds])
        for family in tried
    }
    comparison = Comparison(
        scores,
        {f.title: np.array([fold.fit_seconds[f.name] for fold in folds]) for f in tried},
        {f.title: np.array([fold.predict_seconds[f.name] for fold in folds]) for f in tried},
        np.array([fold.share for fold in folds]),
        "accuracy",
    )
    rows = [
        {
            "name": family.title,
            "kind": family.kind,
            "mean": float(scores[family.title].mean()),
            "deviation": float(scores[family.title].std(ddof=1)) if len(folds) > 1 else 0.0,
            "scores": scores[family.title].tolist(),
            "settings": dict(family.grid[settings[family.name]]),
            "chosen": family is chosen,
        }
        for family in tried
    ]
    rows.sort(key=lambda row: -row["mean"])
    truth = np.concatenate([fold.y_test for fold in folds])
    predicted = np.concatenate(
        [fold.predicted[pick.name] for fold, pick in zip(folds, picks, strict=True)]
    )
    return Selection(
        rows,
        chosen,
        chosen.grid[settings[chosen.name]],
        nested,
        (truth, predicted),
        comparison,
        (*notes, *_verdict(rows, comparison)),
        columns,
        seed,
    )


def _mean_inner(folds: list[_Fold], family: Family) -> dict[int, float]:
    """Return the mean inner score of the settings that every fold has tried."""
    tried = [fold.inner.get(family.name, {}) for fold in folds]
    common = set.intersection(*(set(scores) for scores in tried))
    return {place: float(np.mean([scores[place] for scores in tried])) for place in sorted(common)}


def _best_of(allowed: Sequence[Family], scores: Mapping[str, float]) -> Family:
    """Return the best; of equals the first, which is the simpler."""
    return max(allowed, key=lambda family: scores[family.name])


def _verdict(rows: list[dict[str, Any]], comparison: Comparison) -> list[str]:
    """Say whether learning a similarity was worth it."""
    best = {
        kind: next((row for row in rows if row["kind"] == kind), None)
        for kind in ("baseline", "learned", "reference")
    }
    learned, baseline, reference = best["learned"], best["baseline"], best["reference"]
    said = []
    if learned and baseline:
        gain = learned["mean"] - baseline["mean"]
        p = comparison.p_value_between(learned["name"], baseline["name"])
        chance = f"p = {p:.2f}" if p == p else "there is but one fold"
        sure = "" if p < 0.05 else f", a difference that chance alone may make ({chance})"
        if gain > 0:
            said.append(
                f"{learned['name']} is right on {100 * gain:.1f} rows more in 100 than "
                f"{baseline['name']}{sure}."
            )
        else:
            said.append(
                f"A learned similarity is not worth it here: {baseline['name']} reaches "
                f"{baseline['mean']:.3f}, {learned['name']} {learned['mean']:.3f}."
            )
    ours = max(
        (row for row in (learned, baseline) if row), key=lambda row: row["mean"], default=None
    )
    if ours and reference and reference["mean"] > ours["mean"]:
        said.append(
            f"If you only need classes, {reference['name']} is better: {reference['mean']:.3f} "
            f"against {ours['mean']:.3f}."
        )
    return said
