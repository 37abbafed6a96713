"""What MLKR learns and predicts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import train_test_split
from tests.oracles import nca as oracle

import likewise as lw


@pytest.fixture
def rows(rng):
    """Return rows whose number depends on one column of four, the one that varies least."""
    X = rng.normal(size=(80, 4)) * [0.3, 3, 3, 3] + 5
    return X, 40 * np.sin(3 * X[:, 0]) + 7


def standardized(y):
    y = y.reshape(len(y), -1)
    return (y - y.mean(axis=0)) / y.std(axis=0)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_the_objective_is_the_printed_one_at_the_map(rows, rng, n_targets):
    X, y = rows
    if n_targets == 2:
        y = np.stack([y, 1e3 * X[:, 1]], axis=1)
    weights = rng.uniform(0.5, 2, 80)
    mlkr = lw.MLKR().fit(X, y, weights)
    expected = oracle.regression(mlkr.components_, X, standardized(y), weights)
    assert_allclose(mlkr.objective_, expected, rtol=1e-8)
    assert mlkr.objective_ < mlkr.history_[0]["objective"]


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_predictions_are_those_of_the_kernel(rows, rng, n_targets, sparse):
    X, y = rows
    y = y if n_targets == 1 else np.stack([y, X[:, 1]], axis=1)
    weights = rng.uniform(0.5, 2, 80)
    new = rng.normal(size=(9, 4)) + 5
    kind = csr_array if sparse else np.asarray
    mlkr = lw.MLKR().fit(kind(X), y, weights)
    expected = oracle.kernel_prediction(mlkr.components_, X, y, weights, new)
    assert_allclose(mlkr.predict(kind(new)), expected, rtol=1e-9)
    assert mlkr.predict(kind(new)).shape == (9, *y.shape[1:])


def test_it_finds_the_column_that_matters(rows):
    mlkr = lw.MLKR().fit(*rows)
    size = np.linalg.norm(mlkr.components_ * rows[0].std(axis=0), axis=0)
    assert size[0] > 3 * size[1:].max()


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_the_unit_of_the_numbers_does_not_matter(rows, shift):
    X, y = rows
    usual, other = lw.MLKR().fit(X, y), lw.MLKR().fit(X, 1000 * y + shift)
    assert_allclose(other.components_, usual.components_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.predict(X), 1000 * usual.predict(X) + shift, rtol=1e-4)


def test_a_constant_target_is_predicted(rows):
    y = np.stack([np.full(80, 0.1), rows[1]], axis=1)
    mlkr = lw.MLKR().fit(rows[0], y)
    assert_allclose(mlkr.predict(rows[0])[:, 0], 0.1)
    alone = lw.MLKR().fit(rows[0], y[:, 0])
    assert_allclose(alone.predict(rows[0]), 0.1)


def test_rows_of_weight_zero_leave_no_trace(rows):
    X, y = rows[0].copy(), rows[1].copy()
    weights = np.ones(80)
    weights[3], X[3], y[3] = 0, 1e6, 1e9
    kept = weights > 0
    one, other = lw.MLKR().fit(X, y, weights), lw.MLKR().fit(X[kept], y[kept])
    assert_array_equal(one.components_, other.components_)
    assert_array_equal(one.predict(X[:3]), other.predict(X[:3]))


def test_diabetes_is_predicted_about_as_well_as_by_a_linear_model():
    X, y = load_diabetes(return_X_y=True)
    scores = []
    for seed in (0, 1):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        scores.append(lw.MLKR().fit(X_train, y_train).score(X_test, y_test))
    assert np.mean(scores) >= 0.38


@pytest.mark.parametrize(("n_rows", "n_references"), [(1100, 1000), (2100, None), (2100, 2048)])
def test_many_rows_are_learned_from_samples(n_rows, n_references):
    X, y = make_friedman1(n_rows + 400, 10, noise=1.0, random_state=0)
    mlkr = lw.MLKR(n_references=n_references, random_state=0).fit(X[:n_rows], y[:n_rows])
    assert mlkr.n_iter_ == 200
    assert mlkr.score(X[n_rows:], y[n_rows:]) >= 0.85


@pytest.mark.parametrize("n_references", [2048, 1000])
def test_a_seed_fixes_every_bit_for_any_number_of_threads(two_threads, n_references):
    X, y = make_friedman1(1200, 6, random_state=0)
    maps = {
        lw.MLKR(max_iter=4, n_references=n_references, n_jobs=n_jobs, random_state=3)
        .fit(X, y)
        .components_.tobytes()
        for n_jobs in (None, 1, 2)
    }
    assert len(maps) == 1


def test_as_many_rows_as_references_are_fitted_at_once():
    X, y = make_friedman1(1600, 10, noise=1.0, random_state=0)
    mlkr = lw.MLKR(random_state=0).fit(X[:1200], y[:1200])
    assert mlkr.n_iter_ < 100
    assert mlkr.score(X[1200:], y[1200:]) >= 0.85
    objectives = [entry["objective"] for entry in mlkr.history_]
    assert mlkr.objective_ == objectives[-1] < objectives[0]
    again = lw.MLKR(random_state=1).fit(X[:1200], y[:1200])
    assert_allclose(again.objective_, mlkr.objective_, rtol=0.02)
