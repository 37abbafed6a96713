"""Target neighbours: the rows of a row's own class that should be closest to it."""

import warnings
from typing import Any

import numpy as np

from likewise._validation import take
from likewise.similarities import Similarity


def target_neighbors(
    similarity: Similarity, queries: Any, items: Any, y: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Find the `k` nearest rows of the same class, for each row and never the row itself.

    Parameters
    ----------
    similarity : Similarity
        What near means.
    queries, items : the same rows twice
        They differ only for a similarity that wants the two sides in different forms.
    y : (n_rows,) array of labels
    k : int

    Returns
    -------
    targets : (n_rows, k) int64 array
        Row numbers, nearest first; −1 where a class has fewer than k + 1 rows.
    scores : (n_rows, k) float64 array
        Their scores; NaN where there is no target.

    Examples
    --------
    >>> import likewise as lw
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0], [5.0]])
    >>> y = np.array(["a", "a", "a", "b", "b"])
    >>> target_neighbors(lw.as_similarity("euclidean"), X, X, y, k=1)[0].ravel()
    array([1, 0, 1, 4, 3])
    """
    targets = np.full((len(y), k), -1)
    scores = np.full((len(y), k), np.nan)
    short = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        found = min(k, len(members) - 1)
        if found < k:
            short.append(f"{label!s} ({len(members)})")
        if found == 0:
            continue
        matches = similarity.neighbors(
            take(queries, members), take(items, members), found, exclude_self=True
        )
        targets[members, :found] = members[matches.ids]
        scores[members, :found] = matches.scores
    if short:
        warnings.warn(
            f"fewer than {k + 1} rows in class {', '.join(short)}: "
            f"their rows have fewer than {k} target neighbours.",
            stacklevel=3,
        )
    return targets, scores


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
