"""ITML: the optimum of its problem, the projections of the paper, and bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts import cases, checks
from tests.contracts.sample_weights import PAIRS_ARE_DRAWN
from tests.oracles import itml as oracle

import likewise as lw
from likewise.learners.itml._itml import objective, relative_gap

BOUNDS = (1.0, 6.0)


@pytest.fixture
def rows(rng):
    y = np.array(["ash", "beech", "cedar"])[np.arange(60) % 3]
    X = rng.normal(size=(60, 4)) * [1, 5, 0.2, 1] + (y == "ash")[:, None] * [2, 0, 0, 0]
    return X, y


@pytest.fixture
def pairs(rng):
    """Return rows, 24 pairs of them, their labels and their differences."""
    X = rng.normal(size=(20, 3)) * [1, 2, 0.5]
    chosen = np.array([rng.choice(20, 2, replace=False) for _ in range(24)])
    similar = np.arange(24) % 3 > 0
    return X, chosen, similar, X[chosen[:, 0]] - X[chosen[:, 1]]


def matrix(learner):
    return learner.components_.T @ learner.components_


@parametrize_with_checks([lw.ITML()], expected_failed_checks=lambda _: PAIRS_ARE_DRAWN)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", checks.SIMILARITY, ids=lambda check: check.__name__)
def test_what_is_learned_keeps_the_contract_of_similarities(rows, check):
    X, y = rows
    learned = lw.ITML(random_state=0).fit(X, y).similarity_
    check(cases.Case("ITML", learned, X[:7], X[7:16], serves=("euclidean", "inner_product")))


@pytest.mark.parametrize("gamma", [0.1, 1.0])
@pytest.mark.parametrize("init", ["identity", "covariance"])
def test_the_minimum_is_where_the_projections_of_the_paper_end(pairs, gamma, init):
    X, chosen, similar, Z = pairs
    itml = lw.ITML(gamma, init=init, bounds=BOUNDS, tol=1e-12).fit_pairs(chosen, similar, X)
    start = np.eye(3) if init == "identity" else np.linalg.inv(np.cov(X.T, bias=True))
    expected, xi, multipliers = oracle.solve(start, Z, similar, BOUNDS, gamma, 400)
    assert_allclose(matrix(itml), expected, rtol=1e-4, atol=1e-5)
    found = oracle.objective(matrix(itml), start, Z, similar, BOUNDS, gamma)
    assert_allclose(itml.objective_, found, rtol=1e-8)
    assert found <= oracle.objective(expected, start, Z, similar, BOUNDS, gamma) * (1 + 1e-9)
    # the conditions of the optimum, on which the oracle relies too
    signs = np.where(similar, 1, -1)
    inverse = np.linalg.inv(start) + (Z.T * signs * multipliers) @ Z
    assert_allclose(np.linalg.inv(expected), inverse, rtol=1e-6, atol=1e-8)
    assert (signs * (np.einsum("ij,jk,ik->i", Z, matrix(itml), Z) - xi) < 1e-3).all()


def test_a_projection_ends_on_the_constraint_unless_the_multiplier_is_used_up(pairs):
    *_, Z = pairs
    for gamma in (0.3, 1.0, 5.0):
        A, xi, multiplier = oracle.project(np.eye(3), Z[0], 0.5, 0.0, 1, gamma)
        assert_allclose(Z[0] @ A @ Z[0], xi)
        assert multiplier > 0
    for kind in (1, -1):
        printed = oracle.project(np.eye(3), Z[0], 0.5, 9.0, kind, 1.0, printed=True)
        exact = oracle.project(np.eye(3), Z[0], 0.5, 9.0, kind, 1.0)
        assert_allclose(printed[0], exact[0])  # both readings agree for γ = 1


def test_the_gradient_is_that_of_finite_differences(pairs, rng):
    *_, similar, Z = pairs
    function = objective(Z, similar, np.where(similar, *BOUNDS), 0.7)
    L, direction = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    _, gradient = function(L)
    ahead, behind = (function(L + sign * 1e-6 * direction)[0] for sign in (1, -1))
    assert_allclose(np.vdot(gradient, direction), (ahead - behind) / 2e-6, rtol=1e-6)
    assert function(np.zeros((3, 3)))[0] == np.inf


def test_the_gap_bounds_the_distance_to_the_minimum(pairs):
    X, chosen, similar, Z = pairs
    best = lw.ITML(bounds=BOUNDS, tol=1e-13).fit_pairs(chosen, similar, X).objective_
    function = objective(Z, similar, np.where(similar, *BOUNDS), 1.0)
    bounded = []
    for max_iter in range(1, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            itml = lw.ITML(bounds=BOUNDS, max_iter=max_iter).fit_pairs(chosen, similar, X)
        share = 1 - best / itml.objective_
        assert share <= itml.optimality_gap_ + 1e-12
        L = itml.components_
        assert_allclose(itml.optimality_gap_, relative_gap(L, *function(L)))
        bounded.append(np.isfinite(itml.optimality_gap_))
    assert sum(bounded) >= 3
    assert itml.optimality_gap_ <= 1e-4


def test_pairs_within_their_bounds_leave_the_start(pairs):
    X, chosen, similar, Z = pairs
    squares = np.einsum("ij,ij->i", Z, Z)
    bounds = (float(squares[similar].max()), float(squares[~similar].min()))
    itml = lw.ITML(bounds=bounds).fit_pairs(chosen, similar, X)
    assert_allclose(matrix(itml), np.eye(3))
    assert itml.objective_ == itml.optimality_gap_ == itml.n_iter_ == 0


def test_a_larger_gamma_satisfies_more(pairs):
    X, chosen, similar, Z = pairs
    excess = []
    for gamma in (0.01, 1.0, 100.0):
        M = matrix(lw.ITML(gamma, bounds=BOUNDS).fit_pairs(chosen, similar, X))
        d = np.einsum("ij,jk,ik->i", Z, M, Z)
        ratios = np.where(similar, d / BOUNDS[0], BOUNDS[1] / d)
        excess.append(np.log(np.maximum(ratios, 1)).sum())
    assert excess[0] > excess[1] > excess[2]


def test_bounds_are_percentiles_and_the_metric_does_not_depend_on_the_scale(rows):
    X, y = rows
    itml = lw.ITML(random_state=0).fit(X, y)
    first, second = np.triu_indices(60, 1)
    squares = ((X[first] - X[second]) ** 2).sum(axis=1)
    assert_allclose(itml.bounds_, np.percentile(squares, (5, 95)))
    scaled = lw.ITML(random_state=0).fit(100 * X, y)
    assert_allclose(matrix(scaled), matrix(itml), rtol=1e-6, atol=1e-9)


def test_pairs_from_labels_are_seeded_and_csr_gives_the_same(rows):
    X, y = rows
    one = lw.ITML(random_state=3).fit(X, y).components_
    assert_array_equal(lw.ITML(random_state=3).fit(X, y).components_, one)
    assert not np.array_equal(lw.ITML(random_state=4).fit(X, y).components_, one)
    assert_allclose(lw.ITML(random_state=3).fit(csr_array(X), y).components_, one, atol=1e-9)


def test_it_shrinks_a_column_that_varies_without_reason():
    wine = lw.datasets.load("wine")
    plain, learned = (
        lw.SimilarityClassifier(learner=learner)
        .fit(wine.X[::2], wine.y[::2])
        .score(wine.X[1::2], wine.y[1::2])
        for learner in (None, lw.ITML(init="covariance", random_state=0))
    )
    assert learned > plain + 0.15


def test_an_end_before_convergence_is_said(pairs):
    X, chosen, similar, _ = pairs
    with pytest.warns(ConvergenceWarning, match="ITML has not converged in 1 steps"):
        lw.ITML(bounds=BOUNDS, max_iter=1).fit_pairs(chosen, similar, X)


@pytest.mark.filterwarnings("ignore")  # its own, of which it has many
def test_metric_learn_finds_the_same_matrix(metric_learn, pairs):
    X, chosen, similar, _ = pairs
    peer = metric_learn.ITML(gamma=0.3, max_iter=3000, tol=1e-9)
    peer.fit(X[chosen], np.where(similar, 1, -1), bounds=BOUNDS)
    itml = lw.ITML(0.3, bounds=BOUNDS, tol=1e-12).fit_pairs(chosen, similar, X)
    assert_allclose(matrix(itml), peer.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gamma": 0}, ValueError, "gamma must be finite and above 0"),
        ({"init": "pca"}, ValueError, "init must be one of 'identity', 'covariance'"),
        ({"bounds": (1.0,)}, ValueError, "bounds must be two squared distances"),
        ({"bounds": 3.0}, ValueError, "bounds must be two squared distances"),
        ({"bounds": (0.0, 2.0)}, ValueError, r"bounds\[0\] must be finite and above 0"),
        ({"n_pairs": 1}, ValueError, "n_pairs must be at least 2"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"tol": -1}, ValueError, "tol must be finite and at least 0"),
    ],
)
def test_bad_parameters_are_refused(rows, options, error, message):
    with pytest.raises(error, match=message):
        lw.ITML(**options).fit(*rows)


def test_rows_without_a_distance_are_refused():
    same = np.ones((6, 2))
    with pytest.raises(ValueError, match="pairs are of equal rows only"):
        lw.ITML().fit(same, [0, 1] * 3)
    with pytest.raises(ValueError, match="pairs points at row 6, but X has 6 rows"):
        lw.ITML().fit_pairs([[0, 6]], [1], np.eye(6))
    wide = csr_array((4, 2001))
    with pytest.raises(ValueError, match="2001 features, and ITML makes it dense"):
        lw.ITML().fit(wide, [0, 1, 0, 1])
