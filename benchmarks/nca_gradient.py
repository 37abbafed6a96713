"""One evaluation of NCA's objective and gradient over all rows, beside scikit-learn's."""

from typing import Any

import numpy as np

from benchmarks import nca
from benchmarks._contender import Contender

CASES = [
    {"set": "usps", "rows": 7_291, "features": 256, "threads": 1},
    {"set": "synthetic", "rows": 10_000, "features": 50, "threads": 1},
    {"set": "synthetic", "rows": 20_000, "features": 50, "threads": 1},
]
data = nca.data


def _likewise(case: dict[str, Any], data: Any) -> Any:
    from likewise.learners.nca._gradient import evaluate
    from likewise.learners.nca._objective import ClassAccuracy
    from likewise.learners.nca._rows import StandardizedRows, column_scale

    order = np.argsort(data[1], kind="stable")
    X, y = data[0][order], data[1][order]
    scale = column_scale(X)
    L = np.eye(X.shape[1]) * scale.deviation
    rows, objective = StandardizedRows(X, scale, np.float32), ClassAccuracy(y)

    def once() -> tuple[float, np.ndarray]:
        value, gradient = evaluate(objective, rows, np.ones(len(X)), np.arange(len(X)), L)
        return value, gradient * scale.deviation

    return once


def _scikit_learn(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y = data[0].astype(np.float64), data[1]
    same, L = y[:, None] == y, np.eye(data[0].shape[1])
    learner = NeighborhoodComponentsAnalysis()
    learner.n_iter_ = 0

    def once() -> tuple[float, np.ndarray]:
        value, gradient = learner._loss_grad_lbfgs(L.ravel(), X, same, 1.0)
        return value / len(X), gradient.reshape(L.shape) / len(X)

    return once


CONTENDERS = [Contender("likewise", _likewise), Contender("scikit-learn", _scikit_learn)]


def quality(case: dict[str, Any], data: Any, result: tuple[float, np.ndarray]) -> dict[str, float]:
    """Return the objective and the norm of its gradient."""
    return {"mean p": result[0], "norm of gradient": float(np.linalg.norm(result[1]))}
