"""The bilinear form and its norms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from tests import strategies
from tests.oracles import similarities as oracle

import likewise as lw
from likewise.exceptions import NotFoldableError

NORMS = ("none", "cosine", "dice", "jaccard")
IN_UNIT_INTERVAL = (0.0, 0.25, 0.5, 1.0)


@st.composite
def problems(draw):
    """Draw a form (number, diagonal, square or rectangular), its norm, and rows for it."""
    norm = draw(st.sampled_from(NORMS))
    width = draw(st.integers(1, 4))
    other = width if norm == "jaccard" else draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["number", "diagonal", "matrix"]))
    W = draw(strategies.tables(st.just(width), st.just(other)))
    if kind != "matrix":
        other = width
        W = W[0, 0] if kind == "number" else np.resize(W, width)
    values = IN_UNIT_INTERVAL if norm in ("dice", "jaccard") else strategies.GRID
    Q = draw(strategies.tables(st.integers(1, 4), st.just(width), values))
    P = draw(strategies.tables(st.integers(1, 5), st.just(other), values))
    return W, norm, Q, P


@given(problem=problems())
def test_score_is_the_printed_formula(problem):
    W, norm, Q, P = problem
    expected = oracle.bilinear(W, norm, Q, P)
    assert_allclose(lw.Bilinear(W, norm=norm).score(Q, P), expected, rtol=1e-12, atol=1e-12)


def test_binary_rows_get_the_dice_and_jaccard_of_sets():
    a, b = {0, 1, 2}, {1, 2, 3, 4}
    Q, P = (np.isin(np.arange(6), list(members))[None].astype(float) for members in (a, b))
    assert_allclose(lw.as_similarity("dice").score(Q, P), 2 * len(a & b) / (len(a) + len(b)))
    assert_allclose(lw.as_similarity("jaccard").score(Q, P), len(a & b) / len(a | b))


@pytest.mark.parametrize("norm", NORMS)
def test_a_zero_row_scores_zero_with_everything(norm):
    s = lw.Bilinear(np.ones((2, 2)), norm=norm)
    rows = np.array([[0.0, 0.0], [0.5, 1.0]])
    assert_array_equal(s.score(rows[:1], rows), [[0.0, 0.0]])
    assert_array_equal(s.score(rows, rows[:1]), [[0.0], [0.0]])
    assert_array_equal(s.score_pairs(csr_array(rows[:1]), csr_array(rows[:1])), [0.0])


def test_a_read_only_array_is_taken_without_a_copy():
    W = np.eye(3)
    W.flags.writeable = False
    assert lw.Bilinear(W).W is W


def test_later_changes_of_the_caller_s_array_have_no_effect():
    W = np.eye(2)
    view = W[:]
    view.flags.writeable = False  # read-only itself, and yet its base can change
    similarities = [lw.Bilinear(W), lw.Bilinear(view)]
    W[0, 0] = 99.0
    assert [s.W[0, 0] for s in similarities] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "dtype"),
    [([[1, 2]], np.float64), (np.eye(2, dtype=np.float16), np.float64), (True, np.float64),
     (np.eye(2, dtype=np.float32), np.float32), (np.eye(2, dtype=">f8"), np.float64)],
)  # fmt: skip
def test_a_form_is_float32_or_float64(given, dtype):
    assert lw.Bilinear(given).W.dtype == dtype


def test_widths_tell_what_queries_and_items_must_have():
    s = lw.Bilinear(np.ones((2, 3)))
    assert (s.n_query_features, s.n_item_features) == (2, 3)
    s = lw.Bilinear(np.ones(4))
    assert (s.n_query_features, s.n_item_features) == (4, 4)
    s = lw.Bilinear(1.0)
    assert (s.n_query_features, s.n_item_features) == (None, None)


def test_only_the_query_is_folded(rng):
    W, Q, P = rng.normal(size=(2, 3)), rng.normal(size=(4, 2)), rng.normal(size=(5, 3))
    for norm in ("none", "cosine"):
        s = lw.Bilinear(W, norm=norm)
        assert_allclose(s.fold_queries(Q), Q @ W)
        assert s.fold_items(P) is P


def test_sparse_rows_stay_sparse_under_a_number_or_a_diagonal():
    rows = csr_array(np.eye(3))
    for W in (1.0, 2.0, np.arange(3.0)):
        s = lw.Bilinear(W, norm="cosine")
        assert issparse(s.fold_queries(rows))
        assert issparse(s.fold_items(rows, "inner_product"))


def test_items_of_another_length_are_refused_where_the_index_sees_lengths():
    P = np.array([[1.0, 0.0], [3.0, 4.0]])
    for metric in ("cosine", "euclidean"):
        with pytest.raises(NotFoldableError, match="row 1 of P is 4 off: use 'inner_product'"):
            lw.Bilinear(1.0).fold_items(P, metric)


def test_a_zero_item_is_refused_where_the_index_is_euclidean():
    """Its distance to the query is |q'|, which is nearer than items that score higher."""
    P = np.array([[0.3, 1.0], [0.0, 0.0]])
    s = lw.as_similarity("cosine")
    with pytest.raises(NotFoldableError, match="row 1 of P, which is zero"):
        s.fold_items(P, "euclidean")
    assert_array_equal(s.fold_items(P, "inner_product")[1], [0.0, 0.0])


