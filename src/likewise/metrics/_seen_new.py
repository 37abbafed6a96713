"""nDCG of items that were seen in training and of new ones, apart."""

import numpy as np

_CUT_OFF = 10


def ndcg_seen_new(
    rows: np.ndarray,
    grades: np.ndarray,
    ranks: np.ndarray,
    seen: np.ndarray,
    n_queries: int,
    k: int = _CUT_OFF,
) -> np.ndarray:
    """Return nDCG@k of every query over all relevant items, over seen ones, and over new ones.

    For seen ones the new relevant items are left out of the ranking, and the other way round;
    items that are not relevant stay.

    Parameters
    ----------
    rows : int array of shape (n_relevant,)
        The query of each relevant item, from 0.
    grades : array of shape (n_relevant,)
        Above 0.
    ranks : int array of shape (n_relevant,)
        How many items rank above it.
    seen : bool array of shape (n_relevant,)
    n_queries : int
    k : int, default=10

    Returns
    -------
    array of shape (3, n_queries) : NaN where there is nothing of a kind to find

    Examples
    --------
    >>> rows, grades, ranks = np.array([0, 0]), np.array([1.0, 1.0]), np.array([0, 1])
    >>> ndcg_seen_new(rows, grades, ranks, np.array([True, False]), 1)
    array([[1.],
           [1.],
           [1.]])
    """
    everything = np.ones(len(rows), dtype=bool)
    return np.array(
        [
            _ndcg(rows[kind], grades[kind], _ranks_among(rows, ranks, kind), n_queries, k)
            for kind in (everything, seen, ~seen)
        ]
    )


def _ranks_among(rows: np.ndarray, ranks: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return the ranks of one kind of relevant items where the other kind is left out."""
    order = np.lexsort((ranks, rows))
    others = np.cumsum(~kind[order])
    begins = np.searchsorted(rows[order], rows[order])  # of the query's first relevant item
    above = others - np.append(0, others)[begins]
    left = np.empty(len(ranks), dtype=np.int64)
    left[order] = ranks[order] - above
    return left[kind]


def _ndcg(
    rows: np.ndarray, grades: np.ndarray, ranks: np.ndarray, n_queries: int, k: int
) -> np.ndarray:
    ideal = np.lexsort((-grades, rows))
    places = np.arange(len(rows)) - np.searchsorted(rows[ideal], rows[ideal])
    best = np.bincount(rows[ideal], grades[ideal] * _discounts(places, k), minlength=n_queries)
    gained = np.bincount(rows, grades * _discounts(ranks, k), minlength=n_queries)
    return np.divide(gained, best, out=np.full(n_queries, np.nan), where=best > 0)


def _discounts(ranks: np.ndarray, k: int) -> np.ndarray:
    return np.where(ranks < k, 1 / np.log2(np.maximum(ranks, 0) + 2.0), 0.0)


def random_order_ndcg(
    rows: np.ndarray,
    grades: np.ndarray,
    seen: np.ndarray,
    n_queries: int,
    n_items: int,
    k: int = _CUT_OFF,
) -> np.ndarray:
    """Return the expectation of `ndcg_seen_new` where the items are in random order."""
    values = []
    for kind in (np.ones(len(rows), dtype=bool), seen, ~seen):
        n_ranked = n_items - np.bincount(rows[~kind], minlength=n_queries)
        place = _discounts(np.arange(k), k).cumsum()
        mean_discount = place[np.minimum(n_ranked, k) - 1] / n_ranked
        gained = np.bincount(rows[kind], grades[kind], minlength=n_queries) * mean_discount
        ideal = np.lexsort((-grades[kind], rows[kind]))
        at = rows[kind][ideal]
        places = np.arange(len(at)) - np.searchsorted(at, at)
        best = np.bincount(at, grades[kind][ideal] * _discounts(places, k), minlength=n_queries)
        values.append(np.divide(gained, best, out=np.full(n_queries, np.nan), where=best > 0))
    return np.array(values)
