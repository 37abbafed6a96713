"""Similar and dissimilar pairs: row numbers given by a user, or drawn from labels."""

from typing import Any

import numpy as np

from likewise._validation import check_classes, check_labels
from likewise.supervision._triplets import check_row_numbers


def check_pairs(
    pairs: Any, y: Any, queries: Any, items: Any, names: tuple[str, str] = ("queries", "items")
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs as an int64 array of existing rows, and a mask of the similar ones.

    Parameters
    ----------
    pairs : array of row numbers (query, item)
    y : array of 1 for similar pairs, and −1 or 0 for dissimilar ones
    queries, items : rows
    names : names of the arguments `queries` and `items` in error messages

    Examples
    --------
    >>> check_pairs([[0, 1]], [1], queries=[[1.0]], items=[[1.0], [2.0]])
    (array([[0, 1]]), array([ True]))
    """
    columns = "two columns (query, item)"
    array = check_row_numbers(pairs, "pairs", 2, columns, queries, items, names)
    labels = check_labels(y, "y", array, "pairs")
    others = labels[~np.isin(labels, (-1, 0, 1))]
    if len(others):
        raise ValueError(
            "y must hold 1 for similar pairs and −1 or 0 for dissimilar ones, but holds "
            f"{others[0]!s}."
        )
    return array, labels > 0


class LabelPairs:
    """Random pairs from labels: a row with another of its class, or with one of another class.

    Both rows are drawn in proportion to their weights. The only row of a class is in dissimilar
    pairs only.

    Parameters
    ----------
    y : array of shape (n_rows,)
    weights : array of shape (n_rows,), optional
        Positive; all equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> source = LabelPairs(["pear", "fig", "pear", "fig"])
    >>> pairs, similar = source.draw(4, np.random.default_rng(0))
    >>> pairs
    array([[2, 0],
           [3, 2],
           [1, 3],
           [3, 2]])
    >>> similar
    array([ True, False,  True, False])
    """

    def __init__(self, y: Any, weights: np.ndarray | None = None) -> None:
        self._classes = check_classes(y)[1]
        n = len(self._classes)
        self._weights = np.ones(n) if weights is None else weights
        # Rows sorted by class, as consecutive intervals whose lengths are their weights.
        self._order = np.argsort(self._classes, kind="stable")
        self._position = np.argsort(self._order)
        self._edges = np.concatenate([[0.0], np.cumsum(self._weights[self._order])])
        counts = np.bincount(self._classes)
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        self._with_partner = np.flatnonzero(counts[self._classes] > 1)
        if len(self._with_partner) == 0:
            raise ValueError("y has no class of two rows or more, so no pair is similar.")

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return `n` pairs, similar and dissimilar in turn, and a mask of the similar ones."""
        similar = np.arange(n) % 2 == 0
        pairs = np.empty((n, 2), np.int64)
        n_similar = int(similar.sum())
        pairs[similar] = self._similar(self._anchors(self._with_partner, n_similar, rng), rng)
        everything = np.arange(len(self._classes))
        pairs[~similar] = self._dissimilar(self._anchors(everything, n - n_similar, rng), rng)
        return pairs, similar

    def _anchors(self, rows: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        edges = np.cumsum(self._weights[rows])
        at = np.searchsorted(edges, rng.random(n) * edges[-1], side="right")
        return rows[np.minimum(at, len(rows) - 1)]

    def _similar(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        label, own = self._classes[anchors], self._position[anchors]
        first, last = self._starts[label], self._ends[label] - 1
        begin, weight = self._edges[first], self._weights[anchors]
        drawn = begin + rng.random(len(anchors)) * (self._edges[last + 1] - begin - weight)
        drawn += np.where(drawn >= self._edges[own], weight, 0)  # not the row itself
        at = np.clip(np.searchsorted(self._edges, drawn, side="right") - 1, first, last)
        at = np.where(at == own, np.where(own > first, own - 1, own + 1), at)  # by rounding
        return np.column_stack([anchors, self._order[at]])

    def _dissimilar(self, anchors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        label = self._classes[anchors]
        begin, end = self._edges[self._starts[label]], self._edges[self._ends[label]]
        drawn = rng.random(len(anchors)) * (self._edges[-1] - (end - begin))
        drawn += np.where(drawn >= begin, end - begin, 0)  # not of its class
        at = np.searchsorted(self._edges, drawn, side="right") - 1
        at = np.minimum(at, len(self._order) - 1)
        inside = (at >= self._starts[label]) & (at < self._ends[label])  # by rounding
        beside = np.where(self._starts[label] > 0, self._starts[label] - 1, self._ends[label])
        return np.column_stack([anchors, self._order[np.where(inside, beside, at)]])
