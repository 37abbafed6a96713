"""SiLA's visits are those of the plain algorithm, and its bounds never lie above a margin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import sila as oracle

from likewise import kernels

NORMS = {"cosine": 0, "none": 0, "dice": 1, "jaccard": 2}
N_CLASSES = 3


def sorted_labels(rng, n):
    """Return labels in order of class, each at least twice."""
    labels = np.append(np.repeat(np.arange(N_CLASSES), 2), rng.integers(N_CLASSES, size=n - 6))
    return np.sort(labels)


def problem_of(labels, targets, weights, N, sizes, *, norm=0, symmetric=False, of_rows=None):
    """Return what the kernels ask for, of rows that are sorted by class."""
    segments = np.searchsorted(labels, np.arange(N_CLASSES + 1))
    reach = np.array([(0, c, c + 1, N_CLASSES) for c in range(N_CLASSES)])
    other = labels[:, None] != labels
    k = targets.shape[1]
    return kernels.SilaProblem(
        norm, symmetric, sizes, np.arange(len(labels)), segments, reach, segments[reach], labels,
        targets, weights, np.ones(len(labels)) if of_rows is None else of_rows,
        1 / np.where(other, N, np.inf).min(axis=1),
        1 / np.where(other, N, 0).max(axis=1), np.minimum(k, other.sum(axis=1)),
    )  # fmt: skip


class Visited:
    """A problem for the kernels, its plain twin, and what the kernels write."""

    def __init__(self, seed, norm, *, symmetric=False, k=2, n=16, p=4, capacity=64, copies=False):
        rng = np.random.default_rng(seed)
        self.labels = sorted_labels(rng, n)
        X = rng.random((n, p)) - (0.5 if norm == "none" else 0.0)
        if copies:  # rows that single precision cannot tell apart
            X[1::2] = X[::2] + 1e-9 * rng.random((n // 2, p))
        self.X = X / np.linalg.norm(X, axis=1, keepdims=True) if norm == "cosine" else X
        self.A = rng.normal(size=(p, p))
        self.A += self.A.T if symmetric else 0
        self.norm, self.k, self.rng, self.symmetric = norm, k, rng, symmetric
        self.order = rng.permutation(n)
        self.row_weights = 1 / (1.0 + np.arange(n) % 3) if seed % 2 else np.ones(n)
        others = [[j for j in range(n) if self.labels[j] != self.labels[i]] for i in range(n)]
        # a target fewer here and there
        self.T = [list(rng.permutation(self.own(i))[: rng.integers(1, k + 1)]) for i in range(n)]
        targets, weights = np.zeros((n, k), np.int64), np.zeros((n, k))
        N = np.array([[oracle.normaliser(x, y, norm) for y in self.X] for x in self.X])
        for i, own in enumerate(self.T):
            targets[i, : len(own)], weights[i, : len(own)] = own, 1 / N[i, own]
        self.N, self.others = N, others
        sizes = self.X.sum(axis=1)
        self.problem = problem_of(
            self.labels, targets, weights, N, sizes, norm=NORMS[norm], symmetric=symmetric,
            of_rows=self.row_weights,
        )  # fmt: skip
        self.gram = self.X @ self.X.T
        self.inner = self.gram if norm == "jaccard" else np.zeros((1, n))
        self.pairs = np.zeros((2, capacity, n))
        self.mistakes = np.empty(capacity, np.int64)
        self.found, self.weights = np.empty((capacity, k), np.int64), np.empty((capacity, k))
        self.bounds = np.full(n, -np.inf)
        self.best, self.nearest = np.empty(k + 1), np.empty(k + 1, np.int64)
        self.vectors, self.extremes = np.empty((2, p)), np.empty((4, N_CLASSES))

    def own(self, i):
        """Return the other rows of a row's class."""
        return [j for j in np.flatnonzero(self.labels == self.labels[i]) if j != i]

    def twin(self, rows, form):
        """Return the matrix after each visit, and where the mistakes are and their others."""
        A = np.diag(np.diag(self.A)) if form == "diagonal" else self.A
        steps = oracle.visits(
            A, self.X, rows, self.T, self.others, self.k, form, self.norm, self.row_weights
        )
        matrices, others = zip(*steps, strict=True)
        return matrices, [(at, B) for at, B in enumerate(others) if B is not None]

    def visit(self, rows, *, dtype=np.float64, gram=None, tracking=False, places=None):
        """Run the kernel over a block."""
        queries = self.X[rows] @ self.A
        block = (queries @ self.X.T).astype(dtype)
        gram = (self.gram if gram is None else gram).astype(dtype)
        self.pairs = self.pairs.astype(dtype)
        places = np.arange(len(rows)) if places is None else places
        return kernels.visit_rows(
            0, rows, places, self.order, block, queries, self.X, self.problem, self.inner, rows,
            gram, self.pairs, 0, self.mistakes, self.found, self.weights, tracking, self.bounds,
            np.empty(len(self.X), dtype), self.best, self.nearest, self.vectors, self.extremes,
        )  # fmt: skip

    def assert_mistakes(self, rows, expected):
        """Check what was written of each mistake."""
        places = [at for at, _ in expected]
        assert_array_equal(self.mistakes[: len(expected)], places)
        for u, (at, B) in enumerate(expected):
            found = self.found[u, : len(B)]  # in any order: they are summed
            assert_array_equal(np.sort(found), np.sort(B))
            own = self.row_weights[rows[at]]
            assert_allclose(self.weights[u, : len(B)], own / self.N[rows[at], found])
            assert (self.weights[u, len(B) :] == 0).all()


