"""Balanced Winnow: the printed updates, and a bound on its mistakes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import landmarks as oracle

import likewise as lw
from likewise import kernels
from likewise.exceptions import InterruptedWarning


def with_one(X):
    return np.hstack([X, np.ones((len(X), 1))])


@given(
    X=strategies.tables(st.integers(2, 12), st.integers(1, 5), (0.0, 1.0, -1.0, 0.3)),
    labels=st.lists(st.booleans(), min_size=12, max_size=12),
    margin=st.sampled_from([0.0, 0.2, 0.7]),
    epsilon=st.sampled_from([0.1, 0.5, 2.0]),
    intercept=st.booleans(),
)
def test_weights_are_those_of_the_formula(X, labels, margin, epsilon, intercept):
    y = np.array(labels[: len(X)])
    y[0], y[1] = False, True
    winnow = lw.BalancedWinnow(epsilon, 3, margin, intercept).fit(X, y)
    table = with_one(X) if intercept else X
    expected = oracle.winnow(table, np.where(y, 1.0, -1.0), epsilon, 3, margin)
    logs = np.append(winnow.log_weights_[0], winnow.log_intercept_[:intercept])
    assert_allclose(logs, np.log(expected.plus), atol=1e-9)
    assert winnow.n_mistakes_ == expected.mistakes
    score = table @ (expected.plus - expected.minus)
    most = np.abs(table) @ (expected.plus + expected.minus)
    ratio = np.divide(score, most, out=np.zeros_like(score), where=most > 0)
    assert_allclose(winnow.decision_function(X), ratio, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("margin", [0.0, 0.2])
def test_weights_of_rows_multiply_epsilon(form, margin, rng):
    X, y = rng.normal(size=(60, 5)), rng.random(60) < 0.5
    X[:, 0] += y
    weights = rng.integers(0, 4, size=60) / 2
    winnow = lw.BalancedWinnow(0.3, 3, margin).fit(form(X), y, sample_weight=weights)
    signs = np.where(y, 1.0, -1.0)
    expected = oracle.winnow(with_one(X), signs, 0.3, 3, margin, weights)
    logs = np.append(winnow.log_weights_[0], winnow.log_intercept_)
    assert_allclose(logs, np.log(expected.plus), atol=1e-9)
    assert winnow.n_mistakes_ == expected.mistakes
    once = lw.BalancedWinnow(0.3, 3, margin)
    once.partial_fit(form(X), y, classes=[False, True], sample_weight=weights)
    expected = oracle.winnow(with_one(X), signs, 0.3, 1, margin, weights)
    assert_allclose(np.append(once.log_weights_[0], once.log_intercept_), np.log(expected.plus))


def test_a_row_of_weight_zero_leaves_no_trace(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    weights = (y != 2).astype(float)
    winnow = lw.BalancedWinnow().fit(X, y, sample_weight=weights)
    expected = lw.BalancedWinnow().fit(X[y != 2], y[y != 2])
    assert winnow.classes_.tolist() == [0, 1]
    assert_array_equal(winnow.log_weights_, expected.log_weights_)
    assert winnow.n_mistakes_ == expected.n_mistakes_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_equals_dense(rng, dtype, two_threads):
    X = ((rng.random((80, 30)) < 0.2) * rng.normal(size=(80, 30))).astype(dtype)
    y = rng.integers(3, size=80)
    dense, sparse = lw.BalancedWinnow().fit(X, y), lw.BalancedWinnow().fit(csr_array(X), y)
    assert_allclose(dense.log_weights_, sparse.log_weights_, atol=1e-6)
    assert_array_equal(dense.predict(X), sparse.predict(csr_array(X)))
    assert dense.log_weights_.shape == (3, 30)


@given(
    n_features=st.integers(1, 60),
    which=st.integers(0, 59),
    epsilon=st.sampled_from([0.1, 0.5, 1.0]),
    seed=st.integers(0, 10),
)
def test_mistakes_stay_below_the_bound(n_features, which, epsilon, seed):
    """ln(2d) / (εγ − ln cosh ε) for rows in [−1, 1] with margin γ, here one feature's sign."""
    X = np.random.default_rng(seed).choice([-1.0, 1.0], size=(200, n_features))
    y = X[:, which % n_features] > 0
    winnow = lw.BalancedWinnow(epsilon, fit_intercept=False)
    for _ in range(3):
        winnow.partial_fit(X, y, classes=[False, True])
    assert winnow.n_mistakes_ <= np.log(2 * n_features) / (epsilon - np.log(np.cosh(epsilon)))


