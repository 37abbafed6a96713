"""How neighbours decide on a class, in the words of the rules."""

import numpy as np


def majority(scores, labels, k, n_classes, weights=None):
    """Return the shares of votes among the k most alike; a tie makes k smaller by one.

    The vote of item j on query t has the weight weights[t, j], or 1.
    """
    weights = np.ones(np.shape(scores)) if weights is None else weights
    shares = np.zeros((len(scores), n_classes))
    for t, row in enumerate(scores):
        nearest = np.argsort(-row, kind="stable")
        for size in range(k, 0, -1):
            voters = nearest[:size]
            votes = np.bincount(labels[voters], weights[t, voters], n_classes)
            if (votes == votes.max()).sum() == 1:
                break
        shares[t] = votes / votes.sum()
    return shares


def symmetric(scores, labels, k, n_classes, weights=None, mean=False):
    """Return the sum, or the mean, of the scores of the k most alike of each class, or of all.

    With weights, the sum is the number of these rows times their weighted mean.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    sums = np.zeros((len(scores), n_classes))
    for t, row in enumerate(scores):
        for y in range(n_classes):
            members = np.flatnonzero(labels == y)
            best = members[np.argsort(-row[members], kind="stable")][:k]
            sums[t, y] = (weights[best] @ row[best]) / weights[best].sum()
            sums[t, y] *= 1 if mean else len(best)
    return sums


def inverse_distances(distances, k):
    """Return 1/d for the k nearest of each row; where one has d = 0, 1 for such rows alone."""
    weights = np.zeros(np.shape(distances))
    for t, row in enumerate(distances):
        for j in np.argsort(row, kind="stable")[:k]:
            if row.min() == 0:
                weights[t, j] = row[j] == 0
            else:
                weights[t, j] = 1 / row[j]
    return weights


def kernel(scores, bandwidth, weights):
    """Return p_j = v_j exp(s_j / bandwidth) / Σ_l v_l exp(s_l / bandwidth) of every row."""
    return shares_of(scores / bandwidth + np.log(weights))


def shares_of(scores):
    """Return exp(s) / Σ exp(s) of every row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
