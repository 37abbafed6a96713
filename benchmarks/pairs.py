"""ITML and MMC beside metric-learn's, on the same pairs: time, memory, objective and errors."""

from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks._contender import Contender

CASES = [
    {"method": method, "set": name, "pairs": pairs, "threads": 1}
    for method in ("ITML", "MMC")
    for name, pairs in (("wine", 360), ("digits", 1_000), ("synthetic", 4_000))
]
_GAMMA = 1.0


class Fit(NamedTuple):
    """A learned matrix, and the CPU time that it took."""

    M: np.ndarray
    cpu_seconds: float


class Pairs(NamedTuple):
    """Training and test rows, and pairs of training rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    pairs: np.ndarray
    similar: np.ndarray
    bounds: tuple[float, float]


def data(case: dict[str, Any]) -> Pairs:
    """Return standardized rows, 70 % for training, and as many similar as dissimilar pairs."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    if case["set"] == "synthetic":
        X, y = datasets.make_classification(
            5_000, 50, n_informative=10, n_classes=10, random_state=0
        )
    else:
        X, y = getattr(datasets, f"load_{case['set']}")(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(X), size=(100 * case["pairs"], 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    similar = y[drawn[:, 0]] == y[drawn[:, 1]]
    half = case["pairs"] // 2
    chosen = np.concatenate([np.flatnonzero(similar)[:half], np.flatnonzero(~similar)[:half]])
    squares = ((X[drawn[:5000, 0]] - X[drawn[:5000, 1]]) ** 2).sum(axis=1)
    low, high = np.percentile(squares, (5, 95))
    return Pairs(X, y, X_test, y_test, drawn[chosen], similar[chosen], (float(low), float(high)))


def _likewise(case: dict[str, Any], data: Pairs) -> Any:
    import likewise

    def fit() -> Fit:
        started = process_time()
        if case["method"] == "ITML":
            learner: Any = likewise.ITML(_GAMMA, bounds=data.bounds)
        else:
            learner = likewise.MMC()
        L = learner.fit_pairs(data.pairs, data.similar, data.X).components_
        return Fit(L.T @ L, process_time() - started)

    return fit


def _metric_learn(case: dict[str, Any], data: Pairs) -> Any:
    import warnings

    import metric_learn

    def fit() -> Fit:
        started = process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vectors, kinds = data.X[data.pairs], np.where(data.similar, 1, -1)
            if case["method"] == "ITML":
                learner = metric_learn.ITML(gamma=_GAMMA)
                learner.fit(vectors, kinds, bounds=data.bounds)
            else:
                learner = metric_learn.MMC().fit(vectors, kinds)
        return Fit(learner.get_mahalanobis_matrix(), process_time() - started)

    return fit


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("metric-learn", _metric_learn, environment="metric", slow=True),
]


def quality(case: dict[str, Any], data: Pairs, result: Fit) -> dict[str, float]:
    """Return CPU seconds, the objective, and the error of three neighbors.

    ITML's objective is minimized; MMC's, at Σ d² = 1 over similar pairs, is maximized.
    """
    from sklearn.neighbors import KNeighborsClassifier

    Z = data.X[data.pairs[:, 0]] - data.X[data.pairs[:, 1]]
    d = np.einsum("ij,ij->i", Z @ result.M, Z)
    if case["method"] == "ITML":
        ratio = d / np.where(data.similar, *data.bounds)
        violated = np.where(data.similar, ratio > 1, ratio < 1)
        slack = (ratio - np.log(ratio) - 1)[violated].sum()
        divergence = np.trace(result.M) - np.linalg.slogdet(result.M)[1] - len(result.M)
        objective = divergence + _GAMMA * slack
    else:
        objective = np.sqrt(d[~data.similar]).sum() / np.sqrt(d[data.similar].sum())
    values, vectors = np.linalg.eigh(result.M)
    L = (vectors * np.sqrt(np.maximum(values, 0))).T
    neighbors = KNeighborsClassifier(3).fit(data.X @ L.T, data.y)
    return {
        "cpu s": result.cpu_seconds,
        "objective": float(objective),
        "error %": 100 * (1 - neighbors.score(data.X_test @ L.T, data.y_test)),
    }
