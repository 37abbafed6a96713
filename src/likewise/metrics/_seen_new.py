"""nDCG of items seen in training and of new items, separately."""

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

    For seen items, new relevant items are left out of the ranking, and vice versa; irrelevant items
    stay.

    Parameters
    ----------
    rows : int array of shape (n_relevant,)
        The query of each relevant item, from 0.
    grades : array of shape (n_relevant,)
        Above 0.
    ranks : int array of shape (n_relevant,)
        The number of items ranked above it.
    seen : bool array of shape (n_relevant,)
    n_queries : int
    k : int, default=10

    Returns
    -------
    array of shape (3, n_queries) : NaN for queries without relevant items of a kind

    Examples
    --------
    >>> rows, grades, ranks = np.array([0, 0]), np.array([1.0, 1.0]), np.array([0, 1])
    >>> ndcg_seen_new(rows, grades, ranks, np.array([True, False]), 1)
    array([[1.],
           [1.],
           [1.]])
    """
    values = []
    for kind in _kinds(seen):
        discounts = _discounts(_ranks_among(rows, ranks, kind), k)
        values.append(_ndcg(rows[kind], grades[kind], discounts, n_queries, k))
    return np.array(values)


def random_order_ndcg(
    rows: np.ndarray,
    grades: np.ndarray,
    seen: np.ndarray,
    n_queries: int,
    n_items: int,
    k: int = _CUT_OFF,
) -> np.ndarray:
    """Return the expectation of `ndcg_seen_new` for items in random order.

    Examples
    --------
    >>> rows, grades = np.array([0, 0]), np.array([1.0, 1.0])
    >>> random_order_ndcg(rows, grades, np.array([True, False]), 1, n_items=3).round(3)
    array([[0.871],
           [0.815],
           [0.815]])
    """
    total_discount = np.append(0, _discounts(np.arange(k), k).cumsum())
    values = []
    for kind in _kinds(seen):
        n_ranked = n_items - np.bincount(rows[~kind], minlength=n_queries)[rows[kind]]
        discounts = total_discount[np.minimum(n_ranked, k)] / n_ranked
        values.append(_ndcg(rows[kind], grades[kind], discounts, n_queries, k))
    return np.array(values)


def _kinds(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return masks of all relevant items, of seen ones, and of new ones."""
    return np.ones(len(seen), dtype=bool), seen, ~seen


def _ranks_among(rows: np.ndarray, ranks: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return the ranks of one kind of relevant items without the other kind."""
    order = np.lexsort((~kind, ranks, rows))  # an item of equal rank is not above it
    others = np.cumsum(~kind[order])
    begins = np.searchsorted(rows[order], rows[order])  # of the query's first relevant item
    above = others - np.append(0, others)[begins]
    remaining = np.empty(len(ranks), dtype=np.int64)
    remaining[order] = ranks[order] - above
    return remaining[kind]


def _ndcg(
    rows: np.ndarray, grades: np.ndarray, discounts: np.ndarray, n_queries: int, k: int
) -> np.ndarray:
    """Return the sum of discounted grades of every query, relative to that of the best ranking."""
    ideal = np.lexsort((-grades, rows))
    positions = np.arange(len(rows)) - np.searchsorted(rows[ideal], rows[ideal])
    best = np.bincount(rows[ideal], grades[ideal] * _discounts(positions, k), minlength=n_queries)
    gained = np.bincount(rows, grades * discounts, minlength=n_queries)
    return np.divide(gained, best, out=np.full(n_queries, np.nan), where=best > 0)


def _discounts(ranks: np.ndarray, k: int) -> np.ndarray:
    return np.where(ranks < k, 1 / np.log2(ranks + 2.0), 0.0)