@pytest.mark.parametrize("norm", ["dice", "jaccard"])
def test_dice_and_jaccard_say_that_they_do_not_fold(norm):
    s = lw.Bilinear(1.0, norm=norm)
    rows = np.eye(2)
    for fold in (
        lambda: s.folded_metric,
        lambda: s.fold_queries(rows),
        lambda: s.fold_items(rows, "cosine"),
        lambda: s.unfold_scores(rows, rows),
    ):
        with pytest.raises(NotFoldableError, match=f"norm '{norm}' does not fold"):
            fold()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: lw.Bilinear([[np.nan]]), ValueError, "W holds NaN or infinity"),
        (lambda: lw.Bilinear([[np.inf]]), ValueError, "W holds NaN or infinity"),
        (lambda: lw.Bilinear([["a"]]), TypeError, "W must be numbers"),
        (lambda: lw.Bilinear(None), TypeError, "W must be numbers"),
        (lambda: lw.Bilinear([[1j]]), TypeError, "W must be numbers"),
        (lambda: lw.Bilinear(np.ones((2, 2, 2))), ValueError, r"W must be a matrix.*\(2, 2, 2\)"),
        (lambda: lw.Bilinear([[1.0], [2.0, 3.0]]), ValueError, "W must be a matrix"),
        (lambda: lw.Bilinear(np.ones((0, 2))), ValueError, r"W must be a matrix.*\(0, 2\)"),
        (lambda: lw.Bilinear(1.0, norm="cosin"), ValueError,
         "norm must be one of 'none', 'cosine', 'dice', 'jaccard'.*Did you mean 'cosine'"),
        (lambda: lw.Bilinear(1.0, norm=None), TypeError, "norm must be one of"),
        (lambda: lw.Bilinear(np.ones((2, 3)), norm="jaccard"), ValueError, "square W.*2×3"),
    ],
)  # fmt: skip
def test_a_form_that_is_none_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(
    ("norm", "value", "message"),
    [
        ("dice", -0.5, "Q holds -0.5, but norm 'dice' needs values that are not negative"),
        ("jaccard", -0.5, "Q holds -0.5, but norm 'jaccard'"),
        ("jaccard", 1.5, r"Q holds 1.5, but norm 'jaccard' needs values in \[0, 1\]"),
    ],
)
def test_values_for_which_a_norm_is_not_defined_are_refused(form, norm, value, message):
    s, good = lw.Bilinear(1.0, norm=norm), form(np.eye(2))
    bad = form(np.array([[0.5, value]]))
    for use in (s.score, s.score_pairs, s.explain, lambda q, p: s.neighbors(q, p, 1)):
        with pytest.raises(ValueError, match=message):
            use(bad, good[:1])
    with pytest.raises(ValueError, match=message.replace("Q", "P", 1)):
        s.score(good, bad)


def test_dice_takes_values_above_one():
    assert_allclose(lw.as_similarity("dice").score([[2.0]], [[3.0]]), 2 * 6 / 5)


def test_an_unknown_metric_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="metric must be one of 'inner_product', 'cosine', 'eucl"):
        lw.Bilinear(1.0).fold_queries(np.eye(2), "manhattan")
