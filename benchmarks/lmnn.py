"""LMNN beside other libraries: time, memory, final objective and the error of three neighbors."""

import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._contender import Contender

_K = 3
CASES = [
    {"set": "digits", "rows": 1797, "features": 64, "threads": 1},
    {"set": "made", "rows": 5_000, "features": 50, "threads": 1},
    {"set": "made", "rows": 20_000, "features": 50, "threads": 1},
    {"set": "made", "rows": 20_000, "features": 100, "threads": 1},
    {"set": "mnist", "rows": 60_000, "features": 164, "threads": 1},
]


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return training and test rows: 70 % for training, except MNIST, which has its own split."""
    if case["set"] == "mnist":
        return _mnist(case["features"])
    from sklearn.datasets import load_digits, make_classification

    if case["set"] == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        X, y = make_classification(
            case["rows"], case["features"], n_informative=20, n_classes=10, random_state=0
        )
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].astype(np.float32), y[order].astype(np.int64)
    n_train = int(0.7 * len(X))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


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


def _likewise(case: dict[str, Any], data: Any) -> Any:
    import likewise

    def fit() -> tuple[np.ndarray, list[dict[str, float]]]:
        fitted = likewise.LMNN(_K).fit(data[0], data[1])
        return fitted.components_, fitted.history_

    return fit


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
    return lambda: (learner(n_neighbors=_K, random_state=0).fit(X, y).components_, None)


def _metric_learn(case: dict[str, Any], data: Any) -> Any:
    from metric_learn import LMNN

    X, y = data[0].astype(np.float64), data[1]
    return lambda: (LMNN(n_neighbors=_K).fit(X, y).components_, None)


def _mlpack(case: dict[str, Any], data: Any) -> Any:
    from mlpack import lmnn

    X, y = data[0].astype(np.float64), data[1]

    def fit() -> tuple[np.ndarray, None]:
        found = lmnn(input_=X, labels=y, k=_K, optimizer="lbfgs", seed=1)
        return found["output"].T, None  # it returns the transpose

    return fit


def _nca(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y = data[0], data[1]
    learner = NeighborhoodComponentsAnalysis(random_state=0)
    return lambda: (learner.fit(X, y).components_, None)


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


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the objective, the error of three neighbors, and when the objective was near its end.

    The objective is the plain one, at c = 1; NCA minimises another.
    """
    if result is None:
        return {}
    L, history = result
    X, y, X_test, y_test = data
    Z, Z_test = (rows.astype(np.float64) @ np.asarray(L, np.float64).T for rows in (X, X_test))
    found = {"error %": 100 * _error(Z, y, Z_test, y_test)}
    if history is None:
        found["objective"] = _objective(X, Z, y)
    else:
        found["objective"] = history[-1]["objective"]
        near = [h["seconds"] for h in history if h["objective"] <= 1.01 * found["objective"]]
        found["s to 1 %"] = near[0]
        if len(X) <= 20_000:
            found["objective"] = _objective(X, Z, y)
    return found


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
