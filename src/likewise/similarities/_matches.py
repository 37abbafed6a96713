"""Results of a search."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Matches:
    """The best items for each query, best first.

    Attributes
    ----------
    ids : ndarray of shape (n_queries, k)
        Row numbers, or the ids of stored items. If fewer than k items were available, the dtype is
        object and missing items are None.
    scores : ndarray of shape (n_queries, k)
        Scores of the similarity; −inf for missing items.
    """

    ids: np.ndarray
    scores: np.ndarray

    def row(self, query: int) -> list[tuple[Any, float]]:
        """Return the (id, score) pairs of one query, without padding."""
        pairs = zip(self.ids[query].tolist(), self.scores[query].tolist(), strict=True)
        return [(identifier, score) for identifier, score in pairs if identifier is not None]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        n_queries, k = self.ids.shape
        return f"Matches({n_queries} queries, k={k})"
