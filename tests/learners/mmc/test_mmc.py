"""MMC: its constraint, the optimum, invariance, and bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import PAIRS_ARE_DRAWN
from tests.oracles import mmc as oracle

import likewise as lw
from likewise.learners.mmc._mmc import objective


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(24, 3)) * [1, 3, 0.5]
    X[:12, 0] += 2
    chosen = np.array([rng.choice(24, 2, replace=False) for _ in range(40)])
    similar = (chosen < 12).sum(axis=1) != 1
    return X, chosen, similar, X[chosen[:, 0]] - X[chosen[:, 1]]


def matrix(learner):
    return learner.components_.T @ learner.components_


@parametrize_with_checks([lw.MMC(200)], expected_failed_checks=lambda _: PAIRS_ARE_DRAWN)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("diagonal", [False, True])
def test_similar_pairs_have_the_sum_of_one_and_the_objective_is_the_printed_one(pairs, diagonal):
    X, chosen, similar, Z = pairs
    mmc = lw.MMC(diagonal=diagonal).fit_pairs(chosen, similar, X)
    assert_allclose(oracle.constraint(matrix(mmc), Z, similar), 1)
    assert_allclose(mmc.objective_, oracle.objective(matrix(mmc), Z, similar))
    off = matrix(mmc) - np.diag(np.diag(matrix(mmc)))
    assert (np.abs(off).max() == 0) == diagonal


def test_ascent_by_projections_ends_at_the_same_maximum(pairs):
    X, chosen, similar, Z = pairs
    mmc = lw.MMC(tol=1e-8).fit_pairs(chosen, similar, X)
    reached = oracle.solve(Z, similar, 120)
    assert_allclose(oracle.constraint(reached, Z, similar), 1)
    value = oracle.objective(reached, Z, similar)
    assert value <= mmc.objective_ * (1 + mmc.optimality_gap_)
    assert_allclose(value, mmc.objective_, rtol=1e-4)
    assert_allclose(reached, matrix(mmc), atol=0.02 * np.abs(reached).max())


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_objective_rises_and_the_gap_bounds_what_is_left(pairs, diagonal):
    X, chosen, similar, _ = pairs
    best = lw.MMC(diagonal=diagonal, tol=1e-10).fit_pairs(chosen, similar, X).objective_
    values = []
    for max_iter in range(1, 9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner = lw.MMC(diagonal=diagonal, max_iter=max_iter, tol=1e-10)
            mmc = learner.fit_pairs(chosen, similar, X)
        values.append(mmc.objective_)
        assert best / mmc.objective_ - 1 <= mmc.optimality_gap_ + 1e-12
    assert (np.diff(values) >= 0).all()
    assert values[0] < values[-1]


@pytest.mark.parametrize("shape", [(3, 3), (3,)])
def test_the_gradient_is_that_of_finite_differences(pairs, rng, shape):
    *_, similar, Z = pairs
    function = objective(Z[~similar])
    L, direction = rng.normal(size=shape), rng.normal(size=shape)
    ahead, behind = (function(L + sign * 1e-6 * direction)[0] for sign in (1, -1))
    assert_allclose(np.vdot(function(L)[1], direction), (ahead - behind) / 2e-6, rtol=1e-6)


def test_distances_do_not_depend_on_the_units_of_the_features(pairs, rng):
    X, chosen, similar, _ = pairs
    A = rng.normal(size=(3, 3))
    plain = lw.MMC(tol=1e-10).fit_pairs(chosen, similar, X)
    mapped = lw.MMC(tol=1e-10).fit_pairs(chosen, similar, X @ A)
    expected = plain.similarity_.distance(X[:5], X)
    assert_allclose(mapped.similarity_.distance(X[:5] @ A, X @ A), expected, rtol=1e-3, atol=1e-4)
    units = np.array([1.0, 1e3, 1e-3])
    plain, scaled = (
        lw.MMC(diagonal=True, tol=1e-10).fit_pairs(chosen, similar, X * scale).components_ * scale
        for scale in (np.ones(3), units)
    )
    assert_allclose(scaled, plain, rtol=1e-3, atol=1e-4)


def test_a_column_in_which_similar_pairs_never_differ_does_no_harm(pairs):
    X, chosen, similar, _ = pairs
    group = np.column_stack([X, np.arange(24) < 12])
    mmc = lw.MMC().fit_pairs(chosen, similar, group)
    assert np.isfinite(mmc.components_).all()
    assert np.abs(mmc.components_[:, 3]).max() > 0


@pytest.mark.filterwarnings("ignore")  # those of metric-learn, of which it has many
def test_metric_learn_does_not_find_more(pairs, metric_learn):
    X, chosen, similar, Z = pairs
    peer = metric_learn.MMC(max_iter=30, tol=1e-4).fit(X[chosen], np.where(similar, 1, -1))
    theirs = peer.get_mahalanobis_matrix()
    theirs = theirs / oracle.constraint(theirs, Z, similar)
    ours = lw.MMC(tol=1e-8).fit_pairs(chosen, similar, X)
    reached = oracle.objective(theirs, Z, similar)
    assert 0.98 * ours.objective_ < reached <= ours.objective_ * (1 + 1e-9)


def test_pairs_from_labels_are_seeded(pairs):
    X = pairs[0]
    y = np.arange(24) < 12
    one = lw.MMC(100, random_state=3).fit(X, y).components_
    assert_array_equal(lw.MMC(100, random_state=3).fit(X, y).components_, one)
    assert not np.array_equal(lw.MMC(100, random_state=4).fit(X, y).components_, one)


def test_it_finds_the_column_that_tells_classes_apart(rng):
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 6)) * [0.3, 3, 3, 3, 3, 3]
    X[:, 0] += y
    plain, learned = (
        lw.SimilarityClassifier(learner=learner).fit(X[:60], y[:60]).score(X[60:], y[60:])
        for learner in (None, lw.MMC(random_state=0))
    )
    assert learned > plain + 0.2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"diagonal": 1}, TypeError, "diagonal must be True or False"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"tol": -1}, ValueError, "tol must be finite and at least 0"),
        ({"n_pairs": 0}, ValueError, "n_pairs must be at least 2"),
    ],
)
def test_bad_parameters_are_refused(pairs, options, error, message):
    X, chosen, similar, _ = pairs
    with pytest.raises(error, match=message):
        lw.MMC(**options).fit_pairs(chosen, similar, X)


@pytest.mark.parametrize(
    ("pairs", "y", "message"),
    [
        ([[0, 1]], [1], "y has no dissimilar pair, and MMC needs both kinds"),
        ([[0, 1]], [0], "y has no similar pair, and MMC needs both kinds"),
        ([[0, 0], [0, 1]], [1, 0], "similar pairs are of equal rows only"),
        ([[0, 1], [0, 0]], [1, 0], "dissimilar pairs are of equal rows only"),
        ([[0, 0], [1, 1]], [1, 0], "pairs are of equal rows only"),
    ],
)
def test_pairs_of_one_kind_are_refused(pairs, y, message):
    with pytest.raises(ValueError, match=message):
        lw.MMC().fit_pairs(pairs, y, np.eye(3))
