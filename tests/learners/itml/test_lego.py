"""LEGO: its closed form, a stream in parts, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import PAIRS_ARE_DRAWN
from tests.oracles import itml as oracle

import likewise as lw
from likewise.learners.itml._lego import follow_pairs

BOUNDS = (1.0, 6.0)


@pytest.fixture
def stream(rng):
    X = rng.normal(size=(30, 4)) * [1, 2, 0.5, 1]
    pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(60)])
    return pairs, np.arange(60) % 2, X


@parametrize_with_checks([lw.LEGO(n_pairs=100)], expected_failed_checks=lambda _: PAIRS_ARE_DRAWN)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(0.1, 10.0), st.booleans())
def test_an_update_minimizes_divergence_and_loss(seed, eta, bound, is_similar):
    rng = np.random.default_rng(seed)
    root, z = rng.normal(size=(3, 3)) + np.eye(3), rng.normal(size=3)
    M = root.T @ root + 0.1 * np.eye(3)
    d = z @ M @ z
    bound = d * (bound / 10.1 if is_similar else 1 + bound)  # violated
    expected = oracle.lego_update(M, z, bound, eta)
    assert follow_pairs(M, z[None], np.array([is_similar]), np.array([bound, bound]), eta) == 1
    assert_allclose(M, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    new = z @ M @ z
    assert min(d, bound) <= new * (1 + 1e-9)
    assert new <= max(d, bound) * (1 + 1e-9)  # between what it was and the bound


def test_a_pair_within_its_bound_changes_nothing():
    M = np.eye(2)
    Z = np.array([[0.5, 0.0], [3.0, 0.0], [0.0, 0.0]])
    assert follow_pairs(M, Z, np.array([True, False, False]), np.array(BOUNDS), 1.0) == 0
    assert_array_equal(M, np.eye(2))


def test_the_matrix_stays_positive_definite(stream):
    pairs, y, X = stream
    lego = lw.LEGO(100.0, bounds=(1e-3, 1e3))
    for _ in range(20):
        lego.partial_fit_pairs(pairs, y, X)
    assert lego.n_updates_ > 1000
    assert np.linalg.eigvalsh(lego.matrix_)[0] > 0
    assert_allclose(lego.components_.T @ lego.components_, lego.matrix_, rtol=1e-9)


def test_parts_of_a_stream_give_what_the_stream_gives(stream):
    pairs, y, X = stream
    whole = lw.LEGO(bounds=BOUNDS).fit_pairs(pairs, y, X)
    parts = lw.LEGO(bounds=BOUNDS)
    for part in np.array_split(np.arange(60), 7):
        parts.partial_fit_pairs(pairs[part], y[part], X)
    assert_array_equal(parts.components_, whole.components_)
    assert parts.n_pairs_seen_ == whole.n_pairs_seen_ == 60
    assert 0 < parts.n_updates_ == whole.n_updates_ <= 60


def test_labels_can_come_in_parts_and_a_file_goes_on(tmp_path, rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    lego = lw.LEGO(n_pairs=50, random_state=0).partial_fit(X[:20], y[:20])
    lw.save(lego, tmp_path / "lego.safetensors")
    loaded = lw.load(tmp_path / "lego.safetensors")
    for each in (lego, loaded):
        each.partial_fit(X[20:], y[20:])
    assert_array_equal(loaded.matrix_, lego.matrix_)
    assert lego.n_pairs_seen_ == 100
    again = lw.LEGO(n_pairs=50, random_state=0).fit(X[:20], y[:20]).partial_fit(X[:20], y[:20])
    first = lw.LEGO(n_pairs=50, random_state=0).fit(X[:20], y[:20])
    assert_array_equal(first.bounds_, again.bounds_)
    assert not np.array_equal(first.matrix_, again.matrix_)  # other pairs


def test_the_step_does_not_depend_on_the_scale_of_the_rows(stream):
    pairs, y, X = stream
    small, large = (
        lw.LEGO(random_state=0).fit_pairs(pairs, y, scale * X).matrix_ for scale in (1, 1000)
    )
    assert_allclose(large, small, rtol=1e-9)


def test_it_helps_on_iris():
    iris = lw.datasets.load("iris")
    X, y = (iris.X - iris.X.mean(axis=0)) / iris.X.std(axis=0), iris.y
    plain, learned = (
        lw.SimilarityClassifier(learner=learner).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        for learner in (None, lw.LEGO(n_pairs=3000, random_state=0))
    )
    assert learned > plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0}, "eta must be finite and above 0"),
        ({"bounds": (1, 2, 3)}, "bounds must be two squared distances"),
        ({"n_pairs": 1}, "n_pairs must be at least 2"),
    ],
)
def test_bad_parameters_are_refused(stream, options, message):
    with pytest.raises(ValueError, match=message):
        lw.LEGO(**options).fit_pairs(*stream)


def test_rows_of_another_width_do_not_cost_what_was_learned(stream):
    pairs, y, X = stream
    lego = lw.LEGO().fit_pairs(pairs, y, X)
    kept = lego.matrix_.copy()
    with pytest.raises(ValueError, match="X has 2 features, but LEGO is expecting 4"):
        lego.partial_fit_pairs(pairs, y, X[:, :2])
    with pytest.raises(ValueError, match="X has no two different rows"):
        lw.LEGO().fit(np.ones((6, 2)), [0, 1] * 3)
    assert_array_equal(lego.matrix_, kept)
