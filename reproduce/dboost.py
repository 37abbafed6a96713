"""DBoost, nearest neighbors and the other methods of its paper, on the same distances.

Every method gets only the matrices of dissimilarities, training × training and test × training, and
whatever it has to choose it chooses within the training part, in the same way as the others: see
`reproduce._distance_methods`. Where rows are vectors, a distance can also be learned first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from likewise.evaluation import Table
from likewise.exceptions import DatasetUnavailableError, MissingExtraError
from likewise.similarities import as_similarity, dissimilarities
from likewise.similarities.distances import quantize
from reproduce._datasets import load
from reproduce._distance_candidates import RIVALS
from reproduce._distance_methods import (
    AFTER_NCA,
    STACKED,
    STACKED_NCA,
    STACKED_RIVALS,
    TOGETHER,
    Split,
    errors,
)
from reproduce._frame import Row

PAPER = "Wang, Yang and Feng: On Learning with Dissimilarity Functions (2007); errors in %"

_FOLDS = 5
# The sets of the first mean; the Monks, satimage and letter have their own splits.
_FIFTEEN = (
    "iris_uci",
    "wine",
    "hayes_roth",
    "hepatitis",
    "echocardiogram",
    "cleveland",
    "liver",
    "ionosphere",
    "balance",
    "breast",
    "diabetes",
    "german",
    "vehicle",
    "vowel",
    "image",
)
_OWN_SPLIT = ("monk1", "monk2", "monk3", "satimage", "letter")
_TABLES, _DIGITS = "UCI", "USPS"
_N_PROTOTYPES = {_TABLES: 30, _DIGITS: 200}  # of the DBoost with a limit, by kind of setting
_FEW_DIGITS = 2_000


@dataclass(frozen=True)
class Setting:
    """Distances under one protocol; `published` has approximate errors by method."""

    name: str
    splits: Callable[[], Iterator[Split]]
    published: dict[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def n_prototypes(self) -> int:
        """Number of prototypes of the DBoost with a limit."""
        return next((n for kind, n in _N_PROTOTYPES.items() if self.name.startswith(kind)), 30)


def rows(only: str = "") -> Iterator[Row]:
    """Yield the errors of each setting with `only` in its name."""
    for setting in _SETTINGS:
        if only.lower() not in setting.name.lower():
            continue
        found: dict[str, list[float]] = {}
        n_rows, n_splits = 0, 0
        try:
            for split in setting.splits():
                n_rows, n_splits = len(split.y), n_splits + 1
                for method, error in errors(split, setting.n_prototypes):
                    found.setdefault(method, []).append(100 * error)
        except (DatasetUnavailableError, MissingExtraError) as error:
            yield Row(setting.name, "all", None, None, note=str(error))
            continue
        parts = "one split" if n_splits == 1 else f"{n_splits} splits"
        note = f"{parts} of {n_rows} rows; {setting.note}".rstrip("; ")
        for method, values in found.items():
            published = setting.published.get(method)
            mean, deviation = float(np.mean(values)), float(np.std(values))
            is_known = published is not None
            yield Row(setting.name, method, published, mean, deviation, note, about=is_known)


_SINGLE = ["NN", *RIVALS, "DBoost untuned", "DBoost, 30 prototypes", "DBoost, 200 prototypes"]
_SINGLE.append("DBoost")
_COMBINED = [*(f"{name}{TOGETHER}" for name in [*RIVALS, "DBoost"]), STACKED_RIVALS, STACKED]
_COMBINED.extend([AFTER_NCA, STACKED_NCA])


def tables(rows: list[Row]) -> Iterator[Table]:
    """Yield the errors, a line for each setting: of single candidates, then of several together.

    Means of the UCI sets follow once all of them are measured, also in separate runs.
    """
    order = [setting.name for setting in _SETTINGS]
    rows = sorted(rows, key=lambda row: order.index(row.setting) if row.setting in order else -1)
    measured = [row for row in rows if row.ours is not None]
    means = [*_means(measured, _FIFTEEN), *_means(measured, _FIFTEEN + _OWN_SPLIT)]
    for methods in (_SINGLE, _COMBINED):
        yield _wide([*measured, *means], [*methods])
    missing = [(row.setting, row.note) for row in rows if row.ours is None]
    if missing:
        yield Table(("setting", "not measured"), missing)
    published = [row for row in measured if row.published is not None]
    if published:
        lines = [
            (row.setting, row.method, f"about {row.published:g}", f"{row.ours:.2f}")
            for row in published
        ]
        yield Table(("setting", "method", "published", "ours"), lines)


def _means(rows: list[Row], sets: tuple[str, ...]) -> Iterator[Row]:
    """Yield the mean error of each method that was measured on all of the sets."""
    names = {f"{_TABLES} {name}" for name in sets}
    for method in dict.fromkeys(row.method for row in rows):
        of_sets = [row.ours for row in rows if row.setting in names and row.method == method]
        if len(of_sets) == len(sets):
            mean = float(np.mean([value for value in of_sets if value is not None]))
            yield Row(f"{_TABLES} mean of {len(sets)}", method, None, mean)


def _wide(rows: list[Row], methods: list[str]) -> Table:
    """Return a line for each setting, with its splits and a column for each measured method."""
    methods = [method for method in methods if any(row.method == method for row in rows)]
    lines = []
    for setting in dict.fromkeys(row.setting for row in rows):
        of_setting = {row.method: row for row in rows if row.setting == setting}
        splits = next(iter(of_setting.values())).note
        lines.append((setting, splits, *(_cell(of_setting.get(method)) for method in methods)))
    return Table(("setting", "splits", *methods), lines)


def _cell(row: Row | None) -> str:
    if row is None or row.ours is None:
        return "–"
    return f"{row.ours:.2f}" + (f" ± {row.deviation:.1f}" if row.deviation else "")


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield bar charts of the errors on the sets of the paper, and on USPS by levels and noise."""
    shown = ["NN", *_COMBINED[:7]]
    for title, prefix in (("uci", _TABLES), ("usps", _DIGITS), ("others", "strings and series")):
        chosen = [
            row
            for row in rows
            if row.ours is not None and row.setting.startswith(prefix) and row.method in shown
        ]
        if chosen:
            yield title, _bars(chosen, prefix)


