"""Probabilities and prediction sets: log-loss, calibration error and coverage, before and after."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from likewise import datasets
from likewise.classifiers import DBoost, SimilarityClassifier
from likewise.exceptions import DatasetUnavailableError
from likewise.learners import LMNN, SiLA
from reproduce._frame import Row

PAPER = (
    "calibrated probabilities and prediction sets; log-loss, expected calibration error (ten bins "
    "of the highest probability) and coverage of sets at alpha=0.1"
)

_SETTINGS = ("balance", "ionosphere")
_N_SPLITS, _TEST_SHARE, _N_BINS, _ALPHA = 5, 0.4, 10, 0.1
_KINDS = ("none", "sigmoid", "isotonic")
_METHODS: dict[str, Callable[..., Any]] = {
    "majority": lambda **options: SimilarityClassifier(n_neighbors=5, **options),
    "SiLA, symmetric": lambda **options: SimilarityClassifier(
        learner=SiLA(), rule="symmetric", **options
    ),
    "LMNN, energy": lambda **options: SimilarityClassifier(
        learner=LMNN(), rule="energy", **options
    ),
    "DBoost": lambda **options: DBoost(n_rounds=200, random_state=0, **options),
}


def rows(only: str = "") -> Iterator[Row]:
    """Yield the three figures of every method and calibration, set by set."""
    for name in _SETTINGS:
        if only.lower() not in name:
            continue
        try:
            data = datasets.load(name)
        except DatasetUnavailableError as error:
            yield Row(name, "all", None, None, note=str(error))
            continue
        for method, make in _METHODS.items():
            for kind in _KINDS:
                values = [_figures(make(calibrate=kind), data, seed) for seed in range(_N_SPLITS)]
                for measure in values[0]:
                    found = [figures[measure] for figures in values]
                    yield Row(
                        name,
                        f"{method}, calibrate={kind}: {measure}",
                        None,
                        float(np.mean(found)),
                        float(np.std(found)),
                        f"{_N_SPLITS} splits",
                    )


def figures(rows: list[Row]) -> Iterable[tuple[str, Any]]:
    """Yield no figures."""
    return ()


def calibration_error(correct: np.ndarray, confidence: np.ndarray) -> float:
    """Return the mean distance of accuracy and confidence over bins of confidence."""
    bins = np.minimum((confidence * _N_BINS).astype(int), _N_BINS - 1)
    gaps = np.bincount(bins, correct - confidence, _N_BINS)
    return float(np.abs(gaps).sum() / len(correct))


def _figures(clf: Any, data: Any, seed: int) -> dict[str, float]:
    """Return log-loss, calibration error and, if calibrated, coverage on the test rows."""
    splitter = StratifiedShuffleSplit(1, test_size=_TEST_SHARE, random_state=seed)
    train, test = next(splitter.split(data.X, data.y))
    scaler = StandardScaler().fit(data.X[train])
    X, X_test = (scaler.transform(data.X[rows]) for rows in (train, test))
    clf.fit(X, data.y[train])
    shares = clf.predict_proba(X_test)
    own = np.searchsorted(clf.classes_, data.y[test])
    found = {
        "log-loss": float(log_loss(own, shares, labels=np.arange(len(clf.classes_)))),
        "ECE": calibration_error(shares.argmax(axis=1) == own, shares.max(axis=1)),
    }
    if clf.calibrate != "none":
        sets = clf.predict_set(X_test, _ALPHA)
        found["coverage"] = float(sets[np.arange(len(own)), own].mean())
        found["classes per set"] = float(sets.sum(axis=1).mean())
    return found
