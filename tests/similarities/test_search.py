"""The k best items: exact, in blocks, the same on any number of threads."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.contracts.cases import CASES
from tests.oracles import similarities as oracle
from tests.oracles import topk
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.similarities import _search

WIDE = np.random.default_rng(0).normal(size=(50, 50))
EVERY_WAY = {
    "euclidean": lw.Mahalanobis(1.0),
    "mahalanobis": lw.Mahalanobis(WIDE),
    "dot": lw.Bilinear(1.0),
    "bilinear": lw.Bilinear(WIDE),
    "cosine": lw.Bilinear(1.0, norm="cosine"),
    "bilinear-cosine": lw.Bilinear(WIDE, norm="cosine"),
    "dice": lw.Bilinear(WIDE, norm="dice"),
    "jaccard": lw.Bilinear(1.0, norm="jaccard"),
}
every_way = pytest.mark.parametrize("s", EVERY_WAY.values(), ids=EVERY_WAY)
both_forms = pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def assert_same_bytes(one, other):
    assert_array_equal(one.ids, other.ids)
    assert one.scores.dtype == other.scores.dtype
    assert one.scores.tobytes() == other.scores.tobytes()


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Make a search of a few rows take several chunks and blocks."""
    monkeypatch.setattr(_search, "_ITEMS_IN_CHUNK", 5)
    monkeypatch.setattr(_search, "_ITEMS_IN_BLOCK", 2)
    monkeypatch.setattr(_search, "_SCORES_IN_BLOCK", 2)
    monkeypatch.setattr(_search, "_QUERIES_IN_BLOCK", 3)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_size_of_blocks_does_not_show(case, request):
    whole = [
        case.similarity.neighbors(case.queries, case.items, k, exclude_self=alone)
        for k in (1, 4, 20)
        for alone in (False, True)
    ]
    request.getfixturevalue("tiny_blocks")
    cut = [
        case.similarity.neighbors(case.queries, case.items, k, exclude_self=alone)
        for k in (1, 4, 20)
        for alone in (False, True)
    ]
    for one, other in zip(whole, cut, strict=True):
        assert_same_bytes(one, other)


@every_way
@both_forms
@both_types
def test_the_number_of_threads_does_not_show(s, form, dtype, rng):
    Q, P = (rng.random((n, 50)).astype(dtype) for n in (301, 513))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(s.neighbors(form(Q), form(P), 5))
    assert_same_bytes(*found)


@every_way
@both_forms
@both_types
def test_duplicates_tie_to_the_lower_row(s, form, dtype, rng):
    """A matrix product from BLAS would tell equal rows apart by where they stand."""
    Q = rng.random((7, 50)).astype(dtype)
    P = np.repeat(rng.random((1, 50)), 333, axis=0).astype(dtype)
    found = s.neighbors(form(Q), form(P), 333)
    assert_array_equal(found.ids, np.tile(np.arange(333), (7, 1)))
    assert (found.scores == found.scores[:, :1]).all()


@every_way
@both_forms
def test_equal_queries_get_equal_answers(s, form, rng):
    Q = np.repeat(rng.random((1, 50)), 301, axis=0)
    found = s.neighbors(form(Q), form(rng.random((99, 50))), 9)
    assert (found.ids == found.ids[0]).all()
    assert (found.scores == found.scores[0]).all()


@both_types
@given(problem=strategies.row_pairs())
def test_ties_on_a_grid_go_to_the_lower_row(dtype, problem):
    Q, P, k = problem
    for s, scores in (
        (lw.Mahalanobis(1.0), oracle.mahalanobis(1.0, Q, P)),
        (lw.Bilinear(1.0), oracle.bilinear(1.0, "none", Q, P)),
    ):
        found = s.neighbors(Q.astype(dtype), P.astype(dtype), k)
        best, ids = topk.best(scores, k)
        assert_array_equal(np.where(found.ids == None, topk.NO_ITEM, found.ids), ids)  # noqa: E711
        assert_array_equal(found.scores, best)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
@pytest.mark.parametrize("linear", [1.0, WIDE[0], WIDE[:10]], ids=["number", "diagonal", "matrix"])
def test_float32_rows_have_the_neighbours_of_double_precision(rng, offset, linear):
    rows = (offset + rng.normal(size=(200, 50))).astype(np.float32)
    for s, exact in (
        (lw.Mahalanobis(linear), oracle.mahalanobis),
        (lw.Bilinear(np.diag(WIDE[0])), lambda _, Q, P: oracle.bilinear(WIDE[0], "none", Q, P)),
        (
            lw.Bilinear(1.0, norm="cosine"),
            lambda _, Q, P: oracle.bilinear(1.0, "cosine", Q, P),
        ),
    ):
        Q, P = rows[:20].astype(float), rows.astype(float)
        found = s.neighbors(rows[:20], rows, 5)
        assert_array_equal(found.ids, topk.best(exact(linear, Q, P), 5)[1])


