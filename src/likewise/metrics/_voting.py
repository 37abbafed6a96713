"""Voting rules of nearest neighbors."""

import numpy as np


def majority_votes(
    labels: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the shares of votes of each row's neighbors; ties drop the farthest one.

    Parameters
    ----------
    labels : (n_rows, k) int array
        Labels of the neighbors from 0, nearest first.
    n_classes : int
    weights : (n_rows, k) array, optional
        Weight of each neighbor's vote: not negative, and positive for the nearest. Ones by default.

    Returns
    -------
    (n_rows, n_classes) float array
        The share of each class among the neighbors that remain.

    Examples
    --------
    >>> majority_votes(np.array([[1, 0, 0], [1, 0, 2]]), 3)
    array([[0.66666667, 0.33333333, 0.        ],
           [0.        , 1.        , 0.        ]])
    >>> majority_votes(np.array([[1, 0, 0]]), 2, weights=np.array([[3.0, 1.0, 1.0]]))
    array([[0.4, 0.6]])
    """
    n_rows, k = labels.shape
    votes = _votes(labels, n_classes, weights)
    tied = np.arange(n_rows)
    for size in range(k - 1, 0, -1):
        leaders = votes[tied] == votes[tied].max(axis=1, keepdims=True)
        tied = tied[leaders.sum(axis=1) > 1]
        if len(tied) == 0:
            break
        nearest = tied, slice(size)
        votes[tied] = _votes(
            labels[nearest], n_classes, None if weights is None else weights[nearest]
        )
    return votes / votes.sum(axis=1, keepdims=True)


def _votes(labels: np.ndarray, n_classes: int, weights: np.ndarray | None) -> np.ndarray:
    """Return the sum of weights of each row and class."""
    votes = np.zeros((len(labels), n_classes))
    np.add.at(votes, (np.arange(len(labels))[:, None], labels), 1.0 if weights is None else weights)
    return votes
