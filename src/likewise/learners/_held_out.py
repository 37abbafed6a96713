"""What an online learner is judged by: queries or triplets that it does not learn from."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, take
from likewise.metrics import average_precision, ndcg_at
from likewise.similarities import Bilinear, Matches
from likewise.supervision import TripletSource

_MOST_QUERIES = 300
_MOST_ITEMS = 5_000
_MOST_TRIPLETS = 5_000
_FEWEST = 5  # held-out queries, below which a mean says nothing
_CUT_OFF = 10
_SCORES_IN_BLOCK = 4_000_000


class HeldOut(Protocol):
    """A measure of a similarity, one value for each thing that was held out; higher is better."""

    measure: str

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the values."""


def split_queries(
    candidates: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the candidates are held out and which are left to learn from."""
    n_held = min(round(fraction * len(candidates)), _MOST_QUERIES)
    if n_held < _FEWEST:
        return candidates[:0], candidates
    held = np.zeros(len(candidates), dtype=bool)
    held[rng.permutation(len(candidates))[:n_held]] = True
    return candidates[held], candidates[~held]


def split_rows(
    y: np.ndarray, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are held out as queries and which are left; none where that cannot be.

    What is held out has others of its class among the rest, and the rest can be compared.
    """
    held, rest = split_queries(np.arange(len(y)), fraction, rng)
    alone = ~np.isin(y[held], y[rest])
    held, rest = held[~alone], np.sort(np.concatenate([rest, held[alone]]))
    counts = np.unique(y[rest], return_counts=True)[1]
    if len(held) < _FEWEST or len(counts) < 2 or counts.max() < 2:
        return held[:0], np.arange(len(y))
    return held, rest


class HeldOutLabels:
    """Mean average precision of held-out rows among (at most some thousand) others."""

    measure = "map"

    def __init__(
        self, X: Rows, y: np.ndarray, queries: np.ndarray, items: np.ndarray, rng: Any
    ) -> None:
        if len(items) > _MOST_ITEMS:
            items = np.sort(rng.permutation(items)[:_MOST_ITEMS])
        self._queries, self._items = take(X, queries), take(X, items)
        self._same = y[queries][:, None] == y[items]

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the average precision of every query that has something to find."""
        return _precisions(similarity.score(self._queries, self._items), self._same)


def average_precisions(similarity: Bilinear, X: Rows, y: np.ndarray) -> np.ndarray:
    """Return the average precision of each row as a query among all others."""
    found = []
    for block in slices(X.shape[0], max(1, _SCORES_IN_BLOCK // X.shape[0])):
        scores = similarity.score(X[block], X)
        same = y[block, None] == y
        own = np.arange(block.start, block.stop)
        scores[np.arange(len(own)), own], same[np.arange(len(own)), own] = -np.inf, False
        found.append(_precisions(scores, same))
    return np.concatenate(found)


def _precisions(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, axis=1, kind="stable")
    gains = np.take_along_axis(relevant, order, axis=1)
    n_relevant = gains.sum(axis=1)
    return average_precision(gains[n_relevant > 0], n_relevant[n_relevant > 0])


class HeldOutRelevance:
    """Discounted gain of the first ten items of held-out queries, among all items."""

    measure = f"ndcg@{_CUT_OFF}"

    def __init__(
        self,
        relevance: Any,
        queries: Rows,
        items: Rows,
        held: np.ndarray,
        find: Callable[[Bilinear, Rows, Rows, int], Matches],
    ) -> None:
        self._find = find
        self._queries, self._items = take(queries, held), items
        self._grades = relevance[held].toarray()
        self._ideal = -np.sort(-self._grades, axis=1)[:, :_CUT_OFF]

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the gain of every query."""
        k = min(_CUT_OFF, self._grades.shape[1])
        found = self._find(similarity, self._queries, self._items, k)
        gains = np.take_along_axis(self._grades, found.ids.astype(np.int64), axis=1)
        return ndcg_at(gains, _CUT_OFF, self._ideal)


class HeldOutTriplets:
    """Whether triplets of held-out queries come out in the right order."""

    measure = "triplets"

    def __init__(self, source: TripletSource, queries: Rows, items: Rows, rng: Any) -> None:
        triplets = source.draw(_MOST_TRIPLETS, rng)
        self._parts = (
            take(queries, triplets[:, 0]),
            take(items, triplets[:, 1]),
            take(items, triplets[:, 2]),
        )

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return 1 for each triplet in the right order, else 0."""
        query, closer, farther = self._parts
        right = similarity.score_pairs(query, closer) > similarity.score_pairs(query, farther)
        return right.astype(np.float64)