@both_types
@pytest.mark.parametrize("size", [1e6, 1e15, 1e25])
def test_an_outlier_does_not_spoil_the_rest(rng, dtype, size):
    rows = rng.normal(size=(60, 3)).astype(dtype)
    rows[17] = size
    for s in (lw.Mahalanobis(1.0), lw.Mahalanobis(np.eye(3))):
        found = s.neighbors(rows, rows, 4)
        exact = oracle.mahalanobis(1.0, rows.astype(float), rows.astype(float))
        others = np.delete(np.arange(60), 17)  # from afar all the others are as good as one
        assert_array_equal(found.ids[others], topk.best(exact[others], 4)[1])
        assert found.ids[17, 0] == 17


def test_squares_too_large_for_float32_are_still_ranked():
    """The matrix product overflows for every pair: only the rows tell which is nearest."""
    Q = np.array([[0.0, 5e20]], dtype=np.float32)
    P = np.array([[-3e20, 0.0], [3e20, 0.0], [-1e20, 0.0], [1e20, 0.0]], dtype=np.float32)
    assert_array_equal(lw.Mahalanobis(1.0).neighbors(Q, P, 2).ids, [[2, 3]])


def test_products_too_small_for_float32_are_still_ranked(rng):
    """Every entry of the matrix product underflows to zero: only the rows tell which is best."""
    rows = (1e-25 * rng.random((80, 3))).astype(np.float32)
    exact = oracle.bilinear(1.0, "none", rows.astype(float), rows.astype(float))
    found = lw.Bilinear(1.0).neighbors(rows, rows, 3)
    assert_array_equal(found.ids, topk.best(exact, 3)[1])


@both_forms
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_scores_beyond_all_numbers_are_refused(form):
    rows = form(np.array([[1e200], [-1e200], [0.0]]))
    for s in (lw.Mahalanobis(1.0), lw.Bilinear(1.0)):
        with pytest.raises(ValueError, match="beyond the range of numbers: scale them down"):
            s.neighbors(rows, rows, 3)


def test_more_queries_than_items_may_leave_themselves_out():
    found = lw.Mahalanobis(1.0).neighbors(
        [[0.0], [1.0], [2.0]], [[0.0], [1.0]], 2, exclude_self=True
    )
    assert_array_equal(found.ids, [[1, None], [0, None], [1, 0]])


def test_a_row_alone_has_no_neighbour_but_itself():
    s = lw.Mahalanobis(1.0)
    assert_array_equal(s.neighbors([[1.0]], [[1.0]], 1).ids, [[0]])
    found = s.neighbors([[1.0]], [[1.0]], 1, exclude_self=True)
    assert_array_equal(found.ids, [[None]])
    assert_array_equal(found.scores, [[-np.inf]])


@pytest.mark.parametrize(
    "s", [lw.Mahalanobis(np.eye(4)), lw.Bilinear(1.0, norm="cosine")], ids=repr
)
def test_no_table_of_queries_times_items_is_made(s, rng):
    rows = rng.random((6000, 4))
    s.neighbors(rows[:10], rows[:10], 1)  # compiled before it is watched
    tracemalloc.start()
    s.neighbors(rows, rows, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000  # an eighth of such a table


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [(0, ValueError, "k must be at least 1, but 0"), (-3, ValueError, "k must be at least 1"),
     (True, TypeError, "k must be a whole number, but True"),
     (2.5, TypeError, "k must be a whole number, but 2.5"),
     ("3", TypeError, "k must be a whole number"), (None, TypeError, "k must be a whole number")],
)  # fmt: skip
def test_k_is_a_positive_whole_number(k, error, message):
    for case in CASES:
        with pytest.raises(error, match=message):
            case.similarity.neighbors(case.queries, case.items, k)


def test_k_may_be_a_numpy_integer():
    assert lw.Mahalanobis(1.0).neighbors([[1.0]], [[1.0]], np.int32(1)).ids.shape == (1, 1)


def test_a_search_agrees_with_the_scores_of_a_larger_problem(rng, tiny_blocks):
    Q, P = rng.random((23, 50)), rng.random((41, 50))
    for s in EVERY_WAY.values():
        best, ids = topk.best(s.score(Q, P), 7)
        found = s.neighbors(Q, P, 7)
        assert_array_equal(found.ids, ids)
        assert_allclose(found.scores, best, rtol=1e-9)