def _bars(rows: list[Row], prefix: str) -> Any:
    from matplotlib.figure import Figure

    settings = list(dict.fromkeys(row.setting for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    figure = Figure(figsize=(max(6, 0.7 * len(settings)), 4), layout="constrained")
    ax = figure.subplots()
    for number, method in enumerate(methods):
        found = {row.setting: row.ours or 0.0 for row in rows if row.method == method}
        places = [place for place, name in enumerate(settings) if name in found]
        at = [place + 0.8 * (number / len(methods) - 0.5) for place in places]
        heights = [found[settings[place]] for place in places]
        ax.bar(at, heights, 0.8 / len(methods), label=method)
    names = [name.removeprefix(prefix).strip(" :,") for name in settings]
    ax.set_xticks(range(len(settings)), names, rotation=40, ha="right", fontsize=8)
    ax.set(ylabel="test error, %", title=prefix)
    ax.legend(fontsize=8)
    return figure


def _compared(dissimilarity: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Split:
    measure = as_similarity(dissimilarity, is_distance=True).fitted(X)
    return Split(dissimilarities(measure, X, X), y, dissimilarities(measure, X_test, X), y_test)


def _folds(name: str) -> Iterator[Split]:
    """Yield splits of Euclidean distances, with columns scaled by the training part."""
    from sklearn.model_selection import StratifiedKFold

    data = load(name)
    X, y = data.X, data.y
    if data.X_test is not None:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(X, y):
        yield _by_euclid(X[train], y[train], X[test], y[test])


def _own_split(name: str) -> Iterator[Split]:
    """Yield the split of the set, by Euclidean distance; nominal codes are one-hot."""
    data = load(name)
    X, X_test = data.X, data.X_test
    if "X_onehot" in data.extra:
        X, X_test = data.extra["X_onehot"], data.extra["X_test_onehot"]
    yield _by_euclid(X, data.y, X_test, data.y_test)


def _by_euclid(X: Any, y: Any, X_test: Any, y_test: Any) -> Split:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    return _compared("euclidean", X, y, X_test, y_test)._replace(X=X, X_test=X_test)


def _digits(dissimilarity: Any, noise: float = 0.0, n_train: int | None = None) -> Iterator[Split]:
    data = load("usps")
    rng = np.random.default_rng(0)
    train = rng.permutation(len(data.y))[:n_train]
    X, X_test = (np.asarray(part, dtype=np.float64) for part in (data.X[train], data.X_test))
    X, X_test = (part + noise * rng.normal(size=part.shape) for part in (X, X_test))
    split = _compared(dissimilarity, X, data.y[train], X_test, data.y_test)
    yield split._replace(X=X, X_test=X_test) if dissimilarity == "euclidean" else split


def _series(name: str) -> Iterator[Split]:
    data = load(name)
    yield _compared("dtw", data.X, data.y, data.X_test, data.y_test)


def _strings(name: str, dissimilarity: str, n_train: int, n_test: int) -> Iterator[Split]:
    data = load(name)
    strings = data.extra["sequences"].tolist() if "sequences" in data.extra else data.X
    order = np.random.default_rng(0).permutation(len(strings))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    X, X_test = ([strings[i] for i in part] for part in (train, test))
    yield _compared(dissimilarity, X, data.y[train], X_test, data.y[test])


_OF_DIGITS: dict[str, tuple[Any, ...]] = {
    "Euclid": ("euclidean",),
    "fuzzy image": ("fuzzy_image",),
    "blurred image": ("image",),
    "tangent": ("tangent",),
    **{f"{levels} levels": (quantize("euclidean", levels),) for levels in (2, 3, 5, 10)},
    **{f"noise {deviation}": ("euclidean", deviation) for deviation in (0.25, 0.5, 1.0)},
}
_SETTINGS = [
    *(Setting(f"{_TABLES} {name}", partial(_folds, name)) for name in _FIFTEEN),
    *(
        Setting(f"{_TABLES} {name}", partial(_own_split, name), note="its own split")
        for name in _OWN_SPLIT
    ),
    *(
        Setting(f"{_DIGITS}, {name}, 2,000 rows", partial(_digits, *how, n_train=_FEW_DIGITS))
        for name, how in _OF_DIGITS.items()
    ),
    *(
        Setting(
            f"{_DIGITS}, {name}, all rows",
            partial(_digits, *how),
            {"NN": 2.5} if name == "tangent" else {},  # by Simard and others (1993)
        )
        for name, how in _OF_DIGITS.items()
    ),
    *(
        Setting(f"strings and series: {name}, dtw", partial(_series, name))
        for name in (
            "ts_gunpoint",
            "ts_arrowhead",
            "ts_italypowerdemand",
            "ts_coffee",
            "ts_japanesevowels",
        )
    ),
    Setting(
        "strings and series: surnames, levenshtein",
        partial(_strings, "surnames", "levenshtein", 2_000, 2_000),
        note="18 languages",
    ),
    Setting(
        "strings and series: splice, levenshtein",
        partial(_strings, "splice", "levenshtein", 2_000, 1_190),
    ),
    Setting(
        "strings and series: promoters, smith_waterman",
        partial(_strings, "promoters", "smith_waterman", 80, 26),
    ),
]
