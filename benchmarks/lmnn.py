"""LMNN beside other libraries: time, memory, final objective and the error of three neighbors.

A default fit ends where its own stopping rule says, at objectives that differ between libraries.
Therefore the table also shows when the objective of likewise was first below that of pylmnn.
"""

import os
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks._contender import Contender

_K = 3
CASES = [
    {"set": "digits", "rows": 1797, "features": 64, "threads": 1},
    {"set": "synthetic", "rows": 5_000, "features": 50, "threads": 1},
    {"set": "synthetic", "rows": 20_000, "features": 50, "threads": 1},
    {"set": "synthetic", "rows": 20_000, "features": 100, "threads": 1},
    {"set": "mnist", "rows": 60_000, "features": 164, "threads": 1},
]
# as this benchmark measured them, with seed 0
_OBJECTIVES_OF_PYLMNN = {
    ("digits", 1797, 64): 34_540.6,
    ("synthetic", 5_000, 50): 262_369.3,
    ("synthetic", 20_000, 50): 1_079_499.3,
}


class Fit(NamedTuple):
    """A learned map, the time that it took, and the history of the objective if it is known."""

    L: np.ndarray
    seconds: float
    cpu_seconds: float
    history: list[dict[str, float]] | None


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return training and test rows: 70 % for training, except MNIST, which has its own split."""
    if case["set"] == "mnist":
        return _mnist(case["features"])
    from sklearn.datasets import load_digits, make_classification
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    if case["set"] == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        X, y, n_train = X[order], y[order], int(0.7 * len(X))
        X, X_test, y, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]
    else:
        X, y = make_classification(
            case["rows"],
            case["features"],
            n_informative=20,
            n_redundant=10,
            n_classes=10,
            n_clusters_per_class=2,
            random_state=0,
        )
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X.astype(np.float32), y.astype(np.int64), X_test.astype(np.float32), y_test


def _mnist(n_components: int) -> tuple[np.ndarray, ...]:
    folder = os.environ.get("LIKEWISE_DATA")
    if folder is None:
        raise SystemExit("LIKEWISE_DATA must name a folder with mnist.npz")
    stored = np.load(Path(folder) / "mnist.npz")
    X, X_test = (stored[name].astype(np.float32) for name in ("X", "X_test"))
    middle = X.mean(axis=0)
    X, X_test = X - middle, X_test - middle
    directions = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :n_components]
    return X @ directions, stored["y"], X_test @ directions, stored["y_test"]


def _timed(learn: Callable[[], tuple[Any, list[dict[str, float]] | None]]) -> Callable[[], Fit]:
    def fit() -> Fit:
        started, cpu_started = perf_counter(), process_time()
        L, history = learn()
        return Fit(L, perf_counter() - started, process_time() - cpu_started, history)

    return fit


def _likewise(case: dict[str, Any], data: Any, dtype: Any = np.float32) -> Any:
    import likewise

    X, y = data[0].astype(dtype), data[1]

    def learn() -> tuple[np.ndarray, list[dict[str, float]]]:
        fitted = likewise.LMNN(_K).fit(X, y)
        return fitted.components_, fitted.history_

    return _timed(learn)


def _pylmnn(case: dict[str, Any], data: Any) -> Any:
    # It imports a package that no longer exists, only to tune parameters; and scipy no longer takes
    # a two-dimensional start.
    gone = types.ModuleType("GPyOpt")
    gone.methods, gone.BayesianOptimization = gone, None
    sys.modules["GPyOpt"] = sys.modules["GPyOpt.methods"] = gone
    import pylmnn.lmnn

    minimize = pylmnn.lmnn.minimize

    def flattened(fun: Any, x0: Any, **options: Any) -> Any:
        return minimize(fun, np.ravel(x0), **options)

    pylmnn.lmnn.minimize = flattened
    X, y = data[0].astype(np.float64), data[1]
    learner = pylmnn.lmnn.LargeMarginNearestNeighbor
    return _timed(lambda: (learner(n_neighbors=_K, random_state=0).fit(X, y).components_, None))


def _metric_learn(case: dict[str, Any], data: Any) -> Any:
    from metric_learn import LMNN

    X, y = data[0].astype(np.float64), data[1]
    return _timed(lambda: (LMNN(n_neighbors=_K).fit(X, y).components_, None))


def _mlpack(case: dict[str, Any], data: Any) -> Any:
    from mlpack import lmnn

    X, y = data[0].astype(np.float64), data[1]

    def learn() -> tuple[np.ndarray, None]:
        found = lmnn(input_=X, labels=y, k=_K, optimizer="lbfgs", seed=1)
        return found["output"].T, None  # it returns the transpose

    return _timed(learn)


def _nca(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y = data[0], data[1]
    learner = NeighborhoodComponentsAnalysis(random_state=0)
    return _timed(lambda: (learner.fit(X, y).components_, None))


def _floor(case: dict[str, Any], data: Any) -> Any:
    X = data[0]
    block = np.empty((1024, len(X)), X.dtype)

    def multiply() -> None:
        for start in range(0, len(X), 1024):
            rows = X[start : start + 1024]
            np.matmul(rows, X.T, out=block[: len(rows)])

    return multiply


def _up_to(most: int, reason: str) -> Any:
    return lambda case: None if case["rows"] <= most else reason


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, float64 rows", partial(_likewise, dtype=np.float64)),
    Contender(
        "pylmnn", _pylmnn, "metric", slow=True, left_out=_up_to(20_000, "does not finish MNIST")
    ),
    Contender(
        "mlpack", _mlpack, "metric", slow=True, left_out=_up_to(5_000, "takes minutes beyond 5,000")
    ),
    Contender(
        "metric-learn",
        _metric_learn,
        "metric",
        slow=True,
        left_out=_up_to(5_000, "does not finish beyond 5,000"),
    ),
    Contender(
        "scikit-learn NCA",
        _nca,
        slow=True,
        left_out=_up_to(5_000, "needs arrays of rows × rows"),
    ),
    Contender("floor: one product of all rows with all", _floor),
]


def quality(case: dict[str, Any], data: Any, result: Fit | None) -> dict[str, float]:
    """Return CPU seconds, the objective, the error of three neighbors, and when it was reached.

    The objective is the plain one, at c = 1; NCA minimises another.
    """
    if result is None:
        return {}
    X, y, X_test, y_test = data
    L = np.asarray(result.L, np.float64)
    Z, Z_test = (rows.astype(np.float64) @ L.T for rows in (X, X_test))
    found = {"cpu s": result.cpu_seconds, "error %": 100 * _error(Z, y, Z_test, y_test)}
    if result.history is not None:
        final = result.history[-1]["objective"]
        found["objective"] = final
        found["s to 1 %"] = _seconds_to(1.01 * final, result)
        theirs = _OBJECTIVES_OF_PYLMNN.get((case["set"], case["rows"], case["features"]))
        if theirs is not None:
            found["s to pylmnn's"] = _seconds_to(theirs, result)
    if len(X) <= 20_000:
        found["objective"] = _objective(X, Z, y)
    return found


def _seconds_to(objective: float, fit: Fit) -> float:
    """Return the seconds from the start of a fit until its objective was first this low."""
    before_first_step = fit.seconds - fit.history[-1]["seconds"]
    reached = next(h["seconds"] for h in fit.history if h["objective"] <= objective)
    return before_first_step + reached


def _objective(X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for row in range(len(X)):
        own = np.flatnonzero(y == y[row])
        own = own[own != row]
        near = ((X[own].astype(np.float64) - X[row]) ** 2).sum(axis=1)
        targets = own[np.argsort(near, kind="stable")[:_K]]
        distances = ((Z - Z[row]) ** 2).sum(axis=1)
        far = distances[y != y[row]]
        for near_distance in distances[targets]:
            total += near_distance + np.maximum(0, 1 + near_distance - far).sum()
    return float(total)


def _error(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> float:
    squares = (Z**2).sum(axis=1)
    wrong = 0
    for start in range(0, len(Z_test), 500):
        block = slice(start, start + 500)
        nearest = np.argpartition(squares - 2 * Z_test[block] @ Z.T, _K, axis=1)[:, :_K]
        votes = np.stack([(y[nearest] == label).sum(axis=1) for label in np.unique(y)], axis=1)
        wrong += np.count_nonzero(np.unique(y)[votes.argmax(axis=1)] != y_test[block])
    return wrong / len(y_test)
