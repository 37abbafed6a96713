"""SiLA's perceptron in blocks of rows: the same mistakes as one row at a time, but faster.

A block of rows is scored by one matrix product. A mistake adds x dᵀ to A, which changes the scores
of later rows by (x_a · x)(d · x_b): the block stores this pair of vectors for each mistake. With a
Gram matrix the vectors are sums of a few of its rows. For the cosine, scores are computed in single
precision, and again in double where rounding could change a decision.

When mistakes are rare, each row has a lower bound on its margin. Every mistake lowers it by the
largest possible loss of margin. A row with a positive bound is not a mistake and is not scored.

The diagonal form has neither pairs nor bounds, because an update has full rank in the scores: each
mistake ends its block. While mistakes are frequent, the diagonal form, and narrow rows of any form,
are visited one by one in a compiled loop; few rows always are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from likewise import kernels
from likewise._validation import Rows, is_sparse
from likewise.learners.sila._averaging import BestAverage, Form, Updates, VotedSum
from likewise.similarities import (
    map_rows,
    paired_products,
    products,
    sums,
    to_dense,
    to_unit_length,
)

_NORMS = {"none": 0, "cosine": 0, "dice": 1, "jaccard": 2}  # cosine: rows have unit length

GRAM_BYTES = 2**30  # up to 11,585 rows; in single precision 16,384
_SCORES_PER_BLOCK = 2**21
_MAX_ROWS_PER_BLOCK = 256
_MAX_FEATURES_SINGLE = 2_048  # with more, too many scores would be computed again in double
_MISTAKES_PER_BLOCK = 32  # with more, another matrix product would be faster
_CAPACITY = 64
_NARROW = 32  # number of features up to which visiting rows one by one is fast
_MAX_MULTIPLICATIONS = 500_000  # of an epoch, up to which blocks do not pay off
_RARE = 0.02  # share of mistakes below which bounds save time


@dataclass(eq=False)
class TrainingRun:
    """The epochs of one perceptron, with optional validation."""

    perceptron: "Perceptron"
    best: BestAverage | None
    n_epochs: int
    history: list[dict[str, Any]] = field(default_factory=list)
    started: float = field(default_factory=perf_counter)

    @property
    def voted(self) -> VotedSum:
        """The voted sum so far."""
        return self.perceptron.voted

    def advance(self, epochs: range, order: Callable[[int], np.ndarray]) -> None:
        """Run some epochs, visiting rows in ``order(epoch)``."""
        for epoch in epochs:
            mistakes, scored = self.perceptron.epoch(order(epoch))
            self.n_epochs = epoch + 1
            entry: dict[str, Any] = {"epoch": epoch + 1, "mistakes": mistakes, "scored": scored}
            if self.best is not None:
                self.best.evaluate(self.voted, epoch + 1)
                entry["accuracy"] = self.best.accuracy
            self.history.append({**entry, "seconds": perf_counter() - self.started})

    def result(self) -> tuple[np.ndarray, int, int | None]:
        """Return the matrix, and its number of epochs and tail."""
        if self.best is not None:
            return self.best.W, self.best.n_epochs, self.best.tail
        return self.voted.total(), self.n_epochs, self.voted.tail

    def state(self) -> dict[str, Any]:
        """Return the state that `SiLA.partial_fit` continues from."""
        voted = self.voted
        return {
            "A": voted.A,
            "weighted": voted.weighted,
            "n_visits": voted.n_visits,
            "n_updates": voted.n_updates,
            "n_epochs": self.n_epochs,
            "tail": voted.tail,
            **vars(voted.recent),
        }


class SortedRows:
    """Rows sorted by class, with the data that all problems on them share.

    Attributes
    ----------
    original : (n,) int64
        Row number of each row before sorting.
    X : array or CSR
        With unit length for the cosine.
    rounded : array or CSR
        `X` in single precision where that suffices for most decisions; else `X`.
    labels : (n,) int64
    segments : (n_classes + 1,) int64
        First row of each class.
    """

    def __init__(self, X: Rows, labels: np.ndarray, norm: str) -> None:
        self.original = np.argsort(labels, kind="stable")
        self.labels = labels[self.original]
        self.segments = np.searchsorted(self.labels, np.arange(labels.max() + 2))
        X = X[self.original].astype(np.float64)
        self.X = to_unit_length(X) if norm == "cosine" else X
        self.norm = _NORMS[norm]
        self.sizes = sums(X) if self.norm else np.zeros(len(labels))
        # For rows of unit length, the rounding error depends only on the number of features.
        single = norm == "cosine" and not is_sparse(X) and X.shape[1] <= _MAX_FEATURES_SINGLE
        self.rounded = self.X.astype(np.float32) if single else self.X

    @cached_property
    def gram(self) -> np.ndarray:
        """All inner products; an empty matrix where they would need too much memory."""
        n, dtype = len(self.labels), self.rounded.dtype
        if n * n * dtype.itemsize > GRAM_BYTES:
            return np.empty((0, 0), dtype)
        return products(self.rounded, self.rounded)

    @cached_property
    def columns(self) -> np.ndarray:
        """Transposed rows."""
        return np.ascontiguousarray(self.X.T)

    def inverse_norms(self, rows: np.ndarray, partners: np.ndarray) -> np.ndarray:
        """Return 1/N of pairs of rows; 0 where N is 0."""
        if self.norm == 0:
            return np.ones(len(rows))
        N = self.sizes[rows] + self.sizes[partners]
        if self.norm == 2:
            N -= paired_products(self.X[rows], self.X[partners])
        return np.divide(1, N, out=np.zeros(len(N)), where=N > 0)


class Perceptron:
    """One learning problem on sorted rows: the targets of each row, and its rows of other classes.

    Parameters
    ----------
    rows : SortedRows
    group : (n,) int64
        Group of each row.
    reach : (n_groups, 4) int64
        The classes opposed to a group, as two ranges: from, to, from, to.
    targets : (n, k) int64
        Positions among the sorted rows; −1 for a missing target.
    weights : (n,) float64
        Factor of the updates of each row, at most 1.
    voted : VotedSum
        Collects the updates.
    """

    def __init__(
        self,
        rows: SortedRows,
        group: np.ndarray,
        reach: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        voted: VotedSum,
    ) -> None:
        n, k = targets.shape
        self.rows, self.voted = rows, voted
        spans = rows.segments[reach]
        n_opposed = spans[:, 1] - spans[:, 0] + spans[:, 3] - spans[:, 2]
        present, targets = targets >= 0, np.maximum(targets, 0)
        inverse = rows.inverse_norms(np.repeat(np.arange(n), k), targets.ravel()).reshape(n, k)
        self._problem = kernels.SilaProblem(
            rows.norm, voted.form == "symmetric", rows.sizes, rows.original, rows.segments, reach,
            spans, group, targets, inverse * present, weights,
            *_inverse_norm_bounds(rows, spans, group), np.minimum(n_opposed, k)[group],
        )  # fmt: skip
        diagonal = voted.form == "diagonal"
        self._one_by_one_share = min_share_one_by_one(rows, diagonal)
        capacity = _CAPACITY if self._one_by_one_share >= 1 else max(n, _CAPACITY)
        self._mistakes = np.empty(capacity, np.int64)
        self._others = np.empty((capacity, k), np.int64)
        self._other_weights = np.empty((capacity, k))
        self._pairs = np.empty((2, 1 if diagonal else _CAPACITY, n), rows.rounded.dtype)
        # scratch arrays of the kernels
        self._best, self._nearest = np.empty(k + 1), np.empty(k + 1, np.int64)
        self._vectors = np.empty((2, rows.X.shape[1]))
        self._extremes = np.empty((4, max(len(reach), len(rows.segments))))
        self._block_size = min(_MAX_ROWS_PER_BLOCK, max(1, _SCORES_PER_BLOCK // n))
        self._bounds = np.full(n, -np.inf)
        self._tracking = False
        self._mistake_share = 0.5  # in the last epoch

    def epoch(self, order: np.ndarray) -> tuple[int, int]:
        """Visit all rows in an order; return the numbers of mistakes and of scored rows."""
        n = len(order)
        at = n_mistakes = n_scored = 0
        if self._mistake_share == 0:  # no mistakes in an epoch: nothing changes any more
            self.voted.n_visits += n
            return 0, 0
        self._order = order
        scores = np.empty((self._block_size, n), self.rows.rounded.dtype)
        if self._mistake_share > self._one_by_one_share:
            n_mistakes, n_scored, at = self._visit_one_by_one(), n, n
        while at < n:
            places = self._candidates(at)
            if len(places) == 0:
                break
            n_visited, n_new = self._visit_block(places, scores)
            at = int(places[n_visited - 1]) + 1
            n_mistakes += n_new
            n_scored += n_visited
        self.voted.n_visits += n
        self._mistake_share = n_mistakes / n
        if not self._tracking and self._mistake_share < _RARE and self.voted.form != "diagonal":
            self._tracking = True
            self._bounds.fill(-np.inf)
        return n_mistakes, n_scored

    def _visit_one_by_one(self) -> int:
        """Visit all rows with a product each, and learn from mistakes."""
        voted, order = self.voted, self._order
        inner = self.rows.gram if self.rows.norm == 2 else np.zeros((1, len(order)))
        n_mistakes = kernels.visit_each(
            order, self.rows.columns, np.atleast_2d(voted.A), np.atleast_2d(voted.weighted),
            voted.n_visits, voted.form == "diagonal", self._problem, inner, self._mistakes,
            self._others, self._other_weights, self._vectors, np.empty(len(order)), self._best,
            self._nearest,
        )  # fmt: skip
        if n_mistakes:
            updates = None
            if voted.tail is not None:
                updates = self._updates(order, np.arange(len(order)), slice(0, n_mistakes))
            voted.record(n_mistakes, voted.n_visits + int(self._mistakes[0]), updates)
        return n_mistakes

    def _candidates(self, at: int) -> np.ndarray:
        """Return the positions, from `at` on, of the next rows that may be mistakes."""
        n = len(self._order)
        if self.voted.form == "diagonal":
            size = 1 / max(self._mistake_share, 1 / n)  # each mistake ends its block
        else:
            size = _MISTAKES_PER_BLOCK / max(self._mistake_share, 1 / n)
        size = int(min(max(size, 1), self._block_size))
        if not self._tracking:
            return np.arange(at, min(at + size, n))
        return at + np.flatnonzero(self._bounds[self._order[at:]] <= 0)[:size]

    def _visit_block(self, places: np.ndarray, scores: np.ndarray) -> tuple[int, int]:
        """Visit rows until a mistake invalidates the rest of the block; learn from mistakes."""
        rows = self._order[places]
        X, voted = self.rows.X, self.voted
        queries = map_rows(X[rows], voted.A)
        block = self._block(queries, scores)
        diagonal = voted.form == "diagonal"
        gram = np.empty((0, 0), block.dtype) if diagonal else self.rows.gram
        inner, inner_rows = np.zeros((1, len(self._order))), rows
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
                gram, self._pairs, n_mistakes, self._mistakes, self._others, self._other_weights,
                self._tracking, self._bounds, np.empty(len(self._order), block.dtype), self._best,
                self._nearest, self._vectors, self._extremes,
            )  # fmt: skip
            if n_mistakes == before or diagonal or len(gram):
                break
            self._write_pair(rows, n_mistakes - 1)
        if n_mistakes:
            voted.add(self._updates(rows, places, slice(0, n_mistakes)))
        return at, n_mistakes

    def _block(self, queries: Rows, scores: np.ndarray) -> np.ndarray:
        """Return the scores of queries with all rows; dense ones are written into `scores`."""
        rounded = self.rows.rounded
        if is_sparse(rounded):
            return products(queries, rounded)
        narrowed = queries.astype(rounded.dtype, copy=False)
        return np.matmul(narrowed, rounded.T, out=scores[: len(queries)])

    def _updates(self, rows: np.ndarray, places: np.ndarray, which: slice) -> Updates:
        at = self._mistakes[which]
        partners = self._problem.targets[rows[at]], self._others[which]
        pulls = self._problem.row_weights[rows[at], None] * self._problem.target_weights[rows[at]]
        weights = pulls, -self._other_weights[which]
        return Updates(
            rows[at], np.hstack(partners), np.hstack(weights), self.voted.n_visits + places[at]
        )

    def _write_pair(self, rows: np.ndarray, last: int) -> None:
        """Write the pair of vectors of the last mistake, without a Gram matrix."""
        X = self.rows.X
        update = self._updates(rows, rows, slice(last, last + 1))
        pair = np.vstack([to_dense(X[update.rows]), to_dense(update.differences(X))])
        self._pairs[:, last] = (X @ pair.T).T
        if self._tracking:
            kernels.lower_bounds(
                self._pairs, last, self._problem, X.shape[1], self._extremes, self._bounds
            )


def min_share_one_by_one(rows: SortedRows, diagonal: bool) -> float:
    """Return the share of mistakes above which visiting rows one by one beats blocks."""
    n, n_features = rows.X.shape
    if is_sparse(rows.X) or (rows.norm == 2 and len(rows.gram) == 0):
        return 1.0
    if n * n * n_features <= _MAX_MULTIPLICATIONS:
        return 0.0
    if diagonal:  # each mistake ends its block
        return 0.01 + n * n_features / 4e6
    return 0.1 if n_features <= _NARROW else 1.0


def _inverse_norm_bounds(
    rows: SortedRows, spans: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum and minimum of 1/N between a row and the rows of other classes."""
    n, sizes = len(group), rows.sizes
    if rows.norm == 0:
        return np.ones(n), np.ones(n)
    smallest_sums, largest_sums = np.empty(len(spans)), np.empty(len(spans))
    for number, (a, b, c, d) in enumerate(spans):
        others = np.concatenate([sizes[a:b], sizes[c:d]])
        positive = others[others > 0]  # zero rows always score 0
        smallest_sums[number] = positive.min(initial=np.inf)
        largest_sums[number] = positive.max(initial=0.0)
    smallest_sums, largest_sums = smallest_sums[group], largest_sums[group]
    # xᵀy ≤ min(‖x‖₁, ‖y‖₁) for values in [0, 1], so Jaccard's N is at least the larger
    smallest = sizes + smallest_sums if rows.norm == 1 else np.maximum(sizes, smallest_sums)
    largest = sizes + largest_sums
    inverse = [np.divide(1, N, out=np.zeros(n), where=N > 0) for N in (smallest, largest)]
    return inverse[0], inverse[1]


def initial_matrix(n_features: int, form: Form, init: str, norm: str) -> np.ndarray:
    """Return the first matrix of the sequence: zero, or the base similarity's."""
    shape = n_features if form == "diagonal" else (n_features, n_features)
    if init == "zero":
        return np.zeros(shape)
    scale = 2.0 if norm == "dice" else 1.0
    return np.full(n_features, scale) if form == "diagonal" else scale * np.eye(n_features)
