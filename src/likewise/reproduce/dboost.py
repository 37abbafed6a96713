"""DBoost beside nearest neighbours and the rivals of its paper, all from the same dissimilarities.

Every method gets only the matrices of dissimilarities, training × training and test × training,
and whatever it has to choose it chooses within the training part.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise import datasets
from likewise.classifiers import DBoost
from likewise.distances import TangentDistance, as_dissimilarity, quantize
from likewise.exceptions import DatasetUnavailableError, MissingExtraError
from likewise.features import DissimilaritySpace
from likewise.reproduce._frame import Row

PAPER = "Wang, Yang and Feng: On Learning with Dissimilarity Functions (2007); errors in %"

# What DBoost chooses from: as printed, or slow, and then shallow or deep; of d or of its square,
# with which a split of Euclid's distances is a plane.
_CHOICES = (
    {"learning_rate": 1.0, "max_depth": 1, "n_pairs": 50, "n_rounds": 500},
    {"learning_rate": 0.1, "max_depth": 1, "n_pairs": 10, "n_rounds": 600},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 10, "n_rounds": 300},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 50, "n_rounds": 300},
)
_POWERS = (1, 2)
_FOLDS, _RIVALS_FOLDS, _BOOSTING_FOLDS = 5, 3, 5
# Above so many rows one part is held out instead of each in turn.
_ROWS_FOR_RIVALS_FOLDS, _ROWS_FOR_BOOSTING_FOLDS = 1_000, 2_000
_STEPS = 20  # in which choices are weighed
_MOST_ROWS_FOR_RIVALS = 4_000  # support vectors and their grids take hours beyond
# The sets of which the mean is taken; the Monks, satimage and letter have splits of their own.
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

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # D, y, D_test, y_test


@dataclass(frozen=True)
class Setting:
    """Dissimilarities under one protocol; `published` has errors by method."""

    name: str
    splits: Callable[[], Iterator[Split]]
    methods: tuple[str, ...]
    published: dict[str, float] = field(default_factory=dict)
    note: str = ""


def rows(only: str = "") -> Iterator[Row]:
    """Yield the errors, setting by setting; of settings with `only` in their name."""
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
            found = [_METHODS[method](*split) for split in splits]
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
    """Yield the errors on the sets of the paper, and on USPS in levels and noise, as bars."""
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


def _nearest(D: np.ndarray, y: np.ndarray, D_test: np.ndarray, y_test: np.ndarray) -> float:
    return float(np.mean(y[D_test.argmin(axis=1)] != y_test))


def _tuned(make: Callable[[np.ndarray], tuple[Any, dict[str, list[Any]]]], *split: Any) -> float:
    """Return the error of a pipeline whose grid was searched within the training part."""
    from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

    D, y, D_test, y_test = split
    if len(y) > _MOST_ROWS_FOR_RIVALS:
        return float("nan")
    one_part = ShuffleSplit(1, test_size=0.2, random_state=0)
    folds = StratifiedKFold(_RIVALS_FOLDS, shuffle=True, random_state=0)
    pipeline, grid = make((1 - 1 / _RIVALS_FOLDS) * np.unique(y, return_counts=True)[1])
    cv = folds if len(y) <= _ROWS_FOR_RIVALS_FOLDS else one_part
    fitted = GridSearchCV(pipeline, grid, cv=cv).fit(D, y)
    return float(np.mean(fitted.predict(D_test) != y_test))


def _up_to(most: float, *sizes: int) -> list[int]:
    return sorted({max(1, min(size, int(most))) for size in sizes})


def _rldc(counts: np.ndarray) -> tuple[Any, dict[str, list[Any]]]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline

    space = DissimilaritySpace("precomputed", random_state=0)
    return make_pipeline(space, LinearDiscriminantAnalysis(solver="lsqr")), {
        "dissimilarityspace__n_prototypes": _up_to(counts.sum() - 1, 30, 200),
        "lineardiscriminantanalysis__shrinkage": [0.001, 0.03, 0.3],
    }


def _rqdc(counts: np.ndarray) -> tuple[Any, dict[str, list[Any]]]:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    space = DissimilaritySpace("precomputed", random_state=0)
    return make_pipeline(space, StandardScaler(), QuadraticDiscriminantAnalysis()), {
        "dissimilarityspace__n_prototypes": _up_to(counts.min() - 2, 8, 20, 50),
        "quadraticdiscriminantanalysis__reg_param": [0.03, 0.2, 0.6],
    }


def _balcan_blum(counts: np.ndarray) -> tuple[Any, dict[str, list[Any]]]:
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    space = DissimilaritySpace("precomputed", random_state=0)
    return make_pipeline(space, SVC(kernel="linear", cache_size=500)), {
        "dissimilarityspace__n_prototypes": _up_to(counts.sum() - 1, 300),
        "dissimilarityspace__width": [0.35, 0.7, 1.4],
        "svc__C": [0.5, 5.0, 50.0],
    }


def _boosted(
    D: np.ndarray, y: np.ndarray, D_test: np.ndarray, y_test: np.ndarray, **options: Any
) -> float:
    fitted = DBoost("precomputed", random_state=0, **options).fit(D, y)
    return float(np.mean(fitted.predict(D_test) != y_test))


def _boosted_tuned(
    D: np.ndarray, y: np.ndarray, D_test: np.ndarray, y_test: np.ndarray
) -> dict[str, float]:
    """Return errors of DBoost with all it can choose chosen on rows held out of training.

    That is the best of the choices by its loss there, and the mean of some, weighed there.
    """
    classes, labels = np.unique(y, return_inverse=True)
    by_folds = len(y) <= _ROWS_FOR_BOOSTING_FOLDS
    stopping = _BOOSTING_FOLDS if by_folds else True
    chosen = DBoost("precomputed", early_stopping=stopping, refit=not by_folds, random_state=0)
    losses, without, shares = [], [], []
    for power, choice in product(_POWERS, _CHOICES):
        fitted = clone(chosen).set_params(**choice).fit(D**power, y)
        losses.append(fitted.validation_loss_)
        without.append(fitted.validation_shares_)
        shares.append(fitted.predict_proba(D_test**power))
    held_out = np.isfinite(without[0][:, 0])
    weights = _weighed([part[held_out] for part in without], labels[held_out])
    together = np.tensordot(weights, shares, axes=1)
    return {
        name: float(np.mean(classes[found.argmax(axis=1)] != y_test))
        for name, found in (
            ("DBoost", shares[int(np.argmin(losses))]),
            ("DBoost, choices together", together),
        )
    }


def _weighed(shares: list[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Return weights for choices: one is added at a time, that after which the loss is least."""
    counts, total = np.zeros(len(shares)), np.zeros_like(shares[0])
    every = np.arange(len(labels))
    for step in range(1, _STEPS + 1):
        own = [((total + part) / step)[every, labels] for part in shares]
        best = int(np.argmin([-np.log(np.maximum(part, 1e-12)).mean() for part in own]))
        counts[best] += 1
        total += shares[best]
    return counts / _STEPS


