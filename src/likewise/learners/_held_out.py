"""Values of a similarity on queries that it has not learned from: overall, on seen items, on new.

Each is an array of shape (3, n_queries), higher is better, NaN where a query has nothing of a kind
to find: what `likewise.learners._gate` judges by.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from likewise._execution import current_backend
from likewise._threads import slices
from likewise._validation import Rows, check_labels, take
from likewise.learners._gate import ERROR_SCALE_OF_LABELS
from likewise.metrics import average_precision, ndcg_seen_new, random_order_ndcg
from likewise.similarities import Bilinear, Matches, Similarity

CUT_OFF = 10
_FEWEST_HELD_OUT = 5  # below which a mean says nothing
_MOST_ROWS = 2_000  # of labeled rows that are ranked among themselves
_MOST_TRIPLETS = 100_000
_NUMBERS_IN_BLOCK = 4_000_000


class HeldOut(Protocol):
    """What a similarity is judged by."""

    measure: str
    error_scale: float

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the values of the held-out queries."""

    def without_ranking(self) -> np.ndarray:
        """Return the values to expect where all scores are equal."""


class HeldOutRelevance:
    """nDCG@10 of held-out queries among all items.

    Parameters
    ----------
    grades : CSR of shape (n_queries, n_items)
        All judgements.
    held : int array
        Rows of the queries, each with something relevant.
    seen : bool array of shape (n_items,)
        Items that are relevant to some query that was learned from.
    queries, items : rows, optional
        Where similarities are judged.
    find : callable, optional
        From a similarity, rows of queries and of items, and k to `Matches`.
    same : bool, default=False
        Whether the items are the queries: none finds itself.
    """

    measure = f"ndcg@{CUT_OFF}"
    error_scale = 1.0

    def __init__(
        self,
        grades: Any,
        held: np.ndarray,
        seen: np.ndarray,
        queries: Rows = None,
        items: Rows = None,
        find: Callable[[Bilinear, Rows, Rows, int], Matches] | None = None,
        *,
        same: bool = False,
    ) -> None:
        part = grades[held]
        rows = np.repeat(np.arange(len(held)), np.diff(part.indptr))
        relevant = part.data > 0
        if same:
            relevant &= part.indices != held[rows]
        self._rows, self._columns = rows[relevant], part.indices[relevant]
        self._grades, self._seen = part.data[relevant], seen[self._columns]
        self.held, self._n_items, self._same = held, grades.shape[1], same
        self._queries, self._items, self._find = queries, items, find

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return nDCG@10 of every query."""
        assert self._find is not None
        most = np.bincount(self._rows, minlength=1).max()
        k = min(CUT_OFF + int(most) + self._same, self._n_items)
        ids = self._find(similarity, take(self._queries, self.held), self._items, k).ids
        ids = ids.astype(np.int64)
        # Where an item is not among the first k, it is too far down to count.
        found = ids[self._rows] == self._columns[:, None]
        ranks = np.where(found.any(axis=1), found.argmax(axis=1), self._n_items)
        if self._same:
            own = ids == self.held[:, None]
            own_rank = np.where(own.any(axis=1), own.argmax(axis=1), self._n_items)
            ranks -= own_rank[self._rows] < ranks
        return self.values_at(ranks)

    def values_of(self, scores: np.ndarray, block: slice) -> np.ndarray:
        """Return nDCG@10 of a block of the queries from their scores with all items."""
        if self._same:
            own = self.held[block]
            scores = scores.copy()
            scores[np.arange(len(own)), own] = -np.inf
        begin, end = np.searchsorted(self._rows, (block.start, block.stop))
        rows, columns = self._rows[begin:end] - block.start, self._columns[begin:end]
        ranks = np.empty(len(rows), dtype=np.int64)
        for part in slices(len(rows), max(1, _NUMBERS_IN_BLOCK // self._n_items)):
            at, column = rows[part], columns[part, None]
            own_score = scores[at, columns[part]][:, None]
            ahead = (scores[at] > own_score).sum(axis=1)
            level = (scores[at] == own_score) & (np.arange(self._n_items) < column)
            ranks[part] = ahead + level.sum(axis=1)
        return ndcg_seen_new(
            rows, self._grades[begin:end], ranks, self._seen[begin:end], block.stop - block.start
        )

    def values_at(self, ranks: np.ndarray) -> np.ndarray:
        """Return nDCG@10 of every query from how many items rank above each relevant one."""
        return ndcg_seen_new(self._rows, self._grades, ranks, self._seen, len(self.held), CUT_OFF)

    def without_ranking(self) -> np.ndarray:
        """Return nDCG@10 to expect of items in random order."""
        return random_order_ndcg(
            self._rows, self._grades, self._seen, len(self.held), self._n_items - self._same
        )

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of the queries whose scores with all items fit into memory."""
        return slices(len(self.held), max(1, _NUMBERS_IN_BLOCK // self._n_items))


class HeldOutTriplets:
    """Share of each held-out query's triplets that are in the right order.

    Parameters
    ----------
    triplets : int array of shape (n_triplets, 3)
        Of held-out queries.
    seen : bool array of shape (n_items,)
        Items that are the closer one of some triplet that was learned from.
    queries, items : rows, optional
        Where similarities are judged.
    most : int or None, default=100_000
        Triplets that are judged: the first ones, or all.
    """

    measure = "right order"
    error_scale = 1.0

    def __init__(
        self,
        triplets: np.ndarray,
        seen: np.ndarray,
        queries: Rows = None,
        items: Rows = None,
        *,
        most: int | None = _MOST_TRIPLETS,
    ) -> None:
        self._triplets = triplets[:most]
        self.held, self._of = np.unique(self._triplets[:, 0], return_inverse=True)
        self._seen = seen[self._triplets[:, 1]]
        self._queries, self._items = queries, items

    def __call__(self, similarity: Similarity) -> np.ndarray:
        """Return the share of every query."""
        margins = np.empty(len(self._triplets))
        for block in slices(len(margins), 4096):
            query, closer, farther = self._triplets[block].T
            asked = take(self._queries, query)
            margins[block] = similarity.score_pairs(asked, take(self._items, closer))
            margins[block] -= similarity.score_pairs(asked, take(self._items, farther))
        return self.values_of(margins)

    def values_of(self, margins: np.ndarray) -> np.ndarray:
        """Return the share of every query from how far each closer item scores above."""
        right = (np.sign(margins) + 1) / 2
        return np.array(
            [
                self._means(right, kind)
                for kind in (np.ones(len(right), dtype=bool), self._seen, ~self._seen)
            ]
        )

    def _means(self, right: np.ndarray, kind: np.ndarray) -> np.ndarray:
        n = np.bincount(self._of[kind], minlength=len(self.held))
        total = np.bincount(self._of[kind], right[kind], minlength=len(self.held))
        return np.divide(total, n, out=np.full(len(self.held), np.nan), where=n > 0)

    def without_ranking(self) -> np.ndarray:
        """Return one half for every query."""
        return self.values_of(np.zeros(len(self._triplets)))

    @property
    def triplets(self) -> np.ndarray:
        """The triplets that are judged, with the query as its place among the held-out ones."""
        return np.column_stack([self._of, self._triplets[:, 1:]])


class HeldOutLabels:
    """Average precision of held-out rows among themselves: all of them are new."""

    measure = "map"
    error_scale = ERROR_SCALE_OF_LABELS

    def __init__(self, X: Rows, y: np.ndarray, rows: np.ndarray) -> None:
        self._X, self._y = take(X, rows), y[rows]

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the average precision of every row that has another of its class."""
        return all_new(average_precisions(similarity.score, self._X, self._y))

    def without_ranking(self) -> np.ndarray:
        """Return the average precision of rows in random order."""
        return all_new(average_precisions(_random_scores, self._X, self._y))


def all_new(values: np.ndarray) -> np.ndarray:
    """Return values of queries whose items are all new."""
    return np.array([values, np.full(len(values), np.nan), values])


def _random_scores(Q: Rows, P: Rows) -> np.ndarray:
    return np.random.default_rng(0).random((Q.shape[0], P.shape[0]))


def average_precisions(
    score: Callable[[Any, Any], np.ndarray], X: Rows, y: np.ndarray
) -> np.ndarray:
    """Return the average precision of each row, as a query among all others, that has one to find.

    `score` gives the scores of rows of queries with rows of items.
    """
    found = []
    for block in slices(X.shape[0], max(1, _NUMBERS_IN_BLOCK // X.shape[0])):
        scores = score(X[block], X)
        same = y[block, None] == y
        own = np.arange(block.start, block.stop)
        scores[np.arange(len(own)), own], same[np.arange(len(own)), own] = -np.inf, False
        order = np.argsort(-scores, axis=1, kind="stable")
        gains = np.take_along_axis(same, order, axis=1)
        n_relevant = gains.sum(axis=1)
        found.append(average_precision(gains[n_relevant > 0], n_relevant[n_relevant > 0]))
    return np.concatenate(found)


def mean_average_precision(similarity: Bilinear, X: Rows, y: Any) -> float:
    """Return the mean average precision of each row as a query among the others."""
    backend = current_backend()
    if backend is None:
        precisions = average_precisions(similarity.score, X, check_labels(y, "y", X, "X"))
    else:
        labels = check_labels(backend.labels(y, "y"), "y", X, "X")
        shared, n = backend.share(labels), len(labels)
        blocks = backend.search(
            similarity,
            X,
            X,
            max(1, n - 1),
            precisions_of_block,
            lambda block: (block.start, shared),
            exclude_self=True,
            block_size=max(1, _NUMBERS_IN_BLOCK // n),
        )
        precisions = np.concatenate(list(blocks))
    if len(precisions) == 0:
        raise ValueError("y has no class of two rows or more, so no row has one to find.")
    return float(precisions.mean())


def precisions_of_block(matches: Matches, start: int, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of a block of queries, of which the first is row `start`."""
    gains = labels[matches.ids.astype(np.int64)] == labels[start : start + len(matches.ids), None]
    n_relevant = gains.sum(axis=1)
    return average_precision(gains[n_relevant > 0], n_relevant[n_relevant > 0])


def held_rows(
    y: np.ndarray, splits: np.ndarray, split: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the rows of a split that judge labels: some thousand at most."""
    rows = np.flatnonzero(splits == split)
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rng.permutation(rows)[:_MOST_ROWS])
    return rows


def can_judge_labels(y: np.ndarray, held: np.ndarray, rest: np.ndarray) -> bool:
    """Tell whether held-out rows have others of their class, and the rest can be learned from."""
    counts = np.unique(y[held], return_counts=True)[1]
    left = np.unique(y[rest], return_counts=True)[1]
    pairs = len(counts) > 1 and counts[counts > 1].sum() >= _FEWEST_HELD_OUT
    return bool(pairs and len(left) > 1 and left.max() > 1)


def held_queries(
    candidates: np.ndarray, splits: np.ndarray, split: int, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the candidate queries of a split, `most` of them at most."""
    held = candidates[splits[candidates] == split]
    return held if len(held) <= most else np.sort(rng.permutation(held)[:most])
