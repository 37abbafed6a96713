"""The bandwidth of exp(score / bandwidth) at which rows are best predicted from the other rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._threads import single_threaded_blas
from likewise._validation import sample_rows, take
from likewise.learners.nca._objective import (
    ClassLikelihood,
    KernelRegression,
    Objective,
    has_mate,
)
from likewise.learners.nca._rows import standardized_targets
from likewise.similarities import Similarity

_ANCHORS, _REFERENCES = 256, 4096
# Candidates: a typical difference of scores, divided by the squares of these factors.
_FACTORS = np.geomspace(0.1, 30, 7)
_TOL = 0.1  # of the logarithm of the factor


def class_bandwidth(
    similarity: Similarity, X: Any, items: Any, labels: np.ndarray, weights: np.ndarray
) -> float:
    """Return the bandwidth that maximizes Σ v_i log p_i, the probability of the own class.

    At most 256 rows are predicted, from at most 4,096.

    Parameters
    ----------
    similarity : Similarity
    X, items : the rows as queries and as items
    labels : int array of shape (n_rows,)
    weights : (n_rows,) array
        Positive.
    """
    references = sample_rows(len(labels), _REFERENCES)
    references = references[np.argsort(labels[references], kind="stable")]
    labels = labels[references]
    with_mate = np.flatnonzero(has_mate(labels))
    anchors = with_mate[sample_rows(len(with_mate), _ANCHORS)]
    objective = ClassLikelihood(labels)
    return _bandwidth(similarity, X, items, references, anchors, weights, objective, sign=-1)


def regression_bandwidth(
    similarity: Similarity, X: Any, items: Any, targets: np.ndarray, weights: np.ndarray
) -> float:
    """Return the bandwidth that minimizes Σ v_i ‖ŷ_i − y_i‖², with targets of unit variance.

    Parameters
    ----------
    targets : (n_rows,) or (n_rows, n_targets) array
    similarity, X, items, weights : as in `class_bandwidth`
    """
    references = sample_rows(len(targets), _REFERENCES)
    anchors = sample_rows(len(references), _ANCHORS)
    objective = KernelRegression(standardized_targets(targets[references]))
    return _bandwidth(similarity, X, items, references, anchors, weights, objective, sign=1)


def _bandwidth(
    similarity: Similarity,
    X: Any,
    items: Any,
    references: np.ndarray,
    anchors: np.ndarray,
    weights: np.ndarray,
    objective: Objective,
    sign: int,
) -> float:
    """Return the best bandwidth for anchors; 1 if no row can be predicted from others."""
    if len(references) < 2 or len(anchors) == 0:
        return 1.0
    queries = take(X, references[anchors])
    scores = similarity.score(queries, take(items, references)).astype(np.float64)
    others = np.ones(scores.shape, dtype=bool)
    others[np.arange(len(anchors)), anchors] = False
    below_best = scores.max(axis=1, keepdims=True, where=others, initial=-np.inf) - scores
    typical = float(np.median(below_best[others]))
    if not typical > 0:
        return 1.0
    with single_threaded_blas():
        return best_bandwidth(scores, anchors, weights[references], objective, sign, typical)


def best_bandwidth(
    scores: np.ndarray,
    anchors: np.ndarray,
    weights: np.ndarray,
    objective: Objective,
    sign: int,
    typical: float,
) -> float:
    """Return the bandwidth at which an objective is best.

    Parameters
    ----------
    scores : (n_anchors, n_references) array
    anchors : int array of shape (n_anchors,)
        Ascending positions among the references.
    weights : (n_references,) array
        Positive.
    objective : Objective
    sign : {-1, 1}
        −1 for an objective to maximize.
    typical : float
        A difference of scores, which the candidates are relative to.
    """
    itself = (np.arange(len(anchors)), anchors)
    weights = weights.astype(scores.dtype)
    log_weights, logits = np.log(weights), np.empty_like(scores)

    def cost(log_factor: float) -> float:
        np.multiply(scores, float(np.exp(2 * log_factor)), out=logits)
        np.add(logits, log_weights, out=logits)
        logits[itself] = -np.inf
        terms = objective.weigh(logits, anchors, weights[anchors]).terms
        return sign * float(terms.sum(dtype=np.float64))

    grid = np.log(_FACTORS / np.sqrt(typical))
    best = int(np.argmin([cost(point) for point in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(np.exp(-2 * _golden_section(cost, low, high, _TOL)))


def _golden_section(
    function: Callable[[float], float], low: float, high: float, tol: float
) -> float:
    """Return a minimum of a function within an interval, to within `tol`."""
    ratio = (np.sqrt(5) - 1) / 2
    inner = [high - ratio * (high - low), low + ratio * (high - low)]
    values = [function(point) for point in inner]
    while high - low > tol:
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - ratio * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + ratio * (high - low)
            values[1] = function(inner[1])
    return (low + high) / 2
