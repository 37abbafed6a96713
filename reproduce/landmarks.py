"""Landmarks: native features, similarity features and both, with Winnow, beside NN and an SVM."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from likewise.classifiers import (
    BalancedWinnow,
    SimilarityClassifier,
    SimilarityFeatureClassifier,
)
from likewise.evaluation import goodness
from likewise.exceptions import DatasetUnavailableError
from likewise.features import LandmarkFeatures, MedianBinarizer
from reproduce._datasets import load
from reproduce._frame import Row
from reproduce._landmark_curves import blobs_and_line, circle, curves, irrelevant_features

PAPER = (
    "Rwebangira and Blum: Learning by Combining Native Features with Similarity Functions "
    "(CMU-CS-09-107, 2009); % right"
)

# Tables 5.1 and 6.3. Webmaster, 582 × 1406 (82.0, 71.8, 72.5, 69.9, 81.2), is not available.
_METHODS = ("Winnow", "SVM", "NN", "SIM", "Winnow+SIM")
_BOOK = ("ssl_digit1", "ssl_usps", "ssl_text")
_PUBLISHED = {
    "Congress": (93.79, 94.93, 90.8, 90.90, 92.24),
    "Credit": (78.50, 55.52, 61.5, 59.10, 77.36),
    "Wisc": (95.03, 94.51, 95.3, 93.65, 94.49),
    "Digit1": (73.26, 88.79, 94.0, 94.21, 91.31),
    "USPS": (71.85, 74.21, 92.0, 86.72, 88.57),
    "Credit+Digit1": (72.41, 51.74, 75.46, 74.25, 83.95),
}
_TRIALS, _N_LABELED, _LANDMARKS = 10, 100, 200
_GOODNESS = "Figure 3.2, Digit1"

Split = tuple[np.ndarray, np.ndarray]  # rows with a label, and test rows
_margins: dict[str, Any] = {}  # of the similarities, for the figure of goodness


def rows(only: str = "") -> Iterator[Row]:
    """Yield the tables, then the semi-supervised splits and the synthetic sets.

    With `only`, those whose setting has this text in it.
    """

    def wanted(setting: str) -> bool:
        return only.lower() in setting.lower()

    for name in filter(wanted, [*_PUBLISHED, "ssl_text"]):
        try:
            X, y = _table(name)
        except DatasetUnavailableError as error:
            yield Row(name, "all", None, None, note=str(error))
            continue
        note = f"{X.shape[0]} × {X.shape[1]}; {_TRIALS} splits, {_N_LABELED} labels"
        yield from _measured(name, X, y, list(_random_splits(y)), note)
    for name in _BOOK:
        yield from _book_splits(name, wanted)
    yield from circle(wanted)
    yield from blobs_and_line(wanted)
    if wanted(_GOODNESS):
        yield from _goodness()
    yield from irrelevant_features(wanted)


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield Table 5.1 as bars, the curves on synthetic sets, and goodness."""
    from matplotlib.figure import Figure

    tables = [row for row in rows if row.setting in _PUBLISHED and row.ours is not None]
    if tables:
        yield "table", _bars(tables)
    drawn = list(curves(rows))
    if _margins:
        drawn.append(("goodness", "share of examples", "margin", _margins))
    for title, x_label, y_label, by_method in drawn:
        figure = Figure(figsize=(6, 4), layout="constrained")
        ax = figure.subplots()
        for label, (x, values, deviations) in by_method.items():
            ax.errorbar(x, values, yerr=deviations, label=label, capsize=2)
        ax.set(xlabel=x_label, ylabel=y_label, title=title)
        if title != "goodness":
            ax.set_xscale("log")
            ax.set_xticks(x, [f"{value:,}" for value in x])
            ax.minorticks_off()
        if title == "mistakes":
            ax.set_yscale("log")
        ax.legend(fontsize=7)
        yield title, figure


