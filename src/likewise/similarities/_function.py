"""A function of two objects as a similarity: for things that have no features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import as_objects, call_on_pair, check_same_length
from likewise.similarities._base import Similarity
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._search import BlockScorer, Scorer


def from_callable(function: Callable[[Any, Any], float], *, symmetric: bool = False) -> "Function":
    """Make a similarity of a function that is larger for things that are more alike.

    Parameters
    ----------
    function : callable on two objects
        Called with a query and an item.
    symmetric : bool, default=False
        Whether the order of the two does not matter.

    Examples
    --------
    >>> import likewise as lw
    >>> common = lw.from_callable(lambda a, b: len(set(a) & set(b)))
    >>> common.neighbors(["apple"], ["orange", "plea"], k=1).ids
    array([[1]])
    """
    return Function(_checked_callable(function), is_distance=False, symmetric=symmetric)


def from_distance(function: Callable[[Any, Any], float], *, symmetric: bool = False) -> "Function":
    """Make a similarity of a distance: a function that is smaller for things that are more alike.

    The score is −d. Nothing is assumed of the distance but that it is not negative.

    Parameters
    ----------
    function : callable on two objects
        Called with a query and an item.
    symmetric : bool, default=False
        Whether the order of the two does not matter.

    Examples
    --------
    >>> import likewise as lw
    >>> by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    >>> by_length.score(["fig"], ["date", "banana"])
    array([[-1., -3.]])
    """
    return Function(_checked_callable(function), is_distance=True, symmetric=symmetric)


def _checked_callable(function: Any) -> Any:
    if not callable(function):
        raise TypeError(f"function must be callable on two objects, but {function!r} was given.")
    return function


@dataclass(frozen=True, eq=False, repr=False)
class Function(Similarity):
    """What `from_callable` and `from_distance` return."""

    function: Callable[[Any, Any], float]
    is_distance: bool
    symmetric: bool

    @property
    def is_symmetric(self) -> bool:
        """Whether its maker said so."""
        return self.symmetric

    @property
    def takes(self) -> Literal["objects"]:
        """Any objects."""
        return "objects"

    @property
    def has_distance(self) -> bool:
        """Whether the function is a distance."""
        return self.is_distance

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Function({name}, is_distance={self.is_distance})"

    def check_queries(self, Q: Any, name: str = "Q") -> Any:
        """Return a list or an array, of at least one object."""
        return as_objects(Q, name)

    def check_items(self, P: Any, name: str = "P") -> Any:
        """Return a list or an array, of at least one object."""
        return as_objects(P, name)

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of every query with every item, as an (n_queries, n_items) array."""
        queries, items = self.check_queries(Q), self.check_items(P)
        return self._block(queries, range(len(queries)), items, range(len(items)))

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of query i with item i, as an (n_queries,) array."""
        queries, items = self.check_queries(Q), self.check_items(P)
        check_same_length(queries, "Q", items, "P")
        return np.array([self._call(queries[i], i, items[i], i) for i in range(len(queries))])

    def distance(self, Q: Any, P: Any) -> np.ndarray:
        """Return the distance of every query to every item, as an (n_queries, n_items) array."""
        if not self.is_distance:
            raise TypeError(f"{self!r} has no distance: it was made from a similarity.")
        return -self.score(Q, P)

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Return the score as one term: a function has no parts that could be told."""
        score = self._call(q, 0, p, 0)
        return Explanation(score, (Term("query", "item", score),), 0.0)

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        queries, items = self.check_queries(Q), self.check_items(P)
        return BlockScorer(
            len(queries),
            len(items),
            ready=lambda chunk: range(chunk.start, chunk.stop),
            score_block=lambda block, chunk: self._block(
                queries, range(block.start, block.stop), items, chunk
            ),
            parallel=False,  # nothing is known of the function, so one call at a time
        ), np.float64

    def _block(self, queries: Any, rows: range, items: Any, columns: range) -> np.ndarray:
        scores = np.empty((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                scores[i, j] = self._call(queries[row], row, items[column], column)
        return scores

    def _call(self, q: Any, query: int, p: Any, item: int) -> float:
        number = call_on_pair(self.function, q, p, lambda: f"query {query} and item {item}")
        if self.is_distance and number < 0:
            raise ValueError(
                f"a distance must not be negative, but was {number} on query {query} and item "
                f"{item}."
            )
        return -number if self.is_distance else number
