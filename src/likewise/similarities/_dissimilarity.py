"""A dissimilarity as a similarity: the score is −d."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import check_same_length, n_rows
from likewise.similarities._base import Similarity
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._search import BlockScorer, Scorer
from likewise.similarities.distances import Dissimilarity


@dataclass(frozen=True, eq=False)
class FromDissimilarity(Similarity):
    """What `as_similarity` makes of a dissimilarity or its name.

    Examples
    --------
    >>> import likewise as lw
    >>> by_edits = lw.as_similarity("levenshtein")
    >>> by_edits.neighbors(["Meier"], ["Müller", "Maier"], k=1).ids
    array([[1]])
    """

    dissimilarity: Dissimilarity

    def __post_init__(self) -> None:
        if not isinstance(self.dissimilarity, Dissimilarity):
            raise TypeError(
                f"dissimilarity must be a Dissimilarity, but {self.dissimilarity!r} was given."
            )

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What the dissimilarity takes."""
        return self.dissimilarity.takes

    @property
    def has_distance(self) -> bool:
        """Always."""
        return True

    @property
    def is_symmetric(self) -> bool:
        """Never known: nothing is assumed of a dissimilarity."""
        return False

    def check_queries(self, Q: Any, name: str = "Q") -> Any:
        """Return what the dissimilarity compares."""
        return self.dissimilarity.check(Q, name)

    def check_items(self, P: Any, name: str = "P") -> Any:
        """Return what the dissimilarity compares."""
        return self.dissimilarity.check_items(P, name)

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return −d of every query to every item, as an (n_queries, n_items) array."""
        return -self.distance(Q, P)

    def distance(self, Q: Any, P: Any) -> np.ndarray:
        """Return the distance of every query to every item, as an (n_queries, n_items) array."""
        return self.dissimilarity.between(*self._sides(Q, P))

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return −d of query i to item i, as an (n_queries,) array."""
        queries, items = self._sides(Q, P)
        check_same_length(queries, "Q", items, "P")
        between = self.dissimilarity.between
        pairs = (slice(i, i + 1) for i in range(n_rows(queries)))
        return np.array([-between(queries[one], items[one])[0, 0] for one in pairs])

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Return the score as one term: a dissimilarity has no parts that could be told."""
        score = float(self.score_pairs([q], [p])[0])
        return Explanation(score, (Term("query", "item", score),), 0.0)

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        queries, items = self._sides(Q, P)
        return BlockScorer(
            n_rows(queries),
            n_rows(items),
            ready=lambda chunk: chunk,
            score_block=lambda block, chunk: (
                -self.dissimilarity.between(
                    queries[block],
                    items[chunk],
                    rows=range(block.start, block.stop),
                    items=range(chunk.start, chunk.stop),
                )
            ),
            parallel=self.dissimilarity.parallel,
        ), np.float64

    def _sides(self, Q: Any, P: Any) -> tuple[Any, Any]:
        queries, items = self.check_queries(Q), self.check_items(P)
        return self.dissimilarity.prepare(queries), self.dissimilarity.prepare_items(items)
