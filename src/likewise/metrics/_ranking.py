"""Ranking measures, per query.

All take `gains`, an array of shape (n_queries, depth): the grade of the item at each rank, best
rank first, 0 for irrelevant items. Relevant items beyond the depth count as not retrieved.
"""

import numpy as np


def precision_at(gains: np.ndarray, k: int) -> np.ndarray:
    """Return the share of relevant items among the first `k`.

    Examples
    --------
    >>> precision_at(np.array([[1, 0, 1, 0]]), 2)
    array([0.5])
    """
    return np.count_nonzero(gains[:, :k], axis=1) / k


def recall_at(gains: np.ndarray, k: int, n_relevant: np.ndarray) -> np.ndarray:
    """Return the share of a query's `n_relevant` items that is among the first `k`.

    Examples
    --------
    >>> recall_at(np.array([[1, 0, 1, 0]]), 2, n_relevant=np.array([4]))
    array([0.25])
    """
    return np.count_nonzero(gains[:, :k], axis=1) / n_relevant


def reciprocal_rank(gains: np.ndarray) -> np.ndarray:
    """Return 1 / rank of the first relevant item, 0 if there is none.

    Examples
    --------
    >>> reciprocal_rank(np.array([[0, 0, 1, 0, 1], [0, 0, 0, 0, 0]])).round(3)
    array([0.333, 0.   ])
    """
    relevant = gains > 0
    return np.where(relevant.any(axis=1), 1 / (relevant.argmax(axis=1) + 1), 0.0)


def average_precision(gains: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
    """Return the mean, over a query's `n_relevant` items, of the precision at each one's rank.

    Examples
    --------
    >>> average_precision(np.array([[1, 0, 1, 0]]), n_relevant=np.array([2])).round(3)
    array([0.833])
    """
    relevant = gains > 0
    n_retrieved = np.cumsum(relevant, axis=1)
    precision = n_retrieved / np.arange(1, gains.shape[1] + 1)
    return np.where(relevant, precision, 0).sum(axis=1) / n_relevant


def ndcg_at(gains: np.ndarray, k: int, ideal: np.ndarray) -> np.ndarray:
    """Return the discounted gain of the first `k`, relative to that of the best ranking.

    The gain is the grade itself and the discount log₂(rank + 1), as in trec_eval.

    Parameters
    ----------
    gains : (n_queries, depth)
    k : int
    ideal : (n_queries, at least min(k, number of relevant items))
        A query's grades in descending order.

    Examples
    --------
    >>> ndcg_at(np.array([[1, 3]]), 2, ideal=np.array([[3, 1]])).round(3)
    array([0.797])
    """
    best = _discounted(ideal[:, :k])
    return np.divide(_discounted(gains[:, :k]), best, out=np.zeros(len(gains)), where=best > 0)


def _discounted(gains: np.ndarray) -> np.ndarray:
    discounts = np.log2(np.arange(2, gains.shape[1] + 2))
    # Not a matrix product: its rounding depends on the other rows and on the threads.
    return (gains / discounts).sum(axis=1)
