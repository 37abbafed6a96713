"""Evaluation of a similarity on held-out queries: overall, on seen items and on new items.

Values are arrays of shape (3, n_queries), as `judge` takes them: higher is better, and NaN where a
query has no relevant item of a kind.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from likewise._execution import current_backend
from likewise._threads import slices
from likewise._validation import Rows, check_labels, take
from likewise.learners.validation._gate import LABELS_ERROR_SCALE
from likewise.metrics import average_precision, ndcg_seen_new, random_order_ndcg
from likewise.similarities import Bilinear, Matches, Similarity

CUT_OFF = 10
_MIN_ROWS = 5  # for a meaningful mean
_MAX_ROWS = 2_000  # labeled rows that are ranked among themselves
_MAX_TRIPLETS = 100_000
_NUMBERS_PER_BLOCK = 4_000_000


class HeldOut(Protocol):
    """Held-out queries that evaluate a similarity."""

    measure: str
    error_scale: float

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the values of the held-out queries."""

    def without_ranking(self) -> np.ndarray:
        """Return the expected values if all scores are equal."""

    def head(self, similarity: Bilinear) -> np.ndarray | None:
        """Return the precision at 1 of each query; None if the measure is of the head itself."""


class HeldOutRelevance:
    """nDCG@10 of held-out queries among all items.

    Parameters
    ----------
    grades : CSR of shape (n_queries, n_items)
        All judgments.
    held : int array
        Row numbers of the queries, each with a relevant item.
    seen : bool array of shape (n_items,)
        Items that are relevant to a training query.
    queries, items : rows, optional
        Needed to evaluate similarities.
    same : bool, default=False
        Whether the items are the queries, which then do not find themselves.
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
        self._queries, self._items = queries, items

    def __call__(self, similarity: Similarity) -> np.ndarray:
        """Return nDCG@10 of every query."""
        n_relevant = np.bincount(self._rows, minlength=1).max()
        k = min(CUT_OFF + int(n_relevant) + self._same, self._n_items)
        ids = similarity.neighbors(take(self._queries, self.held), self._items, k).ids
        ids = ids.astype(np.int64)
        # An item that is not among the first k is below the cut-off.
        is_match = ids[self._rows] == self._columns[:, None]
        ranks = np.where(is_match.any(axis=1), is_match.argmax(axis=1), self._n_items)
        if self._same:
            own = ids == self.held[:, None]
            own_rank = np.where(own.any(axis=1), own.argmax(axis=1), self._n_items)
            ranks -= own_rank[self._rows] < ranks
        return ndcg_seen_new(self._rows, self._grades, ranks, self._seen, len(self.held), CUT_OFF)

    def head(self, similarity: Similarity) -> None:
        """Return None: nDCG@10 is a measure of the head."""

    def values_of(self, scores: np.ndarray, block: slice) -> np.ndarray:
        """Return nDCG@10 of a block of the queries from their scores with all items."""
        if self._same:
            own = self.held[block]
            scores = scores.copy()
            scores[np.arange(len(own)), own] = -np.inf
        begin, end = np.searchsorted(self._rows, (block.start, block.stop))
        rows, columns = self._rows[begin:end] - block.start, self._columns[begin:end]
        ranks = np.empty(len(rows), dtype=np.int64)
        for part in slices(len(rows), max(1, _NUMBERS_PER_BLOCK // self._n_items)):
            at, column = rows[part], columns[part, None]
            own_score = scores[at, columns[part]][:, None]
            ahead = (scores[at] > own_score).sum(axis=1)
            tied = (scores[at] == own_score) & (np.arange(self._n_items) < column)
            ranks[part] = ahead + tied.sum(axis=1)
        return ndcg_seen_new(
            rows, self._grades[begin:end], ranks, self._seen[begin:end], block.stop - block.start
        )

    def without_ranking(self) -> np.ndarray:
        """Return the expected nDCG@10 of items in random order."""
        return random_order_ndcg(
            self._rows, self._grades, self._seen, len(self.held), self._n_items - self._same
        )

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of queries whose scores with all items fit into memory."""
        return slices(len(self.held), max(1, _NUMBERS_PER_BLOCK // self._n_items))


class HeldOutTriplets:
    """Share of each held-out query's triplets that are in the correct order.

    Parameters
    ----------
    triplets : int array of shape (n_triplets, 3)
        Triplets of held-out queries.
    seen : bool array of shape (n_items,)
        Items that are the closer item of a training triplet.
    queries, items : rows, optional
        Needed to evaluate similarities.
    max_triplets : int or None, default=100_000
        Number of triplets that are used, from the first; None for all.
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
        max_triplets: int | None = _MAX_TRIPLETS,
    ) -> None:
        self._triplets = triplets[:max_triplets]
        self.held, self._query_of = np.unique(self._triplets[:, 0], return_inverse=True)
        self._seen = seen[self._triplets[:, 1]]
        self._queries, self._items = queries, items

    def __call__(self, similarity: Similarity) -> np.ndarray:
        """Return the share of every query."""
        margins = np.empty(len(self._triplets))
        for block in slices(len(margins), 4096):
            query, closer, farther = self._triplets[block].T
            rows = take(self._queries, query)
            margins[block] = similarity.score_pairs(rows, take(self._items, closer))
            margins[block] -= similarity.score_pairs(rows, take(self._items, farther))
        return self.values_of(margins)

    def head(self, similarity: Similarity) -> None:
        """Return None: triplets do not say which item is first."""

    def values_of(self, margins: np.ndarray) -> np.ndarray:
        """Return the share of every query from the margins of its triplets."""
        correct = (np.sign(margins) + 1) / 2
        return np.array(
            [
                self._means(correct, kind)
                for kind in (np.ones(len(correct), dtype=bool), self._seen, ~self._seen)
            ]
        )

    def _means(self, correct: np.ndarray, kind: np.ndarray) -> np.ndarray:
        n = np.bincount(self._query_of[kind], minlength=len(self.held))
        total = np.bincount(self._query_of[kind], correct[kind], minlength=len(self.held))
        return np.divide(total, n, out=np.full(len(self.held), np.nan), where=n > 0)

    def without_ranking(self) -> np.ndarray:
        """Return one half for every query."""
        return self.values_of(np.zeros(len(self._triplets)))

    @property
    def triplets(self) -> np.ndarray:
        """The triplets, with the position of the query in `held` instead of its row number."""
        return np.column_stack([self._query_of, self._triplets[:, 1:]])


class HeldOutLabels:
    """Average precision of held-out rows among themselves: all of them are new items."""

    measure = "map"
    error_scale = LABELS_ERROR_SCALE

    def __init__(self, X: Rows, y: np.ndarray, rows: np.ndarray) -> None:
        self._X, self._y = take(X, rows), y[rows]

    def __call__(self, similarity: Bilinear) -> np.ndarray:
        """Return the average precision of every row that has another of its class."""
        return all_new(average_precisions(similarity.score, self._X, self._y))

    def head(self, similarity: Bilinear) -> np.ndarray:
        """Return whether the nearest other row is of the same class, for the same rows."""
        counts = np.unique(self._y, return_inverse=True, return_counts=True)
        has_mate = counts[2][counts[1]] > 1
        nearest = similarity.neighbors(self._X, self._X, 1, exclude_self=True).ids[:, 0]
        same = self._y[nearest.astype(np.int64)] == self._y
        return np.asarray(same[has_mate], dtype=np.float64)

    def without_ranking(self) -> np.ndarray:
        """Return the average precision of rows in random order."""
        return all_new(average_precisions(_random_scores, self._X, self._y))


def all_new(values: np.ndarray) -> np.ndarray:
    """Return the values of queries whose items are all new."""
    return np.array([values, np.full(len(values), np.nan), values])


def _random_scores(Q: Rows, P: Rows) -> np.ndarray:
    return np.random.default_rng(0).random((Q.shape[0], P.shape[0]))


def average_precisions(
    score: Callable[[Any, Any], np.ndarray], X: Rows, y: np.ndarray
) -> np.ndarray:
    """Return the average precision of each row as a query among the others.

    Rows without another row of their class are left out. `score` returns the scores of rows of
    queries with rows of items.
    """
    precisions = []
    for block in slices(X.shape[0], max(1, _NUMBERS_PER_BLOCK // X.shape[0])):
        scores = score(X[block], X)
        same = y[block, None] == y
        own = np.arange(block.start, block.stop)
        scores[np.arange(len(own)), own], same[np.arange(len(own)), own] = -np.inf, False
        order = np.argsort(-scores, axis=1, kind="stable")
        gains = np.take_along_axis(same, order, axis=1)
        n_relevant = gains.sum(axis=1)
        precisions.append(average_precision(gains[n_relevant > 0], n_relevant[n_relevant > 0]))
    return np.concatenate(precisions)


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
            block_size=max(1, _NUMBERS_PER_BLOCK // n),
        )
        precisions = np.concatenate(list(blocks))
    if len(precisions) == 0:
        raise ValueError("y has no class of two rows or more, so no row has a relevant row.")
    return float(precisions.mean())


def precisions_of_block(matches: Matches, start: int, labels: np.ndarray) -> np.ndarray:
    """Return the average precision of a block of queries, of which the first is row `start`."""
    gains = labels[matches.ids.astype(np.int64)] == labels[start : start + len(matches.ids), None]
    n_relevant = gains.sum(axis=1)
    return average_precision(gains[n_relevant > 0], n_relevant[n_relevant > 0])


def held_out_rows(splits: np.ndarray, split: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a split; a random sample of them if there are many."""
    rows = np.flatnonzero(splits == split)
    if len(rows) > _MAX_ROWS:
        rows = np.sort(rng.permutation(rows)[:_MAX_ROWS])
    return rows


def can_validate_labels(y: np.ndarray, held: np.ndarray, rest: np.ndarray) -> bool:
    """Return whether held-out rows have others of their class, and the rest suffices to train."""
    counts = np.unique(y[held], return_counts=True)[1]
    left = np.unique(y[rest], return_counts=True)[1]
    pairs = len(counts) > 1 and counts[counts > 1].sum() >= _MIN_ROWS
    return bool(pairs and len(left) > 1 and left.max() > 1)


def held_out_queries(
    candidates: np.ndarray, splits: np.ndarray, split: int, maximum: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the candidate queries of a split; a random sample if there are more than `maximum`."""
    held = candidates[splits[candidates] == split]
    return held if len(held) <= maximum else np.sort(rng.permutation(held)[:maximum])
