"""The bandwidth that is fitted predicts rows from the others better than wider or narrower ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import nca as oracle

import likewise as lw
from likewise.learners.nca import class_bandwidth, regression_bandwidth

EUCLID = lw.Mahalanobis(1.0)


@pytest.fixture
def rows(rng):
    """Return rows in disorder, their classes, numbers and weights."""
    labels = rng.permutation(np.repeat([0, 1, 2], [30, 25, 5]))
    X = rng.normal(size=(60, 3)) + labels[:, None]
    return X, labels, X[:, 0] + rng.normal(size=60) / 3, rng.integers(1, 4, size=60) / 2


def test_classes_get_the_likelihood_of_the_oracle(rows):
    X, labels, _, weights = rows
    bandwidth = class_bandwidth(EUCLID, X, X, labels, weights)

    def likelihood(value):
        return oracle.likelihood(np.eye(3) / np.sqrt(value), X, labels, weights)

    for factor in (0.5, 0.7, 1.4, 2.0):
        assert likelihood(bandwidth) > likelihood(factor * bandwidth)


def test_numbers_get_the_squared_error_of_the_oracle(rows):
    X, _, y, weights = rows
    bandwidth = regression_bandwidth(EUCLID, X, X, y, weights)

    def error(value):
        return oracle.regression(np.eye(3) / np.sqrt(value), X, y[:, None], weights)

    for factor in (0.5, 0.7, 1.4, 2.0):
        assert error(bandwidth) < error(factor * bandwidth)


def test_scores_may_have_any_unit_and_offset(rows):
    X, labels, _, weights = rows
    matrix = EUCLID.score(X, X)
    precomputed, items = lw.as_similarity("precomputed"), np.arange(60)
    expected = class_bandwidth(EUCLID, X, X, labels, weights)
    found = class_bandwidth(precomputed, 50 * matrix + 7, items, labels, weights)
    assert_allclose(found, 50 * expected, rtol=1e-6)


def test_many_rows_are_sampled(rng):
    """The scores of all pairs of 100,000 rows would take 80 GB."""
    X, labels = rng.normal(size=(100_000, 2)), np.arange(100_000) % 2
    X[:, 0] += 2 * labels
    bandwidth = class_bandwidth(EUCLID, X, X, labels, np.ones(100_000))
    assert 0.005 < bandwidth < 5


@pytest.mark.parametrize("fit", [class_bandwidth, regression_bandwidth])
def test_rows_that_are_all_alike_have_any_bandwidth(fit):
    X, y = np.ones((6, 2)), np.arange(6) % 2
    assert fit(EUCLID, X, X, y, np.ones(6)) == 1.0
    assert fit(EUCLID, X[:1], X[:1], y[:1], np.ones(1)) == 1.0


def test_a_constant_target_has_a_finite_bandwidth(rows):
    X, _, _, weights = rows
    assert 0 < regression_bandwidth(EUCLID, X, X, np.full(60, 0.1), weights) < np.inf