seeds = st.integers(0, 10_000)


@given(seed=seeds, norm=st.sampled_from(list(NORMS)), symmetric=st.booleans(), k=st.integers(1, 4))
def test_a_block_is_visited_as_row_by_row(seed, norm, symmetric, k):
    case = Visited(seed, norm, symmetric=symmetric, k=k)
    rows = case.order
    _, expected = case.twin(rows, "symmetric" if symmetric else "square")
    assert case.visit(rows) == (len(rows), len(expected))
    case.assert_mistakes(rows, expected)
    for u, (at, B) in enumerate(expected):
        i = rows[at]
        d = sum(case.X[j] / case.N[i, j] for j in case.T[i])
        d = case.row_weights[i] * (d - sum(case.X[j] / case.N[i, j] for j in B))
        assert_allclose(case.pairs[0, u], case.X @ case.X[i], atol=1e-12)
        assert_allclose(case.pairs[1, u], case.X @ d, atol=1e-12)


@given(seed=seeds, symmetric=st.booleans(), copies=st.booleans(), k=st.integers(1, 4))
def test_single_precision_finds_the_mistakes_of_double(seed, symmetric, copies, k):
    case = Visited(seed, "cosine", symmetric=symmetric, k=k, copies=copies)
    _, expected = case.twin(case.order, "symmetric" if symmetric else "square")
    assert case.visit(case.order, dtype=np.float32) == (len(case.order), len(expected))
    case.assert_mistakes(case.order, expected)


