"""How neighbours decide on a class."""

import numpy as np


def majority_votes(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes of each row's neighbourhood, made smaller until one class leads.

    A tie drops the farthest neighbour; one alone cannot tie.

    Parameters
    ----------
    labels : (n_rows, k) int array
        Labels of the neighbours from 0, nearest first.
    n_classes : int

    Returns
    -------
    (n_rows, n_classes) float array
        The share of each class in the neighbourhood that decided.

    Examples
    --------
    >>> majority_votes(np.array([[1, 0, 0], [1, 0, 2]]), 3)
    array([[0.66666667, 0.33333333, 0.        ],
           [0.        , 1.        , 0.        ]])
    """
    n_rows, k = labels.shape
    everyone = np.arange(n_rows)
    votes = np.zeros((n_rows, n_classes))
    np.add.at(votes, (np.repeat(everyone, k), labels.ravel()), 1)

    tied = everyone
    sizes = np.full(n_rows, k)
    for size in range(k, 1, -1):
        leaders = votes[tied] == votes[tied].max(axis=1, keepdims=True)
        tied = tied[leaders.sum(axis=1) > 1]
        if len(tied) == 0:
            break
        votes[tied, labels[tied, size - 1]] -= 1
        sizes[tied] = size - 1
    return votes / sizes[:, None]
