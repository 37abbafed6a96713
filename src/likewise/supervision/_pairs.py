"""Similar and dissimilar pairs of a query and an item."""

from typing import Any

import numpy as np

from likewise._validation import Rows, check_labels
from likewise.supervision._triplets import check_row_numbers, check_weights


def relevance_from_pairs(
    pairs: Any, y: Any, weights: Any, queries: Rows, items: Rows
) -> tuple[Rows, Rows | None]:
    """Return grades, 1 for similar pairs and a stored 0 for dissimilar ones, and weights."""
    from scipy.sparse import csr_array

    columns = "two columns (query, item)"
    array = check_row_numbers(pairs, "pairs", 2, columns, queries, items)
    labels = check_labels(y, "y", array, "pairs")
    if not np.isin(labels, (-1, 0, 1)).all():
        raise ValueError("y must hold 1 for similar pairs and −1 or 0 for dissimilar ones.")
    shape = queries.shape[0], items.shape[0]
    keys = array[:, 0] * shape[1] + array[:, 1]
    keys, first, pair_of = np.unique(keys, return_index=True, return_inverse=True)
    similar = (labels > 0).astype(np.float64)
    if not similar.any():
        raise ValueError("y has no similar pair, so no item is closer than another.")
    contradicted = np.flatnonzero(similar != similar[first][pair_of])
    if len(contradicted):
        raise ValueError(
            f"pairs has {tuple(array[contradicted[0]].tolist())} both as similar and dissimilar."
        )
    position = np.divmod(keys, shape[1])
    grades = csr_array((similar[first], position), shape=shape)
    if weights is None:
        return grades, None
    weights = check_weights(weights, array, "pairs")
    return grades, csr_array((np.bincount(pair_of.ravel(), weights), position), shape=shape)
