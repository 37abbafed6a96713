"""The problems of SiLA: one, or one for each class, and the targets of their rows."""

from collections.abc import Iterator

import numpy as np

from likewise._validation import Rows
from likewise.learners.sila._perceptron import SortedRows
from likewise.similarities import Similarity, as_similarity
from likewise.supervision import target_neighbors


def problems(
    rows: SortedRows, X: Rows, y: np.ndarray, k: int, norm: str, protocol: str
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield groups, the classes opposed to them, and targets: once, or for each class.

    Parameters
    ----------
    rows : the training rows, sorted by class
    X, y : the training rows and labels in their own order
    k : number of targets of a row
    norm : str
    protocol : {"multiclass", "one_vs_rest"}
    """
    targets = own_targets(X, y, k, norm)
    n_classes = len(rows.segments) - 1
    position = np.argsort(rows.original)

    def sort(targets: np.ndarray) -> np.ndarray:
        return np.where(targets < 0, -1, position[targets])[rows.original]

    other_classes = [(0, c, c + 1, n_classes) for c in range(n_classes)]
    if protocol == "multiclass":
        yield rows.labels, np.array(other_classes), sort(targets)
        return
    for c in range(n_classes):
        reach = np.array([(c, c + 1, 0, 0), other_classes[c]])
        rest = np.sort(rows.original[rows.labels != c])
        targets_of_class = targets.copy()
        targets_of_class[rest] = _targets_among(X, rest, k, norm)
        yield (rows.labels == c).astype(np.int64), reach, sort(targets_of_class)


def base_similarity(norm: str) -> Similarity:
    """Return the similarity with A = 1 and this norm, by which targets are found."""
    return as_similarity("dot" if norm == "none" else norm)


def own_targets(X: Rows, y: np.ndarray, k: int, norm: str) -> np.ndarray:
    """Return the k nearest rows of its own class for each row; −1 where there are fewer."""
    return target_neighbors(base_similarity(norm), X, X, y, k)[0]


def _targets_among(X: Rows, members: np.ndarray, k: int, norm: str) -> np.ndarray:
    """Return the nearest neighbors of each member among the others; −1 where there are fewer."""
    targets = np.full((len(members), k), -1)
    n_targets = min(k, len(members) - 1)
    if n_targets:
        rows = X[members]
        matches = base_similarity(norm).neighbors(rows, rows, n_targets, exclude_self=True)
        targets[:, :n_targets] = members[matches.ids]
    return targets
