"""SiLA's epochs in blocks, one visit at a time, and the matrix products alone.

Early epochs have many mistakes; in a long run on the news set they become rare, and then stop.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._contender import Contender

_K = 3
CASES = [
    {"set": "news", "rows": 2_281, "features": 200, "epochs": 3, "threads": 1},
    {"set": "news", "rows": 10_000, "features": 200, "epochs": 2, "threads": 1},
    {"set": "news", "rows": 2_281, "features": 200, "epochs": 60, "threads": 1},
]


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return posts of 20 newsgroups, as tf-idf in a number of dimensions, of unit length."""
    folder = os.environ.get("LIKEWISE_DATA")
    if folder is None:
        raise SystemExit("LIKEWISE_DATA must name a folder with news20_counts.npz")
    from scipy.sparse import csr_array
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    stored = np.load(Path(folder) / "news20_counts.npz")
    parts = stored["data"].astype(np.float64), stored["indices"].astype(np.int32), stored["indptr"]
    counts = csr_array(parts, shape=tuple(stored["shape"]))
    rows = np.random.default_rng(0).permutation(len(stored["y"]))[: case["rows"]]
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)[rows]
    X = normalize(TruncatedSVD(case["features"], random_state=0).fit_transform(weighted))
    return X, stored["y"][rows].astype(np.int64)


def _likewise(case: dict[str, Any], data: Any) -> Any:
    import likewise

    def fit() -> tuple[np.ndarray, list[int]]:
        fitted = likewise.SiLA(n_neighbors=_K, n_epochs=case["epochs"]).fit(*data)
        return fitted.similarity_.W, [entry["mistakes"] for entry in fitted.history_]

    return fit


def _visit_by_visit(case: dict[str, Any], data: Any) -> Any:
    X, y = data
    of_class = [np.flatnonzero(y == label) for label in range(y.max() + 1)]
    of_others = [np.flatnonzero(y != label) for label in range(y.max() + 1)]

    def fit() -> tuple[np.ndarray, list[int]]:
        targets = np.empty((len(X), _K), np.int64)
        for members in of_class:
            scores = X[members] @ X[members].T
            np.fill_diagonal(scores, -np.inf)
            targets[members] = members[np.argsort(-scores, axis=1, kind="stable")[:, :_K]]
        A = np.zeros((X.shape[1], X.shape[1]))
        weighted, n_visits, mistakes = np.zeros_like(A), 0, []
        for _ in range(case["epochs"]):
            mistakes.append(0)
            for i, x in enumerate(X):
                scores = X @ (x @ A)
                others = of_others[y[i]]
                far = scores[others]
                # At A = 0 all scores are tied, and the lower rows are taken.
                nearest = np.argpartition(-far, _K)[:_K] if n_visits else np.arange(_K)
                if scores[targets[i]].sum() - far[nearest].sum() <= 0:
                    d = X[targets[i]].sum(axis=0) - X[others[nearest]].sum(axis=0)
                    added = np.outer(x, d)
                    A += added
                    weighted += n_visits * added
                    mistakes[-1] += 1
                n_visits += 1
        return n_visits * A - weighted, mistakes

    return fit


def _floor(case: dict[str, Any], data: Any) -> Any:
    X = data[0]
    A = np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1]))
    block = np.empty((256, len(X)))

    def multiply() -> None:
        for _ in range(case["epochs"]):
            for start in range(0, len(X), 256):
                rows = X[start : start + 256]
                np.matmul(rows @ A, X.T, out=block[: len(rows)])

    return multiply


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("visit by visit, NumPy", _visit_by_visit, slow=True),
    Contender("floor: one product of all rows with all, an epoch", _floor),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the mistakes of all epochs and of the last, and the norm of the matrix."""
    if result is None:
        return {}
    W, mistakes = result
    return {
        "mistakes": sum(mistakes),
        "in the last epoch": mistakes[-1],
        "norm of W": float(np.linalg.norm(W)),
    }
