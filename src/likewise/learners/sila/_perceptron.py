"""SiLA's visits in blocks: the same sequence of mistakes as a visit at a time, and much sooner.

A block of rows is scored by one matrix product. A mistake adds x dᵀ to A, so it changes the scores
of later rows by (x_a · x)(d · x_b): two vectors, of which the block keeps one pair a mistake. With
the Gram matrix at hand they are sums of a few of its rows. For the cosine all this is in single
precision, and what rounding could decide is computed again in double.

Where mistakes are rare, each row keeps a lower bound of its margin, which every mistake lowers by
as much as it can have done harm. A row whose bound is above 0 is no mistake and is not scored.

The diagonal form has neither: what a mistake adds to it is of full rank in the scores. There each
mistake ends its block. While mistakes are many, a diagonal, and narrow rows of any form, are
visited each by a product of its own, in one compiled loop.
"""

from functools import cached_property

import numpy as np

from likewise import kernels
from likewise._validation import Rows, is_sparse
from likewise.learners.sila._averaging import Form, Updates, VotedSum
from likewise.similarities import (
    map_rows,
    paired_products,
    products,
    sums,
    to_dense,
    to_unit_length,
)

_NORMS = {"none": 0, "cosine": 0, "dice": 1, "jaccard": 2}  # cosine: the rows have unit length

GRAM_BYTES = 2**30  # up to 11,585 rows; in single precision 16,384
_SCORES_IN_BLOCK = 2**21
_MOST_ROWS_IN_BLOCK = 256
_WIDEST_SINGLE = 2_048  # beyond, too much would have to be computed again
_MISTAKES_IN_BLOCK = 32  # about as many as cost no more than another product
_CAPACITY = 64
_NARROW = 32  # features, up to which a product for each visit is soon done
_RARE = 0.02  # below this share of mistakes, bounds are worth their keep


class SortedRows:
    """The rows in order of class, and what every problem on them shares.

    Attributes
    ----------
    original : (n,) int64
        Number of each row before it was sorted.
    X : array or CSR
        Of unit length for the cosine.
    rounded : array or CSR
        The same in single precision, where that can decide most; else the same.
    labels : (n,) int64
    segments : (n_classes + 1,) int64
        Where the classes begin.
    """

    def __init__(self, X: Rows, labels: np.ndarray, norm: str) -> None:
        self.original = np.argsort(labels, kind="stable")
        self.labels = labels[self.original]
        self.segments = np.searchsorted(self.labels, np.arange(labels.max() + 2))
        X = X[self.original].astype(np.float64)
        self.X = to_unit_length(X) if norm == "cosine" else X
        self.norm = _NORMS[norm]
        self.sizes = sums(X) if self.norm else np.zeros(len(labels))
        # Rows of unit length: how far off single precision is follows from their width alone.
        single = norm == "cosine" and not is_sparse(X) and X.shape[1] <= _WIDEST_SINGLE
        self.rounded = self.X.astype(np.float32) if single else self.X

    @cached_property
    def gram(self) -> np.ndarray:
        """All inner products, where there is room for them; else an empty matrix."""
        n, dtype = len(self.labels), self.rounded.dtype
        if n * n * dtype.itemsize > GRAM_BYTES:
            return np.empty((0, 0), dtype)
        return products(self.rounded, self.rounded)

    @cached_property
    def columns(self) -> np.ndarray:
        """The rows as columns."""
        return np.ascontiguousarray(self.X.T)

    def inverse_norms(self, rows: np.ndarray, partners: np.ndarray) -> np.ndarray:
        """Return 1/N of pairs of rows, 0 where N is 0."""
        if self.norm == 0:
            return np.ones(len(rows))
        N = self.sizes[rows] + self.sizes[partners]
        if self.norm == 2:
            N -= paired_products(self.X[rows], self.X[partners])
        return np.divide(1, N, out=np.zeros(len(N)), where=N > 0)


