"""How neighbours decide on a class, in the words of the rules."""

import numpy as np


def majority(scores, labels, k, n_classes):
    """Return the shares of votes among the k most alike; a tie makes k smaller by one."""
    shares = np.zeros((len(scores), n_classes))
    for t, row in enumerate(scores):
        nearest = np.argsort(-row, kind="stable")
        for size in range(k, 0, -1):
            votes = np.bincount(labels[nearest[:size]], minlength=n_classes)
            if (votes == votes.max()).sum() == 1:
                break
        shares[t] = votes / size
    return shares


def symmetric(scores, labels, k, n_classes):
    """Return the summed score of the k most alike of each class, for k rows where it has fewer."""
    sums = np.zeros((len(scores), n_classes))
    for t, row in enumerate(scores):
        for y in range(n_classes):
            best = np.sort(row[labels == y])[::-1][:k]
            sums[t, y] = best.sum() * k / len(best)
    return sums


def shares_of(scores):
    """Return exp(s) / Σ exp(s) of every row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
