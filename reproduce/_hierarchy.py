"""HIER: similarity of images by the classes they may show, in a hierarchy (Deng et al., 2011)."""

from typing import Any

import numpy as np

from likewise.similarities import Bilinear
from reproduce._retrieval import Split, best_value, measures

# The hierarchy of the paper is that of Caltech-256's own report, of which we have no copy: this one
# is ours. Each class has its path from the root.
PATHS = {
    "backpack": ("thing", "carried"),
    "coffee-mug": ("thing", "household"),
    "touring-bike": ("thing", "transport"),
    "calculator": ("thing", "electronic"),
    "headphones": ("thing", "electronic"),
    "video-projector": ("thing", "electronic"),
    "computer-keyboard": ("thing", "electronic", "computing"),
    "laptop-101": ("thing", "electronic", "computing"),
    "computer-monitor": ("thing", "electronic", "computing"),
    "computer-mouse": ("thing", "electronic", "computing"),
}
_PENALTIES = (0.1, 1.0, 10.0, 100.0)  # C of the logistic regression


def class_similarity(names: Any) -> np.ndarray:
    """Return 1 − height of the lowest common ancestor / height of the root, for pairs of classes.

    A class has height 0, and an ancestor the length of the longest path down to a class.
    """
    paths = [(*PATHS[name], name) for name in names]
    heights: dict[str, int] = {}
    for path in paths:
        for depth, node in enumerate(path):
            heights[node] = max(heights.get(node, 0), len(path) - 1 - depth)

    def height(one: tuple[str, ...], other: tuple[str, ...]) -> int:
        shared = [a for a, b in zip(one, other, strict=False) if a == b]
        return heights[shared[-1]]

    root = heights[paths[0][0]]
    return np.array([[1 - height(one, other) / root for other in paths] for one in paths])


def hier(split: Split, names: Any, seed: int, *, flat: bool = False) -> np.ndarray:
    """Return the measures of pᵀSp', with the probabilities p of the classes and S by hierarchy.

    With `flat`, S is the identity, so that the hierarchy does not count.
    """
    from sklearn.linear_model import LogisticRegression

    X, y, X_test, y_test = split
    S = np.eye(len(names)) if flat else class_similarity(names)

    class OfClasses:
        def __init__(self, C: float, X: Any, y: np.ndarray) -> None:
            self._model = LogisticRegression(C=C, max_iter=1000).fit(X, y)

        def score(self, Q: Any, P: Any) -> np.ndarray:
            of_queries, of_items = (self._model.predict_proba(rows) for rows in (Q, P))
            return Bilinear(S).score(of_queries, of_items)

    C = best_value(OfClasses, _PENALTIES, X, y, seed)
    return measures(OfClasses(C, X, y), X_test, y_test)