class Visits:
    """One problem on sorted rows: which rows are targets and which are others to a row.

    Parameters
    ----------
    rows : SortedRows
    group : (n,) int64
        Of each row.
    reach : (n_groups, 4) int64
        The classes that are others to a group: from, to and again from, to.
    targets : (n, k) int64
        Positions among the sorted rows; −1 where there are fewer.
    voted : VotedSum
        Where updates go.
    """

    def __init__(
        self,
        rows: SortedRows,
        group: np.ndarray,
        reach: np.ndarray,
        targets: np.ndarray,
        voted: VotedSum,
    ) -> None:
        n, k = targets.shape
        self.rows, self.voted = rows, voted
        spans = rows.segments[reach]
        n_reached = spans[:, 1] - spans[:, 0] + spans[:, 3] - spans[:, 2]
        present, targets = targets >= 0, np.maximum(targets, 0)
        weights = rows.inverse_norms(np.repeat(np.arange(n), k), targets.ravel()).reshape(n, k)
        self._problem = kernels.SilaProblem(
            rows.norm, voted.form == "symmetric", rows.sizes, rows.original, rows.segments, reach,
            spans, group, targets, weights * present, *_inverse_norm_bounds(rows, spans, group),
            np.minimum(n_reached, k)[group],
        )  # fmt: skip
        diagonal = voted.form == "diagonal"
        self._often = often_enough(rows, diagonal)
        capacity = _CAPACITY if self._often >= 1 else max(n, _CAPACITY)
        self._mistakes = np.empty(capacity, np.int64)
        self._others = np.empty((capacity, k), np.int64)
        self._other_weights = np.empty((capacity, k))
        shape = 1 if diagonal else _CAPACITY, n
        self._left, self._right = (np.empty(shape, rows.rounded.dtype) for _ in range(2))
        self._most_rows = min(_MOST_ROWS_IN_BLOCK, max(1, _SCORES_IN_BLOCK // n))
        self._bounds = np.full(n, -np.inf)
        self._tracking = False
        self._share = 0.5  # of mistakes, in the last epoch

    def epoch(self, order: np.ndarray) -> tuple[int, int]:
        """Visit every row once, in an order; return how many were mistakes, and how many scored."""
        n = len(order)
        at = n_mistakes = n_scored = 0
        if self._share == 0:  # an epoch without mistakes: nothing will change any more
            self.voted.n_visits += n
            return 0, 0
        self._order = order
        scores = np.empty((self._most_rows, n), self.rows.rounded.dtype)
        if self._share > self._often:
            n_mistakes, n_scored, at = self._visit_each(), n, n
        while at < n:
            places = self._candidates(at)
            if len(places) == 0:
                break
            n_visited, n_new = self._visit(places, scores)
            at = int(places[n_visited - 1]) + 1
            n_mistakes += n_new
            n_scored += n_visited
        self.voted.n_visits += n
        self._share = n_mistakes / n
        if not self._tracking and self._share < _RARE and self.voted.form != "diagonal":
            self._tracking = True
            self._bounds.fill(-np.inf)
        return n_mistakes, n_scored

    def _visit_each(self) -> int:
        """Visit all rows, each by a product of its own, and learn from mistakes."""
        voted, order = self.voted, self._order
        inner = self.rows.gram if self.rows.norm == 2 else np.empty((1, 0))
        n_mistakes = kernels.visit_each(
            order, self.rows.columns, np.atleast_2d(voted.A), np.atleast_2d(voted.weighted),
            voted.n_visits, voted.form == "diagonal", self._problem, inner, self._mistakes,
            self._others, self._other_weights,
        )  # fmt: skip
        if n_mistakes:
            updates = None
            if voted.tail is not None:
                updates = self._updates(order, np.arange(len(order)), slice(0, n_mistakes))
            voted.note(n_mistakes, voted.n_visits + int(self._mistakes[0]), updates)
        return n_mistakes

    def _candidates(self, at: int) -> np.ndarray:
        """Return the places, from `at` on, of the next rows that may be mistakes."""
        n = len(self._order)
        if self.voted.form == "diagonal":
            size = 1 / max(self._share, 1 / n)  # each mistake ends its block
        else:
            size = _MISTAKES_IN_BLOCK / max(self._share, 1 / n)
        size = int(min(max(size, 1), self._most_rows))
        if not self._tracking:
            return np.arange(at, min(at + size, n))
        return at + np.flatnonzero(self._bounds[self._order[at:]] <= 0)[:size]

    def _visit(self, places: np.ndarray, scores: np.ndarray) -> tuple[int, int]:
        """Visit rows until a mistake makes the rest of the block worthless; learn from mistakes."""
        rows = self._order[places]
        X, voted = self.rows.X, self.voted
        queries = map_rows(X[rows], voted.A)
        block = self._block(queries, scores)
        diagonal = voted.form == "diagonal"
        gram = np.empty((0, 0), block.dtype) if diagonal else self.rows.gram
        inner, inner_rows = np.empty((1, 0)), rows
        if self.rows.norm == 2:
            inner = self.rows.gram
            if len(inner) == 0:
                inner, inner_rows = products(X[rows], X), np.arange(len(rows))
        exact = (np.empty((0, 0)),) * 2 if self.rows.rounded is X else (queries, X)
        at = n_mistakes = 0
        while True:
            before = n_mistakes
            at, n_mistakes = kernels.visit_rows(
                at, rows, places, self._order, block, *exact, self._problem, inner, inner_rows,
                gram, self._left, self._right, n_mistakes, self._mistakes, self._others,
                self._other_weights, self._tracking, self._bounds,
            )  # fmt: skip
            if n_mistakes == before or diagonal or len(gram):
                break
            self._complete(rows, n_mistakes - 1)
        if n_mistakes:
            made = self._updates(rows, places, slice(0, n_mistakes))
            voted.add(made)
        return at, n_mistakes

    def _block(self, queries: Rows, scores: np.ndarray) -> np.ndarray:
        """Return the scores of queries with all rows; if dense, in the array that is given."""
        rounded = self.rows.rounded
        if is_sparse(rounded):
            return products(queries, rounded)
        narrowed = queries.astype(rounded.dtype, copy=False)
        return np.matmul(narrowed, rounded.T, out=scores[: len(queries)])

    def _updates(self, rows: np.ndarray, places: np.ndarray, which: slice) -> Updates:
        at = self._mistakes[which]
        partners = self._problem.targets[rows[at]], self._others[which]
        weights = self._problem.target_weights[rows[at]], -self._other_weights[which]
        return Updates(
            rows[at], np.hstack(partners), np.hstack(weights), self.voted.n_visits + places[at]
        )

    def _complete(self, rows: np.ndarray, last: int) -> None:
        """Write what the last mistake does to every row, without a Gram matrix."""
        X = self.rows.X
        update = self._updates(rows, rows, slice(last, last + 1))
        pair = np.vstack([to_dense(X[update.rows]), to_dense(update.differences(X))])
        self._left[last], self._right[last] = (X @ pair.T).T
        if self._tracking:
            kernels.lower_bounds(
                self._left[last], self._right[last], self._problem, X.shape[1], self._bounds
            )


def often_enough(rows: SortedRows, diagonal: bool) -> float:
    """Return the share of mistakes above which a product for each visit beats blocks."""
    n, n_features = rows.X.shape
    if is_sparse(rows.X) or (rows.norm == 2 and len(rows.gram) == 0):
        return 1.0
    if diagonal:  # each mistake ends its block
        return 0.01 + n * n_features / 4e6
    return 0.1 if n_features <= _NARROW else 1.0


def _inverse_norm_bounds(
    rows: SortedRows, spans: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the most and the least that 1/N can be between a row and its others."""
    n, sizes = len(group), rows.sizes
    if rows.norm == 0:
        return np.ones(n), np.ones(n)
    least, most = np.empty(len(spans)), np.empty(len(spans))
    for number, (a, b, c, d) in enumerate(spans):
        others = np.concatenate([sizes[a:b], sizes[c:d]])
        positive = others[others > 0]  # what is zero scores 0, whatever is learned
        least[number] = positive.min(initial=np.inf)
        most[number] = positive.max(initial=0.0)
    least, most = least[group], most[group]
    # xᵀy ≤ min(‖x‖₁, ‖y‖₁) for values in [0, 1], so Jaccard's N is at least the larger
    smallest = sizes + least if rows.norm == 1 else np.maximum(sizes, least)
    largest = sizes + most
    inverse = [np.divide(1, N, out=np.zeros(n), where=N > 0) for N in (smallest, largest)]
    return inverse[0], inverse[1]


def starting_matrix(n_features: int, form: Form, init: str, norm: str) -> np.ndarray:
    """Return the first matrix of the sequence: zero, or that of the base similarity."""
    shape = n_features if form == "diagonal" else (n_features, n_features)
    if init == "zero":
        return np.zeros(shape)
    scale = 2.0 if norm == "dice" else 1.0
    return np.full(n_features, scale) if form == "diagonal" else scale * np.eye(n_features)