def _bars(tables: list[Row]) -> Any:
    from matplotlib.figure import Figure

    methods = list(dict.fromkeys(row.method for row in tables))
    settings = list(dict.fromkeys(row.setting for row in tables))
    figure = Figure(figsize=(10, 4), layout="constrained")
    ax = figure.subplots()
    for number, method in enumerate(methods):
        of_method = {row.setting: row.ours or 0.0 for row in tables if row.method == method}
        places = [i for i, name in enumerate(settings) if name in of_method]
        at = [place + 0.8 * (number / len(methods) - 0.5) for place in places]
        ax.bar(at, list(of_method.values()), 0.8 / len(methods), label=method)
    ax.set_xticks(range(len(settings)), settings)
    ax.set(ylim=(50, 100), ylabel="% right", title="100 labels, 200 landmarks")
    figure.legend(loc="outside lower center", fontsize=8, ncols=4)
    return figure


def _table(name: str) -> tuple[Any, np.ndarray]:
    """Return rows and labels, 0 and 1, of one of the paper's sets."""
    if name == "Credit+Digit1":
        (credit, y_credit), (digits, y_digits) = _table("Credit"), _table("Digit1")
        some = np.random.default_rng(0).permutation(len(digits))[: len(credit)]
        X = np.zeros((2 * len(credit), credit.shape[1] + digits.shape[1]))
        X[: len(credit), : credit.shape[1]] = credit
        X[len(credit) :, credit.shape[1] :] = digits[some]
        return X, np.concatenate([y_credit, y_digits[some]])
    stored = {
        "Congress": "votes",
        "Credit": "credit",
        "Wisc": "breast",
        "Digit1": "ssl_digit1",
        "USPS": "ssl_usps",
    }
    data = load(stored.get(name, name))
    X = data.extra["X_onehot"] if name == "Wisc" else data.X
    return X.astype(np.float64), np.unique(data.y, return_inverse=True)[1]


def _random_splits(y: np.ndarray) -> Iterator[Split]:
    for seed in range(_TRIALS):
        order = np.random.default_rng(seed).permutation(len(y))
        yield order[:_N_LABELED], order[_N_LABELED:]


def _measured(
    name: str, X: Any, y: np.ndarray, splits: list[Split], note: str, methods: Any = None
) -> Iterator[Row]:
    published = dict(zip(_METHODS, _PUBLISHED.get(name, ()), strict=False))
    for method, predict in (methods or _PREDICTORS).items():
        right = [
            100 * np.mean(predict(X, y, labeled, tested, seed) == y[tested])
            for seed, (labeled, tested) in enumerate(splits)
        ]
        mean, deviation = float(np.mean(right)), float(np.std(right))
        yield Row(name, method, published.get(method), mean, deviation, note)


def _booleans(X: Any) -> Any:
    """Return native features as booleans, without constant columns."""
    dense = X.toarray() if hasattr(X, "toarray") else X
    varying = X[:, np.flatnonzero(np.ptp(dense, axis=0))]
    return MedianBinarizer().fit_transform(varying)


def _landmarks(X: Any, seed: int, **options: Any) -> Any:
    """Return the similarity features of all rows."""
    features = LandmarkFeatures(
        "ranked", _LANDMARKS, keep_native=False, random_state=seed, **options
    )
    return features.fit_transform(X)


def _joined(native: Any, similar: np.ndarray) -> Any:
    if not hasattr(native, "tocsr"):
        return np.hstack([native, similar])
    from scipy.sparse import csr_array, hstack

    return hstack([native, csr_array(similar)], format="csr")


def _trained(classifier: Any, features: Any, y: Any, labeled: Any, tested: Any) -> np.ndarray:
    return classifier.fit(features[labeled], y[labeled]).predict(features[tested])


