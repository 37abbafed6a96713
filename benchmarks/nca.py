"""NCA beside scikit-learn's and metric-learn's: time, memory, objectives, errors; and its growth.

The objectives are those of the paper, the mean of p_i, and of likewise's default, that of log p_i.
scikit-learn takes 5 to 9 minutes for the 14,000 training rows of the second synthetic set: above
5,000 rows it takes five steps, an unfinished fit, and with ``--long`` all of them on that set.
metric-learn takes 5 minutes for 4,435 rows, and runs above 2,000 with ``--long`` only.
"""

from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks import lmnn
from benchmarks._contender import Contender, long_runs

_K = 3
CASES = [
    {"set": name, "rows": rows, "features": features, "threads": 1}
    for name, rows, features in (
        ("iris", 150, 4),
        ("wine", 178, 13),
        ("breast_cancer", 569, 30),
        ("digits", 1_797, 64),
        ("isolet", 1_560, 172),
        ("satimage", 4_435, 36),
        ("synthetic", 5_000, 50),
        ("usps", 7_291, 256),
        ("letter", 16_000, 16),
        ("synthetic", 20_000, 50),
        ("mnist", 60_000, 164),
        ("clusters", 10_000, 50),
        ("clusters", 100_000, 50),
        ("clusters", 1_000_000, 50),
    )
]
_SMALL_SETS = ("iris", "wine", "breast_cancer")
_STORED_SETS = ("isolet", "satimage", "usps", "letter")
_FEW_ROWS, _MOST_ROWS_FOR_PAIRS = 5_000, 20_000  # with more, n² numbers are too many
_TEST_ROWS = 1_000
_STEPS = 5


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return training and test rows: stored sets as they are, those of LMNN, or clusters."""
    if case["set"] in _SMALL_SETS:
        return _small(case["set"])
    if case["set"] in _STORED_SETS:
        return _stored(case["set"], case["features"])
    return _clusters(case) if case["set"] == "clusters" else lmnn.data(case)


def _small(name: str) -> tuple[np.ndarray, ...]:
    """Return 70 % and 30 % of a set of scikit-learn, standardized."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def _stored(name: str, n_features: int) -> tuple[np.ndarray, ...]:
    """Return a set of the data folder with its own split, or its principal components."""
    from reproduce._datasets import load
    from sklearn.decomposition import PCA

    found = load(name)
    X, X_test = (np.asarray(rows, np.float32) for rows in (found.X, found.X_test))
    if X.shape[1] > n_features:
        axes = PCA(n_features, svd_solver="full").fit(X)
        X, X_test = axes.transform(X), axes.transform(X_test)
    return X, np.asarray(found.y), X_test, np.asarray(found.y_test)


def _clusters(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return any number of rows in three clusters for each of ten classes."""
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


def _scikit_learn(case: dict[str, Any], data: Any, **parameters: Any) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return _timed(NeighborhoodComponentsAnalysis(random_state=0, **parameters), data)


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


def _all_steps(case: dict[str, Any]) -> str | None:
    if case["rows"] > _MOST_ROWS_FOR_PAIRS:
        return "needs arrays of rows × rows"
    if case["rows"] <= _FEW_ROWS or (case["set"] == "synthetic" and long_runs()):
        return None
    return "takes minutes"


def _few_steps(case: dict[str, Any]) -> str | None:
    if _all_steps(case) is None:
        return "takes all its steps above"
    return _up_to(_MOST_ROWS_FOR_PAIRS, "needs arrays of rows × rows")(case)


def _few_rows(case: dict[str, Any]) -> str | None:
    largest = _FEW_ROWS if long_runs() else 2_000
    return _up_to(largest, "needs arrays of rows × rows, and takes minutes")(case)


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, accuracy", partial(_likewise, objective="accuracy")),
    Contender(
        "likewise, all references",
        partial(_likewise, n_references=None),
        left_out=_up_to(_MOST_ROWS_FOR_PAIRS, "takes minutes"),
    ),
    Contender("scikit-learn", _scikit_learn, slow=True, left_out=_all_steps),
    Contender(
        f"scikit-learn, {_STEPS} steps",
        partial(_scikit_learn, max_iter=_STEPS),
        slow=True,
        left_out=_few_steps,
    ),
    Contender(
        "metric-learn",
        _metric_learn,
        environment="metric",
        slow=True,
        left_out=_few_rows,
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