@given(seed=seeds, spoilt=st.sampled_from([np.nan, 1e-3]))
def test_scores_that_single_precision_has_spoilt_are_computed_again(seed, spoilt):
    """At A = 0 and without mistakes so far nothing is told by a block but by rows and queries."""
    case = Visited(seed, "cosine")
    case.A[:] = 1e-38  # below what single precision holds in full
    rows = case.order[:1]
    _, expected = case.twin(rows, "square")
    queries = case.X[rows] @ case.A
    block = np.full((1, len(case.X)), spoilt * 1e-30, np.float32)
    kernels.visit_rows(
        0, rows, np.arange(1), case.order, block, queries, case.X, case.problem, case.inner, rows,
        case.gram.astype(np.float32), case.pairs.astype(np.float32), 0, case.mistakes, case.found,
        case.weights, False, case.bounds, np.empty(len(case.X), np.float32), case.best,
        case.nearest, case.vectors, case.extremes,
    )  # fmt: skip
    case.assert_mistakes(rows, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_ends_where_there_is_no_room_for_another_mistake(dtype):
    case = Visited(0, "cosine", capacity=3)
    _, expected = case.twin(case.order, "square")
    assert len(expected) > 4
    at, n_mistakes = case.visit(case.order, dtype=dtype)
    assert n_mistakes == 3
    assert at == expected[2][0] + 1
    case.assert_mistakes(case.order, expected[:3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_a_gram_matrix_a_mistake_ends_the_visits(dtype):
    case = Visited(0, "cosine")
    _, expected = case.twin(case.order, "square")
    at, n_mistakes = case.visit(case.order, dtype=dtype, gram=np.empty((0, 0)))
    assert (at, n_mistakes) == (expected[0][0] + 1, 1)
    case.assert_mistakes(case.order, expected[:1])


@given(seed=seeds, symmetric=st.booleans(), single=st.booleans())
def test_bounds_that_are_kept_lie_below_the_margins(seed, symmetric, single):
    case = Visited(seed, "cosine", symmetric=symmetric)
    form = "symmetric" if symmetric else "square"
    after, _ = case.twin(case.order, form)
    case.visit(case.order, dtype=np.float32 if single else np.float64, tracking=True)
    present = case.problem.target_weights > 0
    scores = case.X @ after[-1] @ case.X.T
    left = margins(scores, case.labels, case.problem.targets, present, case.k)
    assert (case.bounds <= left).all()
    assert np.isfinite(case.bounds).all()


def test_a_row_that_was_left_out_and_may_now_be_a_mistake_ends_the_block():
    case = Visited(0, "cosine")
    _, expected = case.twin(case.order, "square")
    first = expected[0][0]
    places = np.delete(np.arange(len(case.order)), first + 1)  # skipped, right after a mistake
    case.bounds[case.order[first + 1]] = -1.0
    found = case.visit(case.order[places], tracking=True, places=places)
    assert found == (first + 1, 1)


@given(
    seed=seeds,
    norm=st.sampled_from(list(NORMS)),
    form=st.sampled_from(["square", "symmetric", "diagonal"]),
    k=st.integers(1, 4),
)
def test_a_product_for_each_visit_gives_the_plain_sequence(seed, norm, form, k):
    case = Visited(seed, norm, symmetric=form == "symmetric", k=k)
    after, expected = case.twin(case.order, form)
    diagonal = form == "diagonal"
    A = np.diag(case.A)[None].copy() if diagonal else case.A.copy()
    begin, weighted = A.copy(), np.zeros_like(A)
    n_mistakes = kernels.visit_each(
        case.order, np.ascontiguousarray(case.X.T), A, weighted, 5, diagonal, case.problem,
        case.inner, case.mistakes, case.found, case.weights, case.vectors, np.empty(len(case.X)),
        case.best, case.nearest,
    )  # fmt: skip
    assert n_mistakes == len(expected)
    case.assert_mistakes(case.order, expected)
    assert_allclose(np.diag(A[0]) if diagonal else A, after[-1], atol=1e-11)
    # V A − Σ v δ is the sum of the matrices after every visit, 5 of them before these
    total = (5 + len(after)) * A - weighted
    expected_total = 5 * np.diag(begin[0]) if diagonal else 5 * begin
    assert_allclose(
        np.diag(total[0]) if diagonal else total, expected_total + sum(after), atol=1e-9
    )


def margins(scores, labels, targets, present, k):
    """Return Σ of the targets' scores − Σ of the k highest of other classes, row by row."""
    found = []
    for i, row in enumerate(scores):
        others = np.sort(row[labels != labels[i]])[::-1][:k]
        found.append(row[targets[i]][present[i]].sum() - others.sum())
    return np.array(found)


@given(
    seed=seeds,
    symmetric=st.booleans(),
    norm=st.sampled_from([0, 1]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_lowered_bounds_stay_below_the_margins(seed, symmetric, norm, dtype):
    rng = np.random.default_rng(seed)
    n, k = 14, int(rng.integers(1, 4))
    labels = sorted_labels(rng, n)
    targets = np.array([rng.choice(np.flatnonzero(labels == c), k) for c in labels])
    present = rng.random((n, k)) < 0.8
    sizes = rng.random(n) + 0.1 if norm else np.zeros(n)
    N = sizes[:, None] + sizes if norm else np.ones((n, n))
    weights = present / np.take_along_axis(N, targets, axis=1)
    problem = problem_of(labels, targets, weights, N, sizes, norm=norm, symmetric=symmetric)

    scores = rng.normal(size=(n, n))
    bounds = margins(scores / N, labels, targets, present, k)
    for _ in range(4):
        left = rng.uniform(-1, 1, size=n)
        right = rng.uniform(-k, k, size=n) + rng.integers(-k, k + 1)
        scores = scores + np.outer(left, right)
        if symmetric:
            scores = scores + np.outer(right, left)
        pairs = np.stack([left, right]).astype(dtype)[:, None]
        kernels.lower_bounds(pairs, 0, problem, 5, np.empty((4, N_CLASSES)), bounds)
        assert (bounds <= margins(scores / N, labels, targets, present, k)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_change_of_the_targets_alone_is_known_exactly(dtype):
    """Two rows a class; what is added touches no pair of different classes."""
    labels, targets = np.array([0, 0, 1, 1, 2, 2]), np.array([[1], [0], [3], [2], [5], [4]])
    ones = np.ones((6, 6))
    problem = problem_of(labels, targets, np.ones((6, 1)), ones, np.zeros(6))
    left = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], dtype)
    right = np.array([2.0, 2.0, 0.0, 0.0, 0.0, 0.0], dtype)
    bounds = np.zeros(6)
    pairs = np.stack([left, right])[:, None]
    kernels.lower_bounds(pairs, 0, problem, 3, np.empty((4, N_CLASSES)), bounds)
    assert_allclose(bounds, [2, 2, 0, 0, 0, 0], atol=1e-9 if dtype == np.float64 else 1e-5)
