"""NCA beside scikit-learn's: time, memory, expected accuracy and the error of three neighbors."""

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
]
data = lmnn.data


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
        left_out=_up_to(20_000, "takes minutes"),
    ),
    Contender(
        "scikit-learn",
        _scikit_learn,
        slow=True,
        left_out=_up_to(20_000, "needs arrays of rows × rows"),
    ),
]


def quality(case: dict[str, Any], data: Any, result: Fit) -> dict[str, float]:
    """Return CPU seconds, the expected accuracy of the training rows, and the test error."""
    X, y, X_test, y_test = data
    L = np.asarray(result.L, np.float64)
    Z, Z_test = (rows.astype(np.float64) @ L.T for rows in (X, X_test))
    found = {"cpu s": result.cpu_seconds, "error %": 100 * _error(Z, y, Z_test, y_test)}
    if len(X) <= 20_000:
        found["expected accuracy"] = _expected_accuracy(Z, y)
    return found


def _expected_accuracy(Z: np.ndarray, y: np.ndarray) -> float:
    """Return the mean probability that a row's random neighbor has its class."""
    total, squares = 0.0, (Z**2).sum(axis=1)
    for start in range(0, len(Z), 500):
        block = np.arange(start, min(start + 500, len(Z)))
        logits = 2 * Z[block] @ Z.T - squares
        logits[block - start, block] = -np.inf
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        same = y[block][:, None] == y
        total += float(((odds * same).sum(axis=1) / odds.sum(axis=1)).sum())
    return total / len(Z)


def _error(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    return 1 - float(KNeighborsClassifier(_K, algorithm="brute").fit(Z, y).score(Z_test, y_test))