def _named(name: str, measure: Callable[..., float]) -> Callable[..., dict[str, float]]:
    return lambda *split: {name: measure(*split)}


_ALONE: dict[str, Callable[..., float]] = {
    "NN": _nearest,
    "RLDC": partial(_tuned, _rldc),
    "RQDC": partial(_tuned, _rqdc),
    "Balcan-Blum": partial(_tuned, _balcan_blum),
    "DBoost untuned": _boosted,
    "DBoost, 30 prototypes": partial(_boosted, n_prototypes=30),
    "DBoost, 200 prototypes": partial(_boosted, n_prototypes=200),
}
_METHODS: dict[str, Callable[..., dict[str, float]]] = {
    **{name: _named(name, measure) for name, measure in _ALONE.items()},
    "DBoost": _boosted_tuned,
}
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
    measure = as_dissimilarity(dissimilarity).fitted(X)
    return measure.pairwise(X), y, measure.pairwise(X_test, X), y_test


def _folds(name: str) -> Iterator[Split]:
    """Yield five-fold splits by Euclid; columns in units of the training part."""
    from sklearn.model_selection import StratifiedKFold

    data = datasets.load(name)
    X, y = data.X, data.y
    if data.X_test is not None:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    for train, test in StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(X, y):
        yield _by_euclid(X[train], y[train], X[test], y[test])


def _own_split(name: str) -> Iterator[Split]:
    """Yield the one split that a set comes with, by Euclid; of nominal codes one column each."""
    data = datasets.load(name)
    X, X_test = data.X, data.X_test
    if "X_onehot" in data.extra:
        X, X_test = data.extra["X_onehot"], data.extra["X_test_onehot"]
    yield _by_euclid(X, data.y, X_test, data.y_test)


def _by_euclid(X: Any, y: Any, X_test: Any, y_test: Any) -> Split:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    return _compared("euclidean", scaler.transform(X), y, scaler.transform(X_test), y_test)


def _digits(dissimilarity: Any, noise: float = 0.0, n_train: int = 2_000) -> Iterator[Split]:
    data = datasets.load("usps")
    rng = np.random.default_rng(0)
    train = rng.permutation(len(data.y))[:n_train]
    X, X_test = (np.asarray(part, dtype=np.float64) for part in (data.X[train], data.X_test))
    X, X_test = (part + noise * rng.normal(size=part.shape) for part in (X, X_test))
    yield _compared(dissimilarity, X, data.y[train], X_test, data.y_test)


def _all_digits() -> Iterator[Split]:
    """Yield the whole of USPS by tangent distance to training rows, for neighbours alone."""
    data = datasets.load("usps")
    found = TangentDistance().pairwise(data.X_test, data.X)
    yield np.empty((len(data.y), 0)), data.y, found, np.asarray(data.y_test)


def _series(name: str) -> Iterator[Split]:
    data = datasets.load(name)
    yield _compared("dtw", data.X, data.y, data.X_test, data.y_test)


def _strings(name: str, dissimilarity: str, n_train: int, n_test: int) -> Iterator[Split]:
    data = datasets.load(name)
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
    *(
        Setting(
            f"UCI {name}", partial(_own_split, name), ("NN", "DBoost untuned"), note="its split"
        )
        for name in ("satimage", "letter")
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
