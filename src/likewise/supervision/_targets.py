"""Target neighbors: the rows of a row's own class that should be closest to it."""

from typing import Any

import numpy as np

from likewise._execution import current_backend
from likewise._validation import take
from likewise._warnings import warn
from likewise.similarities import NO_ITEM, Best, Similarity, best_items, merge_best


def target_neighbors(
    similarity: Similarity, queries: Any, items: Any, y: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the `k` nearest other rows of the same class, for each row.

    Parameters
    ----------
    similarity : Similarity
    queries, items : the same rows twice
        They differ only for a similarity that takes the two sides in different forms.
    y : (n_rows,) array of labels
    k : int

    Returns
    -------
    targets : (n_rows, k) int64 array
        Row numbers, nearest first; −1 for a missing target.
    scores : (n_rows, k) float64 array
        Their scores; NaN for a missing target.

    Examples
    --------
    >>> import likewise as lw
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0], [5.0]])
    >>> y = np.array(["a", "a", "a", "b", "b"])
    >>> target_neighbors(lw.as_similarity("euclidean"), X, X, y, k=1)[0].ravel()
    array([1, 0, 1, 4, 3])
    """
    backend = current_backend()
    if backend is not None and similarity.takes == "rows":
        return targets_of(backend.best_of_class(similarity, queries, y, k), y, k)
    own_rows = np.arange(len(y))
    return targets_of(best_of_class(similarity, queries, items, y, y, k, own_rows=own_rows), y, k)


def best_of_class(
    similarity: Similarity,
    queries: Any,
    items: Any,
    query_labels: np.ndarray,
    item_labels: np.ndarray,
    k: int,
    *,
    own_rows: np.ndarray,
    first_item: int = 0,
) -> Best:
    """Return the `k` nearest items of the class of each query, unordered, as `best_items` does.

    Parameters
    ----------
    similarity, queries, items, k : as in `target_neighbors`
    query_labels, item_labels : arrays of labels
    own_rows : item number of each query, which is excluded
    first_item : int, default=0
        Number of the first item, if the items are a part of all.
    """
    shape = len(query_labels), k
    scores, ids = np.full(shape, -np.inf), np.full(shape, NO_ITEM)
    for label in np.unique(query_labels):
        rows, members = np.flatnonzero(query_labels == label), np.flatnonzero(item_labels == label)
        if len(members) == 0:
            continue
        scorer = similarity._scorer(take(queries, rows), take(items, members))[0]
        own = own_rows[rows] - first_item
        is_member = np.isin(own, members)
        own_positions = np.where(is_member, np.searchsorted(members, own), -1)
        best = best_items(scorer, k, own_rows=own_positions)
        is_item = best[1] != NO_ITEM
        item_ids = np.full(best[1].shape, NO_ITEM)
        item_ids[is_item] = first_item + members[best[1][is_item]]
        columns = slice(0, best[1].shape[1])
        scores[rows, columns], ids[rows, columns] = best[0], item_ids
    return scores, ids


def targets_of(best: Best, y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted targets and scores, and warn about classes with too few rows."""
    scores, ids = merge_best([best], k)
    labels, of_row, sizes = np.unique(y, return_inverse=True, return_counts=True)
    missing = ids == NO_ITEM
    if missing.sum() > np.maximum(k + 1 - sizes[of_row], 0).sum():
        raise ValueError("X gives scores beyond the range of numbers: scale it down.")
    few = sizes < k + 1
    if few.any():
        short = (f"{label!s} ({n})" for label, n in zip(labels[few], sizes[few], strict=True))
        warn(
            f"fewer than {k + 1} rows in class {', '.join(short)}: "
            f"their rows have fewer than {k} target neighbors.",
        )
    return np.where(missing, -1, ids), np.where(missing, np.nan, scores)


def check_targets(targets: Any, labels: np.ndarray) -> np.ndarray:
    """Return `targets` as an int64 array with, for each row, other rows of its class or −1."""
    array = np.asarray(targets)
    if array.ndim != 2 or len(array) != len(labels) or array.shape[1] == 0:
        raise ValueError(
            f"target_neighbors must have shape ({len(labels)}, k), but has shape {array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise TypeError(f"target_neighbors must hold row numbers, but {array.dtype} was given.")
    outside = array[(array < -1) | (array >= len(labels))]
    if len(outside):
        raise ValueError(
            f"target_neighbors points at row {outside[0]}, but X has {len(labels)} rows."
        )
    rows = np.arange(len(labels))[:, None]
    wrong = (array >= 0) & ((array == rows) | (labels[array] != labels[:, None]))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"target_neighbors gives row {row} the target {array[row, column]}, which must be "
            "another row of the same class."
        )
    return array.astype(np.int64)
