"""Means of the items' values, weighted by a kernel of their scores."""

from typing import Any

import numpy as np

from likewise._threads import for_each, slices
from likewise._validation import n_rows, take
from likewise.similarities._base import Similarity

_SCORES_IN_BLOCK = 2**20


def kernel_means(
    similarity: Similarity,
    Q: Any,
    P: Any,
    values: Any,
    *,
    weights: np.ndarray | None = None,
    bandwidth: float = 1.0,
) -> np.ndarray:
    """Return the mean of the items' values for each query, weighted by v_j exp(score / bandwidth).

    Memory is bounded, whatever the number of queries.

    Parameters
    ----------
    Q, P : rows of the queries and of the items
    values : array of shape (n_items,) or (n_items, n_values), or CSR
    weights : array of shape (n_items,), optional
        v_j of each item, positive; ones by default.
    bandwidth : float, default=1.0

    Returns
    -------
    ndarray of shape (n_queries,) or (n_queries, n_values)
    """
    from scipy.special import softmax

    n_queries, n_items = n_rows(Q), n_rows(P)
    log_weights = 0.0 if weights is None else np.log(weights)
    means = np.empty((n_queries, *values.shape[1:]))

    def work(block: slice) -> None:
        scores = similarity.score(take(Q, block), P).astype(np.float64)
        means[block] = softmax(scores / bandwidth + log_weights, axis=1) @ values

    blocks = list(slices(n_queries, max(1, _SCORES_IN_BLOCK // n_items)))
    for_each(work, blocks, parallel=similarity.takes == "rows")
    return means
