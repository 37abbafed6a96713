"""Similarities that transform the scores of another one, pair by pair."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import Rows
from likewise.similarities._base import Similarity, Takes
from likewise.similarities._convert import as_similarity
from likewise.similarities._search import BlockScorer, Scorer


class Wrapped(Similarity):
    """A similarity computed from another one, which has the same queries and items."""

    similarity: Similarity

    @property
    def takes(self) -> Takes:
        """As the underlying similarity."""
        return self.similarity.takes

    @property
    def is_symmetric(self) -> bool:
        """As the underlying similarity."""
        return self.similarity.is_symmetric

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Validate queries as the underlying similarity does."""
        return self.similarity.check_queries(Q, name)

    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Validate items as the underlying similarity does."""
        return self.similarity.check_items(P, name)


def rescored(base: Scorer, score_block: Callable[[slice, Any], np.ndarray]) -> BlockScorer:
    """Return a scorer of the items that another one prepares."""
    return BlockScorer(
        base.n_queries, base.n_items, base.ready, score_block, base.parallel, base.width, base.cell
    )


class Transformed(Wrapped):
    """A similarity whose score is a function of another similarity's score of the same pair."""

    @abstractmethod
    def _transformation(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function of the underlying similarity's scores."""

    def score(self, Q: Any, P: Any) -> np.ndarray:
        transform = self._transformation()
        return transform(self.similarity.score(Q, P))

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        transform = self._transformation()
        return transform(self.similarity.score_pairs(Q, P))

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        transform = self._transformation()
        scorer, dtype = self.similarity._scorer(Q, P)
        return rescored(scorer, lambda block, items: transform(scorer.scores(block, items))), dtype


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Naive(Transformed):
    """K(q, p) = 1/(1 + d(q, p)): a distance as a similarity in (0, 1].

    Parameters
    ----------
    similarity : str, Similarity, callable or fitted learner, default="euclidean"
        As in `as_similarity`; it must have a distance.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Naive().score([[0.0]], [[0.0], [3.0]])
    array([[1.  , 0.25]])
    """

    similarity: Similarity

    def __init__(self, similarity: Any = "euclidean") -> None:
        base = as_similarity(similarity)
        if not base.has_distance:
            raise ValueError(f"similarity must have a distance d, but {base!r} has none.")
        object.__setattr__(self, "similarity", base)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.similarity,)

    def __repr__(self) -> str:
        return f"Naive({self.similarity!r})"

    def _transformation(self) -> Callable[[np.ndarray], np.ndarray]:
        return lambda scores: 1 / (1 + self.similarity._dissimilarity(scores))
