"""Methods that need distances alone: nearest neighbors, DBoost and those of its paper.

Each method gets D (training × training), y, D_test (test × training) and y_test, and returns its
error; parameters are chosen within the training part.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from likewise.classifiers import DBoost
from likewise.features import DissimilaritySpace

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # D, y, D_test, y_test

# The settings of DBoost: as printed, or with a low learning rate, shallow or deep.
_CHOICES = (
    {"learning_rate": 1.0, "max_depth": 1, "n_pairs": 50, "n_rounds": 500},
    {"learning_rate": 0.1, "max_depth": 1, "n_pairs": 10, "n_rounds": 600},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 10, "n_rounds": 300},
    {"learning_rate": 0.1, "max_depth": 3, "n_pairs": 50, "n_rounds": 300},
)
_N_SPLITS, _N_SPLITS_DBOOST = 3, 5
_MAX_CROSS_VALIDATED = 1_000  # rows; larger sets use one hold-out, for all methods
_STEPS = 20  # of weighting the settings
_MAX_TUNED = 4_500  # rows; the grids of the other methods take hours beyond


def _nearest(D: np.ndarray, y: np.ndarray, D_test: np.ndarray, y_test: np.ndarray) -> float:
    return float(np.mean(y[D_test.argmin(axis=1)] != y_test))


def _tuned(make: Callable[[np.ndarray], tuple[Any, dict[str, list[Any]]]], *split: Any) -> float:
    """Return the error of a pipeline, with a grid search within the training part."""
    from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

    D, y, D_test, y_test = split
    if len(y) > _MAX_TUNED:
        return float("nan")
    hold_out = ShuffleSplit(1, test_size=0.2, random_state=0)
    splits = StratifiedKFold(_N_SPLITS, shuffle=True, random_state=0)
    pipeline, grid = make((1 - 1 / _N_SPLITS) * np.unique(y, return_counts=True)[1])
    cv = splits if len(y) <= _MAX_CROSS_VALIDATED else hold_out
    fitted = GridSearchCV(pipeline, grid, cv=cv).fit(D, y)
    return float(np.mean(fitted.predict(D_test) != y_test))


def _up_to(maximum: float, *sizes: int) -> list[int]:
    return sorted({max(1, min(size, int(maximum))) for size in sizes})


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
    """Return errors of DBoost with its settings chosen on held-out training rows.

    One is of the setting with the lowest loss there, one of a weighted mean of settings.
    """
    classes, labels = np.unique(y, return_inverse=True)
    cross_validated = len(y) <= _MAX_CROSS_VALIDATED
    stopping = _N_SPLITS_DBOOST if cross_validated else True
    chosen = DBoost(
        "precomputed", early_stopping=stopping, refit=not cross_validated, random_state=0
    )
    squares, squares_test = D**2, D_test**2  # a split of Euclidean distances is then a plane
    losses, without, shares = [], [], []
    for choice in _CHOICES:
        fitted = clone(chosen).set_params(**choice).fit(squares, y)
        losses.append(fitted.validation_loss_)
        without.append(fitted.validation_shares_)
        shares.append(fitted.predict_proba(squares_test))
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
    """Return weights of settings, added greedily one at a time to minimize the loss."""
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
METHODS: dict[str, Callable[..., dict[str, float]]] = {
    **{name: _named(name, measure) for name, measure in _ALONE.items()},
    "DBoost": _boosted_tuned,
}
