"""Triplets: row numbers (query, closer item, farther item)."""

from typing import Any

import numpy as np

from likewise._validation import n_rows


def check_triplets(triplets: Any, queries: Any, items: Any) -> np.ndarray:
    """Return `triplets` as an int64 array of shape (n_triplets, 3) that points at rows there are.

    Parameters
    ----------
    triplets : array of row numbers (query, closer item, farther item)
    queries, items : rows

    Examples
    --------
    >>> check_triplets([[0, 1, 2]], queries=[[1.0]], items=[[1.0], [2.0], [3.0]])
    array([[0, 1, 2]])
    """
    array = np.asarray(triplets)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(
            "triplets must have three columns (query, closer item, farther item), but has shape "
            f"{array.shape}."
        )
    if len(array) == 0:
        raise ValueError("triplets has no rows; at least one is needed.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"triplets must hold whole row numbers, but {array.dtype} was given.")
    for columns, rows, name in ((array[:, :1], queries, "queries"), (array[:, 1:], items, "items")):
        outside = columns[(columns < 0) | (columns >= n_rows(rows))]
        if len(outside):
            raise ValueError(
                f"triplets points at row {outside[0]}, but {name} has {n_rows(rows)} rows."
            )
    same = np.flatnonzero(array[:, 1] == array[:, 2])
    if len(same):
        raise ValueError(
            f"triplets[{same[0]}] prefers item {array[same[0], 1]} to itself: closer and farther "
            "must differ."
        )
    return array.astype(np.int64)
