"""The best of a row, by sorting all of it."""

import numpy as np

NO_ITEM = np.iinfo(np.int64).max


def best(scores, k, skip=None):
    """Return the k best scores of each row and their columns; of equal ones the lower column."""
    found_scores = np.full((len(scores), k), -np.inf)
    found_ids = np.full((len(scores), k), NO_ITEM)
    for i, row in enumerate(scores):
        ids = np.arange(len(row))
        order = [j for j in np.lexsort((ids, -row)) if skip is None or j != skip[i]][:k]
        found_scores[i, : len(order)] = row[order]
        found_ids[i, : len(order)] = order
    return found_scores, found_ids