def test_mistakes_grow_with_the_logarithm_and_the_perceptrons_do_not():
    """Rows of signs, labelled by the majority of three: the margin is 1/3."""
    epsilon, widths = 0.25, (32, 256, 2048)
    winnow, perceptron = [], []
    for width in widths:
        X = np.random.default_rng(width).choice([-1.0, 1.0], size=(2000, width))
        y = X[:, :3].sum(axis=1) > 0
        model = lw.BalancedWinnow(epsilon, fit_intercept=False)
        winnow.append(model.partial_fit(X, y, classes=[False, True]).n_mistakes_)
        perceptron.append(oracle.perceptron_mistakes(X, np.where(y, 1.0, -1.0)))
    assert (winnow <= np.log(2 * np.array(widths)) / (epsilon / 3 - np.log(np.cosh(epsilon)))).all()
    assert winnow[-1] < 3 * winnow[0]  # the logarithm doubles
    assert perceptron[-1] > 6 * perceptron[0]
    assert perceptron[-1] > 5 * winnow[-1]


@pytest.mark.parametrize("scale", [1e5, 1e150, 1e305])
@pytest.mark.parametrize("as_rows", [np.asarray, csr_array])
def test_raw_features_cannot_overflow(rng, scale, as_rows):
    X = rng.normal(size=(60, 4))
    y = X[:, 1] > 0
    winnow = lw.BalancedWinnow().fit(as_rows(scale * X), y)
    assert np.isfinite(winnow.log_weights_).all()
    scores = winnow.decision_function(as_rows(scale * X))
    assert (np.abs(scores) <= 1).all()
    assert np.mean((scores > 0) == y) > 0.6


def test_a_row_that_meets_only_small_weights_is_still_scored():
    X = np.array([[1e4, 0.0], [-1e4, 0.0], [0.0, 1.0], [0.0, -1.0]])
    winnow = lw.BalancedWinnow(fit_intercept=False).fit(X, [1, 0, 1, 0])
    assert winnow.predict([[0.0, 2.0], [0.0, -2.0]]).tolist() == [1, 0]


def test_partial_fit_goes_on(rng):
    X, y = rng.integers(2, size=(60, 8)), np.array(["no", "yes"])[rng.integers(2, size=60)]
    whole = lw.BalancedWinnow(n_passes=1).fit(X, y)
    parts = lw.BalancedWinnow().partial_fit(X[:20], y[:20], classes=["yes", "no"])
    parts.partial_fit(csr_array(X[20:].astype(float)), y[20:])
    assert_allclose(parts.log_weights_, whole.log_weights_)
    assert parts.n_mistakes_ == whole.n_mistakes_


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be finite and above 0"),
        ({"n_passes": 0}, ValueError, "n_passes must be at least 1"),
        ({"margin": -0.1}, ValueError, "margin must be finite and at least 0"),
        ({"margin": 1.0}, ValueError, r"margin must be below 1, but 1\.0"),
    ],
)
def test_parameters_are_checked(parameters, error, message):
    with pytest.raises(error, match=message):
        lw.BalancedWinnow(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_labels_are_checked():
    with pytest.raises(ValueError, match="y has one class, 1; at least two"):
        lw.BalancedWinnow().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        lw.BalancedWinnow().partial_fit([[0.0]], [1])
    winnow = lw.BalancedWinnow().partial_fit([[0.0]], [1], classes=[0, 1])
    with pytest.raises(ValueError, match="y holds 7, but classes are"):
        winnow.partial_fit([[0.0]], [7])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        winnow.partial_fit([[0.0]], [1], classes=[0, 2])


def test_a_file_gives_it_back(rng, tmp_path):
    X, y = rng.normal(size=(30, 4)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    winnow = lw.BalancedWinnow(margin=0.1).fit(X, y)
    lw.save(winnow, tmp_path / "w")
    loaded = lw.load(tmp_path / "w")
    assert_array_equal(loaded.decision_function(X), winnow.decision_function(X))
    assert loaded.get_params() == winnow.get_params()


def test_ctrl_c_keeps_the_passes_done(rng, interrupt_at):
    calls = interrupt_at(2, "winnow_pass_dense", kernels)
    with pytest.warns(InterruptedWarning, match="after 2 of 5 passes; kept: these passes"):
        winnow = lw.BalancedWinnow().fit(rng.normal(size=(20, 3)), np.arange(20) % 2)
    assert len(calls) == 2
    assert winnow.n_mistakes_ > 0
