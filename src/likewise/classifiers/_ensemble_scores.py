"""What the scores of an ensemble say: probabilities, margins, and classes after each tree."""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, log_expit, softmax

from likewise.classifiers._boosting import Ensemble
from likewise.classifiers._calibration import class_leads


def class_scores(scores: np.ndarray) -> np.ndarray:
    """Return a column for each class also if there are two."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def vote_shares(scores: np.ndarray) -> np.ndarray:
    """Return 1 + F of each class, divided by their sum: scores of votes lie in [−1, 1]."""
    votes = 1 + class_scores(scores)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def score_probabilities(scores: np.ndarray, scale: float | None) -> np.ndarray:
    """Return the probabilities that boosting estimates, or those of scaled scores.

    Parameters
    ----------
    scores : (n_rows, n_labels)
    scale : the factor of the scores that fits held-out rows best; None without such rows
    """
    if scores.shape[1] == 1:
        second = expit(2 * (scale or 1.0) * scores)
        return np.hstack([1 - second, second])
    if scale is not None:
        return np.asarray(softmax(scale * scores, axis=1))
    return np.asarray(softmax(log_expit(2 * scores), axis=1))


def normalized_margins(
    scores: np.ndarray, positions: np.ndarray, outputs: np.ndarray
) -> np.ndarray:
    """Return the margin of the ensemble as a convex combination of its trees, in [−1, 1].

    A tree h is the base classifier h / max h, with weight max h: the margin y Σ α h of a convex
    combination is then y F / Σ max h. With more than two classes it is half the lead of the own
    class over the best other one.

    Parameters
    ----------
    scores : (n_rows, n_labels)
    positions : (n_rows,) int64, the own class of each row
    outputs : (n_trees, n_leaves, n_labels)
    """
    leads = class_leads(class_scores(scores))[np.arange(len(scores)), positions]
    largest = np.abs(outputs).max(axis=(1, 2)).sum()
    return np.asarray(leads / (2 * largest)) if largest > 0 else np.zeros(len(scores))


def staged_scores(ensemble: Ensemble, distances: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the scores after every tree, in one array that is updated in place."""
    leaves = ensemble.leaves(distances)
    scores = np.zeros((len(leaves), ensemble.outputs.shape[2]))
    for number, output in enumerate(ensemble.outputs):
        scores += output[leaves[:, number]]
        yield scores