def _winnow(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    return _trained(BalancedWinnow(), _booleans(X), y, labeled, tested)


def _sim(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    return _trained(BalancedWinnow(), _landmarks(X, seed, boolean=0.1), y, labeled, tested)


def _both(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    features = _joined(_booleans(X), _landmarks(X, seed, boolean=0.1))
    return _trained(BalancedWinnow(), features, y, labeled, tested)


def _nearest(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    return _trained(SimilarityClassifier(n_neighbors=1), X, y, labeled, tested)


def _svm(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    from sklearn.svm import SVC

    # SVMlight's standard settings: a linear kernel, and C = 1 / the mean of |x|².
    known = X[labeled]
    squares = known.multiply(known).sum(axis=1) if hasattr(known, "multiply") else (known**2).sum(1)
    return _trained(SVC(kernel="linear", C=1 / np.mean(squares)), X, y, labeled, tested)


def _chosen(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    return _semi_supervised(
        SimilarityFeatureClassifier(random_state=seed, n_landmarks=_LANDMARKS),
        X,
        y,
        labeled,
        tested,
    )


def _semi_supervised(model: Any, X: Any, y: Any, labeled: Any, tested: Any) -> np.ndarray:
    """Fit on all rows; −1 marks rows without a label."""
    known = np.full(len(y), -1)
    known[labeled] = y[labeled]
    return model.fit(X, known).predict(X[tested])


def _spreading(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    from sklearn.semi_supervised import LabelSpreading

    dense = X.toarray() if hasattr(X, "toarray") else X
    model = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=200)
    with np.errstate(invalid="ignore"):  # rows that are not connected to a label
        return _semi_supervised(model, dense, y, labeled, tested)


def _self_training(X: Any, y: Any, labeled: Any, tested: Any, seed: int) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.semi_supervised import SelfTrainingClassifier

    model = SelfTrainingClassifier(make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000)))
    return _semi_supervised(model, X, y, labeled, tested)


_PREDICTORS: dict[str, Callable[..., np.ndarray]] = {
    "Winnow": _winnow,
    "SVM": _svm,
    "NN": _nearest,
    "SIM": _sim,
    "Winnow+SIM": _both,
    "chosen on the labels": _chosen,
    "LabelSpreading": _spreading,
    "SelfTraining": _self_training,
}
_CHOSEN_AND_PEERS = ("Winnow", "NN", "chosen on the labels", "LabelSpreading", "SelfTraining")


def _book_splits(name: str, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Yield the 10- and 100-label splits of Chapelle, Schölkopf and Zien (2006)."""
    settings = {f"{name}, {n_labels} labels": n_labels for n_labels in (10, 100)}
    settings = {setting: n_labels for setting, n_labels in settings.items() if wanted(setting)}
    if not settings:
        return
    methods = {method: _PREDICTORS[method] for method in _CHOSEN_AND_PEERS}
    try:
        data = load(name)
    except DatasetUnavailableError as error:
        yield Row(name, "all", None, None, note=str(error))
        return
    X, y = data.X.astype(np.float64), np.unique(data.y, return_inverse=True)[1]
    every = np.arange(len(y))
    for setting, n_labels in settings.items():
        chosen = np.asarray(data.extra[f"labeled{n_labels}"], dtype=np.int64)
        splits = [(labeled, np.setdiff1d(every, labeled)) for labeled in chosen]
        yield from _measured(setting, X, y, splits, f"the book's {len(splits)} splits", methods)


def _goodness() -> Iterator[Row]:
    """Yield Figures 3.1 and 3.2: the margins of the naive and the ranked similarity on Digit1."""
    try:
        X, y = _table("Digit1")
    except DatasetUnavailableError as error:
        yield Row(_GOODNESS, "all", None, None, note=str(error))
        return
    for kind in ("naive", "ranked"):
        report = goodness(kind, X, y)
        gammas = report.curve[0]
        _margins[kind] = np.arange(1, len(gammas) + 1) / len(gammas), gammas, None
        note = f"mean margin; {report.sentence}"
        yield Row(_GOODNESS, kind, None, float(gammas.mean()), None, note)
