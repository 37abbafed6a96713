"""Ranked features beside plain NumPy, and Winnow beside scikit-learn's linear learners."""

from typing import Any

import numpy as np

from benchmarks._contender import Contender

_RANKS = {"task": "ranks", "features": 50, "landmarks": 200, "dtype": "float32", "threads": 1}
_WINNOW = {"task": "winnow", "rows": 100_000, "features": 500, "share": 0.1, "threads": 1}
CASES = [
    {**_RANKS, "rows": 5_000},
    {**_RANKS, "rows": 60_000},
    {**_WINNOW, "form": "dense"},
    {**_WINNOW, "form": "sparse"},
]
_PASSES = 5


def data(case: dict[str, Any]) -> Any:
    """Return rows for ranks, or rows of booleans and labels for Winnow."""
    rng = np.random.default_rng(0)
    if case["task"] == "ranks":
        centers = rng.normal(size=(300, case["features"]))
        rows = centers[rng.integers(300, size=case["rows"])]
        return (rows + rng.normal(size=rows.shape)).astype(case["dtype"])
    X = (rng.random((case["rows"], case["features"])) < case["share"]).astype(np.float64)
    y = X[:, :20].sum(axis=1) > 2
    if case["form"] == "sparse":
        from scipy.sparse import csr_array

        X = csr_array(X)
    return X, y


def _likewise(case: dict[str, Any], data: Any) -> Any:
    import likewise

    if case["task"] == "ranks":
        ranked, landmarks = likewise.Ranked(data), data[: case["landmarks"]]
        return lambda: ranked.score(data, landmarks)
    return lambda: likewise.BalancedWinnow(n_passes=_PASSES).fit(*data)


def _twin(case: dict[str, Any], data: Any) -> Any:
    """Sort the distances of each row, and look up those of the landmarks."""
    X, landmarks = data, data[: case["landmarks"]]

    def rank() -> np.ndarray:
        squares = (X**2).sum(axis=1)
        found = np.empty((len(X), len(landmarks)))
        for start in range(0, len(X), 500):
            rows = X[start : start + 500]
            distances = squares - 2 * rows @ X.T
            wanted = distances[:, : len(landmarks)]
            distances = np.sort(distances, axis=1)
            for i in range(len(rows)):
                found[start + i] = np.searchsorted(distances[i], wanted[i])
        return 1 - 2 * found / len(X)

    return rank


def _floor(case: dict[str, Any], data: Any) -> Any:
    block = np.empty((256, len(data)), data.dtype)

    def multiply() -> None:
        for start in range(0, len(data), 256):
            rows = data[start : start + 256]
            np.matmul(rows, data.T, out=block[: len(rows)])

    return multiply


def _linear(name: str) -> Any:
    def prepare(case: dict[str, Any], data: Any) -> Any:
        from sklearn import linear_model

        model = getattr(linear_model, name)(max_iter=_PASSES, tol=None, random_state=0)
        return lambda: model.fit(*data)

    return prepare


def _only(task: str) -> Any:
    return lambda case: None if case["task"] == task else "does something else"


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("NumPy: sort each row", _twin, slow=True, left_out=_only("ranks")),
    Contender("floor: the matrix product alone", _floor, left_out=_only("ranks")),
    Contender("scikit-learn Perceptron", _linear("Perceptron"), left_out=_only("winnow")),
    Contender("scikit-learn SGD", _linear("SGDClassifier"), left_out=_only("winnow")),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the share of exact features for some rows, or the accuracy."""
    if result is None:
        return {}
    if case["task"] == "winnow":
        return {"accuracy": float(result.score(*data))}
    X = data.astype(np.float64)
    right = []
    for row in range(0, len(X), max(1, len(X) // 20)):
        distances = ((X - X[row]) ** 2).sum(axis=1)
        closer = (distances[:, None] < distances[: case["landmarks"]]).sum(axis=0)
        right.append(np.isclose(result[row], 1 - 2 * closer / len(X), atol=1e-7).mean())
    return {"exact": float(np.mean(right))}
