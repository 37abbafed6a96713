"""NCA beside scikit-learn's and metric-learn's: time, memory, objectives, errors; and its growth.

The objectives are those of the paper, the mean of p_i, and of likewise's default, that of log p_i.
scikit-learn takes 9 minutes for the 14,000 training rows of the second synthetic set.
"""

from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks import lmnn
from benchmarks._contender import Contender

_K = 3
CASES = [
    {"set": "digits", "rows": 1797, "features": 64, "threads": 1},
    {"set": "synthetic", "rows": 5_000, "features": 50, "threads": 1},
    {"set": "synthetic", "rows": 20_000, "features": 50, "threads": 1},
    {"set": "mnist", "rows": 60_000, "features": 164, "threads": 1},
    *(
        {"set": "clusters", "rows": rows, "features": 50, "threads": 1}
        for rows in (10_000, 100_000, 1_000_000)
    ),
]
_MOST_ROWS_FOR_PAIRS = 20_000  # with more, n² numbers are too many
_TEST_ROWS = 1_000


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return training and test rows: those of the LMNN benchmark, or clusters in any number."""
    if case["set"] != "clusters":
        return lmnn.data(case)
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, 20)).astype(np.float32)  # three for each of ten classes
    mixing = rng.normal(size=(20, case["features"])).astype(np.float32)
    cluster = rng.integers(0, len(centers), case["rows"] + _TEST_ROWS)
    X = rng.standard_normal((len(cluster), case["features"]), np.float32) * np.float32(3)
    for start in range(0, len(X), 10_000):
        part = cluster[start : start + 10_000]
        spread = rng.standard_normal((len(part), 20), np.float32) * np.float32(0.6)
        X[start : start + 10_000] += (centers[part] + spread) @ mixing
    y = cluster % 10
    return X[_TEST_ROWS:], y[_TEST_ROWS:], X[:_TEST_ROWS], y[:_TEST_ROWS]


class Fit(NamedTuple):
    """A learned map, and the CPU time that it took."""

    L: np.ndarray
    cpu_seconds: float


def _likewise(case: dict[str, Any], data: Any, **parameters: Any) -> Any:
    import likewise

    return _timed(likewise.NCA(random_state=0, **parameters), data)


def _scikit_learn(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return _timed(NeighborhoodComponentsAnalysis(random_state=0), data)


def _metric_learn(case: dict[str, Any], data: Any) -> Any:
    from metric_learn import NCA

    return _timed(NCA(random_state=0), data)


def _timed(learner: Any, data: Any) -> Any:
    X, y = data[0], data[1]

    def fit() -> Fit:
        started = process_time()
        L = learner.fit(X, y).components_
        return Fit(L, process_time() - started)

    return fit


def _up_to(largest: int, reason: str) -> Any:
    return lambda case: None if case["rows"] <= largest else reason


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, accuracy", partial(_likewise, objective="accuracy")),
    Contender(
        "likewise, all references",
        partial(_likewise, n_references=None),
        left_out=_up_to(_MOST_ROWS_FOR_PAIRS, "takes minutes"),
    ),
    Contender(
        "scikit-learn",
        _scikit_learn,
        slow=True,
        left_out=_up_to(_MOST_ROWS_FOR_PAIRS, "needs arrays of rows × rows"),
    ),
    Contender(
        "metric-learn",
        _metric_learn,
        environment="metric",
        slow=True,
        left_out=_up_to(5_000, "needs arrays of rows × rows, and takes minutes"),
    ),
]


def quality(case: dict[str, Any], data: Any, result: Fit) -> dict[str, float]:
    """Return CPU seconds, the test error, and the objectives of the training rows."""
    X, y, X_test, y_test = data
    L = np.asarray(result.L, np.float64)
    Z, Z_test = (rows.astype(np.float64) @ L.T for rows in (X, X_test))
    found = {"cpu s": result.cpu_seconds, "error %": 100 * _error(Z, y, Z_test, y_test)}
    if len(X) <= _MOST_ROWS_FOR_PAIRS:
        found["mean p"], found["mean log p"] = _objectives(Z, y)
    return found


def _objectives(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the means of p and log p, the probability that a row's neighbor has its class."""
    total, squares = np.zeros(2), (Z**2).sum(axis=1)
    for start in range(0, len(Z), 500):
        block = np.arange(start, min(start + 500, len(Z)))
        logits = 2 * Z[block] @ Z.T - squares
        logits[block - start, block] = -np.inf
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        same = y[block][:, None] == y
        p = np.maximum((odds * same).sum(axis=1) / odds.sum(axis=1), 1e-30)
        total += p.sum(), np.log(p).sum()
    return total / len(Z)


def _error(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    knn = KNeighborsClassifier(_K, algorithm="brute").fit(Z.astype(np.float32), y)
    return 1 - float(knn.score(Z_test.astype(np.float32), y_test))
