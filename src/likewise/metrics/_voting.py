"""Voting rules of nearest neighbors."""

import numpy as np


def majority_votes(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the shares of votes of each row's neighbors; ties drop the farthest one.

    Parameters
    ----------
    labels : (n_rows, k) int array
        Labels of the neighbors from 0, nearest first.
    n_classes : int

    Returns
    -------
    (n_rows, n_classes) float array
        The share of each class among the neighbors that remain.

    Examples
    --------
    >>> majority_votes(np.array([[1, 0, 0], [1, 0, 2]]), 3)
    array([[0.66666667, 0.33333333, 0.        ],
           [0.        , 1.        , 0.        ]])
    """
    n_rows, k = labels.shape
    rows = np.arange(n_rows)
    votes = np.zeros((n_rows, n_classes))
    np.add.at(votes, (np.repeat(rows, k), labels.ravel()), 1)

    tied = rows
    sizes = np.full(n_rows, k)
    for size in range(k, 1, -1):
        leaders = votes[tied] == votes[tied].max(axis=1, keepdims=True)
        tied = tied[leaders.sum(axis=1) > 1]
        if len(tied) == 0:
            break
        votes[tied, labels[tied, size - 1]] -= 1
        sizes[tied] = size - 1
    return votes / sizes[:, None]
