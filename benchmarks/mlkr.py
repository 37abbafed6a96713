"""MLKR beside metric-learn's: time, memory, and R² of its kernel and of ten neighbors.

metric-learn takes up to 1,000 steps, about a minute for 1,050 rows. The more it takes, the less its
kernel predicts, so it is also measured with 100 steps, and with 30 on more than 1,000 rows.
"""

from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks._contender import Contender

CASES = [
    {"set": name, "rows": rows, "threads": 1}
    for name, rows in (
        ("diabetes", 442),
        ("friedman1", 1_500),
        ("sparse_uncorrelated", 1_500),
        ("friedman1", 8_000),
    )
]


class Fit(NamedTuple):
    """A learned map, and the CPU time that it took."""

    L: np.ndarray
    cpu_seconds: float


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return training and test rows, 70 % for training, standardized."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    if case["set"] == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
    elif case["set"] == "friedman1":
        X, y = datasets.make_friedman1(case["rows"], 20, noise=1.0, random_state=0)
    else:
        X, y = datasets.make_sparse_uncorrelated(case["rows"], 20, random_state=0)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def _likewise(case: dict[str, Any], data: Any) -> Any:
    import likewise

    return _timed(likewise.MLKR(random_state=0), data)


def _metric_learn(case: dict[str, Any], data: Any, **parameters: Any) -> Any:
    from metric_learn import MLKR

    return _timed(MLKR(random_state=0, **parameters), data)


def _timed(learner: Any, data: Any) -> Any:
    X, y = data[0], data[1]

    def fit() -> Fit:
        started = process_time()
        L = learner.fit(X, (y - y.mean()) / y.std()).components_
        return Fit(L, process_time() - started)

    return fit


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender(
        "metric-learn",
        _metric_learn,
        environment="metric",
        slow=True,
        left_out=lambda case: None if case["rows"] < 5_000 else "takes many minutes",
    ),
    *(
        Contender(
            f"metric-learn, {steps} steps",
            partial(_metric_learn, max_iter=steps),
            environment="metric",
            slow=True,
            left_out=left_out,
        )
        for steps, left_out in (
            (100, lambda case: None if case["rows"] < 1_000 else "takes 30 steps"),
            (30, lambda case: None if case["rows"] >= 1_000 else "takes 100 steps"),
        )
    ),
]


def quality(case: dict[str, Any], data: Any, result: Fit) -> dict[str, float]:
    """Return CPU seconds, and R² of the kernel exp(-d²) and of ten neighbors."""
    from sklearn.metrics import r2_score
    from sklearn.neighbors import KNeighborsRegressor

    X, y, X_test, y_test = data
    Z, Z_test = X @ result.L.T, X_test @ result.L.T
    squares = (Z_test**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * Z_test @ Z.T
    odds = np.exp(squares.min(axis=1, keepdims=True) - squares)
    kernel = odds @ y / odds.sum(axis=1)
    ten = KNeighborsRegressor(10).fit(Z, y).predict(Z_test)
    return {
        "cpu s": result.cpu_seconds,
        "R² kernel": r2_score(y_test, kernel),
        "R² 10-NN": r2_score(y_test, ten),
    }
