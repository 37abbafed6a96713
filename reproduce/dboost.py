"""DBoost, nearest neighbors and the other methods of its paper, on the same distances.

Every method gets only the matrices of dissimilarities, training × training and test × training,
and whatever it has to choose it chooses within the training part.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from likewise.exceptions import DatasetUnavailableError, MissingExtraError
from likewise.similarities import as_similarity, dissimilarities
from likewise.similarities.distances import TangentDistance, quantize
from reproduce._datasets import load
from reproduce._distance_methods import METHODS, Split
from reproduce._frame import Row

PAPER = "Wang, Yang and Feng: On Learning with Dissimilarity Functions (2007); errors in %"

_FOLDS = 5
# The sets of the mean; the Monks, satimage and letter have their own splits.
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


@dataclass(frozen=True)
class Setting:
    """Distances under one protocol; `published` has errors by method."""

    name: str
    splits: Callable[[], Iterator[Split]]
    methods: tuple[str, ...]
    published: dict[str, float] = field(default_factory=dict)
    note: str = ""


def rows(only: str = "") -> Iterator[Row]:
    """Yield the errors of each setting with `only` in its name."""
    of_fifteen: dict[str, list[float]] = {}
    for setting in _SETTINGS:
        if only.lower() not in setting.name.lower():
            continue
        try:
            splits = list(setting.splits())
        except (DatasetUnavailableError, MissingExtraError) as error:
            yield Row(setting.name, "all", None, None, note=str(error))
            continue
        note = f"{len(splits)} splits of {len(splits[0][1])} rows; {setting.note}".rstrip("; ")
        for method in setting.methods:
            found = [METHODS[method](*split) for split in splits]
            for name in found[0]:
                errors = [100 * of_split[name] for of_split in found]
                mean, deviation = float(np.mean(errors)), float(np.std(errors))
                yield Row(setting.name, name, setting.published.get(name), mean, deviation, note)
                if setting.name.removeprefix("UCI ") in _FIFTEEN:
                    of_fifteen.setdefault(name, []).append(mean)
        if setting.name == f"UCI {_FIFTEEN[-1]}" and len(of_fifteen["NN"]) == len(_FIFTEEN):
            for method, means in of_fifteen.items():
                mean = float(np.mean(means))
                yield Row("UCI mean of 15", method, None, mean, note="of the sets above")


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield bar charts of the errors on the sets of the paper, and on USPS by levels and noise."""
    for title, prefix in (("uci", "UCI"), ("usps", "USPS"), ("others", "strings and series")):
        chosen = [row for row in rows if row.ours is not None and row.setting.startswith(prefix)]
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


_ON_TABLES = (
    "NN",
    "RLDC",
    "RQDC",
    "Balcan-Blum",
    "DBoost untuned",
    "DBoost, 30 prototypes",
    "DBoost",
)
_ON_DIGITS = ("NN", "RLDC", "Balcan-Blum", "DBoost untuned", "DBoost, 200 prototypes", "DBoost")
_ON_OBJECTS = ("NN", "RLDC", "Balcan-Blum", "DBoost untuned", "DBoost")


def _compared(dissimilarity: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Split:
    measure = as_similarity(dissimilarity, is_distance=True).fitted(X)
    return dissimilarities(measure, X, X), y, dissimilarities(measure, X_test, X), y_test


def _folds(name: str) -> Iterator[Split]:
    """Yield five splits of Euclidean distances, with columns scaled by the training part."""
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
    return _compared("euclidean", scaler.transform(X), y, scaler.transform(X_test), y_test)


def _digits(dissimilarity: Any, noise: float = 0.0, n_train: int = 2_000) -> Iterator[Split]:
    data = load("usps")
    rng = np.random.default_rng(0)
    train = rng.permutation(len(data.y))[:n_train]
    X, X_test = (np.asarray(part, dtype=np.float64) for part in (data.X[train], data.X_test))
    X, X_test = (part + noise * rng.normal(size=part.shape) for part in (X, X_test))
    yield _compared(dissimilarity, X, data.y[train], X_test, data.y_test)


def _all_digits() -> Iterator[Split]:
    """Yield all of USPS by tangent distance to training rows, for nearest neighbors only."""
    data = load("usps")
    found = TangentDistance().distance(data.X_test, data.X)
    yield np.empty((len(data.y), 0)), data.y, found, np.asarray(data.y_test)


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


_SETTINGS = [
    *(Setting(f"UCI {name}", partial(_folds, name), _ON_TABLES) for name in _FIFTEEN),
    *(
        Setting(f"UCI {name}", partial(_own_split, name), _ON_TABLES, note="its own split, one-hot")
        for name in ("monk1", "monk2", "monk3")
    ),
    Setting("UCI satimage", partial(_own_split, "satimage"), _ON_OBJECTS, note="its own split"),
    Setting(
        "UCI letter",
        partial(_own_split, "letter"),
        ("NN", "DBoost untuned", "DBoost"),
        note="its own split, too large for the rivals' grids",
    ),
    *(
        Setting(
            f"USPS, {levels} levels", partial(_digits, quantize("euclidean", levels)), _ON_DIGITS
        )
        for levels in (2, 3, 5, 10)
    ),
    Setting("USPS, Euclid", partial(_digits, "euclidean"), _ON_DIGITS),
    Setting("USPS, image", partial(_digits, "image"), _ON_DIGITS),
    Setting("USPS, tangent", partial(_digits, "tangent"), _ON_DIGITS),
    *(
        Setting(f"USPS, noise {sd}", partial(_digits, "euclidean", sd), _ON_DIGITS)
        for sd in (0.25, 0.5, 1.0)
    ),
    Setting(
        "USPS, tangent, all rows",
        _all_digits,
        ("NN",),
        {"NN": 2.5},
        "published by Simard and others, about",
    ),
    *(
        Setting(f"strings and series: {name}, dtw", partial(_series, name), _ON_OBJECTS)
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
        _ON_OBJECTS,
        note="18 languages",
    ),
    Setting(
        "strings and series: splice, levenshtein",
        partial(_strings, "splice", "levenshtein", 2_000, 1_190),
        _ON_OBJECTS,
    ),
    Setting(
        "strings and series: promoters, smith_waterman",
        partial(_strings, "promoters", "smith_waterman", 80, 26),
        _ON_OBJECTS,
    ),
]
