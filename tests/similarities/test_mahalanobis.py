"""The Mahalanobis distance."""

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


@st.composite
def problems(draw):
    Q, P, _ = draw(strategies.row_pairs())
    width = Q.shape[1]
    L = draw(strategies.tables(st.integers(1, 4), st.just(width)))
    return draw(st.sampled_from([L, L[0], L[0, 0]])), Q, P


@given(problem=problems())
def test_score_is_the_printed_formula(problem):
    L, Q, P = problem
    expected = oracle.mahalanobis(L, Q, P)
    assert_allclose(lw.Mahalanobis(L).score(Q, P), expected, rtol=1e-12, atol=1e-12)


@given(problem=problems())
def test_a_row_is_at_no_distance_from_itself_and_no_distance_is_negative(problem):
    L, Q, _ = problem
    found = lw.Mahalanobis(L).distance(Q, Q)
    assert_array_equal(np.diagonal(found), 0.0)
    assert (found >= 0).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_that_nearly_coincide_keep_their_digits(rng, offset, form):
    """|q|² + |p|² − 2qᵀp loses them all at an offset of 1e6."""
    Q = offset + rng.normal(size=(6, 4))
    P = Q + 1e-3 * rng.normal(size=Q.shape)
    L = rng.normal(size=(3, 4))
    for linear in (L, L[0], 2.0):
        found = lw.Mahalanobis(linear).score(form(Q), form(P))
        assert_allclose(
            np.diagonal(found), np.diagonal(oracle.mahalanobis(linear, Q, P)), rtol=1e-4
        )


@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_a_common_offset_costs_float32_no_digits(rng, offset):
    Q = (offset + rng.normal(size=(30, 20))).astype(np.float32)
    L = rng.normal(size=(10, 20))
    exact = oracle.mahalanobis(L, Q.astype(float), Q.astype(float))
    found = lw.Mahalanobis(L).score(Q, Q)
    assert_allclose(found, exact, rtol=1e-4, atol=1e-6 * np.abs(exact).max())


def test_queries_and_items_fold_to_their_images():
    s = lw.Mahalanobis([[2.0, 1.0]])
    rows = np.array([[1.0, 1.0], [0.0, 3.0]])
    assert s.folded_metric == "euclidean"
    assert_array_equal(s.fold_queries(rows), [[3.0], [3.0]])
    assert_array_equal(s.fold_items(rows), [[3.0], [3.0]])
    assert_array_equal(s.fold_queries(rows, "inner_product"), [[3.0, 1.0], [3.0, 1.0]])
    assert_array_equal(s.fold_items(rows, "inner_product"), [[3.0, -4.5], [3.0, -4.5]])


def test_a_score_that_an_index_rounds_above_zero_becomes_zero():
    s = lw.Mahalanobis(1.0)
    assert_array_equal(s.unfold_scores([[1.0]], [[1.0]], "inner_product"), [[0.0]])


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_other_metrics_are_refused(metric):
    s = lw.Mahalanobis(np.eye(2))
    for fold in (s.fold_queries, s.fold_items, lambda X, m: s.unfold_scores(X, X, m)):
        with pytest.raises(NotFoldableError, match=f"metric '{metric}'.*use 'euclidean'"):
            fold(np.eye(2), metric)


def test_sparse_rows_stay_sparse_under_a_number_or_a_diagonal():
    rows = csr_array(np.eye(3))
    for L in (1.0, 2.0, np.arange(3.0)):
        for metric in ("euclidean", "inner_product"):
            assert issparse(lw.Mahalanobis(L).fold_queries(rows, metric))
            assert issparse(lw.Mahalanobis(L).fold_items(rows, metric))


def test_a_map_to_fewer_components_takes_rows_of_its_width():
    s = lw.Mahalanobis(np.ones((2, 3)))
    assert s.n_features == 3
    assert s.fold_queries(np.ones((4, 3))).shape == (4, 2)
    assert lw.Mahalanobis(2.0).n_features is None


@pytest.mark.parametrize(
    ("L", "error", "message"),
    [
        ([[np.nan]], ValueError, "L holds NaN or infinity"),
        ([], ValueError, r"L must be a matrix.*\(0,\)"),
        ("abc", TypeError, "L must be numbers"),
        (np.ones((1, 1, 1)), ValueError, r"L must be a matrix.*\(1, 1, 1\)"),
        ([[1.0], [1.0, 2.0]], ValueError, "L must be a matrix"),
    ],
)
def test_a_map_that_is_none_is_refused(L, error, message):
    with pytest.raises(error, match=message):
        lw.Mahalanobis(L)


def test_items_of_another_width_than_the_queries_are_refused():
    for L in (1.0, np.ones(2), np.eye(2)):
        with pytest.raises(ValueError, match="P has 3 columns, but 2 are needed"):
            lw.Mahalanobis(L).score(np.eye(2), np.eye(3))


def test_pairs_must_be_as_many_on_both_sides():
    with pytest.raises(ValueError, match="Q has 2 rows and P has 1, but they pair row by row"):
        lw.Mahalanobis(1.0).score_pairs(np.eye(2), np.ones((1, 2)))
