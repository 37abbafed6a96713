"""The original Winnow: the printed updates, and a bound on its mistakes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import landmarks as oracle

import likewise as lw


@given(
    X=strategies.tables(st.integers(2, 12), st.integers(1, 5), (0.0, 1.0, 0.25)),
    labels=st.lists(st.booleans(), min_size=12, max_size=12),
    epsilon=st.sampled_from([0.125, 0.5]),
    threshold=st.sampled_from([None, 0.7]),
)
def test_weights_are_those_of_the_formula(X, labels, epsilon, threshold):
    y = np.array(labels[: len(X)])
    y[0], y[1] = False, True
    weights, mistakes = oracle.original_winnow(X, y, epsilon, 3, threshold)
    for rows in (X, csr_array(X)):
        winnow = lw.Winnow(epsilon, 3, threshold).fit(rows, y)
        assert_allclose(np.exp(winnow.log_weights_[0]), weights, rtol=1e-9)
        assert winnow.n_mistakes_ == mistakes
        reached = winnow.decision_function(rows)
        sums = X @ weights
        assert_allclose(
            reached, (sums - winnow.threshold_) / (sums + winnow.threshold_), atol=1e-12
        )


def test_a_sum_that_equals_the_threshold_is_positive():
    winnow = lw.Winnow().fit([[1.0, 1.0], [1.0, 0.0]], ["yes", "no"])
    assert winnow.n_mistakes_ == 0
    assert winnow.decision_function([[1.0, 1.0]]) == 0
    assert winnow.predict([[1.0, 1.0], [1.0, 0.0]]).tolist() == ["yes", "no"]


@given(
    n_features=st.integers(2, 200),
    n_relevant=st.integers(1, 4),
    epsilon=st.sampled_from([0.1, 0.5, 0.9]),
    seed=st.integers(0, 10),
)
def test_mistakes_stay_below_the_bound(n_features, n_relevant, epsilon, seed):
    """For a disjunction of r features: 2r (log d / log(1 + ε) + 1) + 1/ε."""
    n_relevant = min(n_relevant, n_features)
    X = (np.random.default_rng(seed).random((300, n_features)) < 0.3).astype(float)
    y = X[:, :n_relevant].any(axis=1)
    y[0], X[0, :n_relevant] = False, 0
    y[1], X[1, 0] = True, 1
    winnow = lw.Winnow(epsilon).partial_fit(X, y, classes=[False, True])
    promotions = n_relevant * (np.log(n_features) / np.log1p(epsilon) + 1)
    assert winnow.n_mistakes_ <= 2 * promotions + 1 / epsilon


def test_a_feature_above_one_is_a_repeated_demotion():
    X = np.array([[3.0, 0.0], [0.0, 3.0]])
    winnow = lw.Winnow(0.5, 1).fit(X, [0, 1])
    assert_allclose(winnow.log_weights_, [[3 * np.log(0.5), 0.0]])
    big = lw.Winnow().fit(1e100 * X, [0, 1])
    assert np.isfinite(big.log_weights_).all()
    assert big.predict(1e100 * X).tolist() == [0, 1]


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
def test_the_weight_of_a_row_is_a_power_of_its_factor(form, rng):
    X, y = (rng.random((30, 4)) < 0.5).astype(float), np.arange(30) % 3
    weights = np.where(y == 2, 0.0, 2.0)
    winnow = lw.Winnow(n_passes=1).fit(form(X), y, sample_weight=weights)
    assert winnow.classes_.tolist() == [0, 1]
    kept = y != 2
    expected, threshold = np.zeros(4), 4
    for x, positive in zip(X[kept], y[kept] == 1, strict=True):
        predicted = np.exp(expected) @ x >= threshold
        if predicted != positive:
            expected += 2 * np.log(1.5 if positive else 0.5) * x
    assert_allclose(winnow.log_weights_[0], expected, atol=1e-12)


def test_more_than_two_classes_have_a_problem_each(rng):
    y = rng.integers(3, size=300)
    X = np.hstack([np.eye(3)[y], (rng.random((300, 20)) < 0.2)])
    winnow = lw.Winnow().fit(X[:200], y[:200])
    assert winnow.log_weights_.shape == (3, 23)
    assert winnow.score(X[200:], y[200:]) > 0.95


def test_landmark_features_can_use_it(rng, tmp_path):
    ring = lw.datasets.circle(300, random_state=0)
    labels = np.where(np.arange(300) < 150, ring.y, -1)
    clf = lw.SimilarityFeatureClassifier(classifier=lw.Winnow(), n_landmarks=100, random_state=0)
    clf.fit(ring.X, labels)
    assert clf.score(ring.X[150:], ring.y[150:]) > 0.7
    lw.save(clf, tmp_path / "c")
    loaded = lw.load(tmp_path / "c")
    assert_array_equal(loaded.decision_function(ring.X), clf.decision_function(ring.X))


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"epsilon": 1.0}, [[0.0], [1.0]], r"epsilon must be below 1, but 1\.0 was given"),
        ({"epsilon": 0}, [[0.0], [1.0]], "epsilon must be finite and above 0"),
        ({"threshold": 0}, [[0.0], [1.0]], "threshold must be finite and above 0"),
        ({"n_passes": 0}, [[0.0], [1.0]], "n_passes must be at least 1"),
        ({}, [[0.0], [-1.5]], r"X holds -1\.5, but features must be at least 0"),
    ],
)
def test_bad_input_is_refused(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        lw.Winnow(**parameters).fit(X, [0, 1])


def test_negative_features_are_refused_in_prediction():
    winnow = lw.Winnow().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="BalancedWinnow takes any"):
        winnow.predict([[-1.0]])
