"""Where a store's learner starts: the version that the model file holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise.learners._arguments import starting_form
from likewise.server.learning._pages import JudgedPages, Pages
from likewise.server.store import Store
from likewise.similarities import Bilinear, paired_products

BASE = 1  # the version that the model file holds
_ROWS_AT_A_TIME = 8_192


@dataclass(frozen=True, eq=False)
class Start:
    """W₀, and what is learned from it.

    Attributes
    ----------
    similarity : Bilinear
    W : array of shape (n_query_features, n_item_features), in double precision
    aroma : AROMA
        That has learned nothing since the file.
    """

    similarity: Bilinear
    W: np.ndarray
    aroma: Any

    @classmethod
    def of(cls, store: Store) -> "Start":
        """Return the start of a store."""
        begun = store.checkpoint(start=True)
        if begun is None:
            raise ValueError("the store has no start to learn from.")
        aroma: Any = from_bytes(begun.state)
        similarity = from_bytes(store.files(BASE).similarity)
        return cls(similarity, _matrix(similarity, aroma.state_.W.shape), aroma)

    @property
    def normalize(self) -> bool:
        """Whether rows are compared at unit length."""
        return self.similarity.norm == "cosine"

    @property
    def has_offsets(self) -> bool:
        """Whether judged items can move: towards queries, which are as wide as items then."""
        return self.W.shape[0] == self.W.shape[1] and bool(self.W.any())

    def form(self, similarity: Bilinear) -> np.ndarray:
        """Return a version's form as a matrix, in double precision."""
        return _matrix(similarity, self.W.shape)

    def published(self, W: np.ndarray) -> Bilinear:
        """Return a similarity of the same kind."""
        return Bilinear(W.astype(np.float32), norm=self.similarity.norm)


def _matrix(similarity: Bilinear, shape: tuple[int, ...]) -> np.ndarray:
    n_query, n_item = shape
    return starting_form(similarity, n_query, n_item, "float64", similarity.norm == "cosine")


def form_scores(pages: Pages, judged: JudgedPages, W: np.ndarray) -> np.ndarray:
    """Return the score of every item shown with its query, by a form."""
    mapped = pages.Q[judged.queries] @ W
    queries, items = judged.pairs
    scores = np.empty(len(queries))
    for start in range(0, len(queries), _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        scores[part] = paired_products(mapped[queries[part]], pages.P[items[part]])
    return judged.of_pairs(scores)
