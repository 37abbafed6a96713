"""POLA: its projections, the bound of its losses, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.contracts.sample_weights import PAIRS_ARE_DRAWN
from tests.oracles import pola as oracle

import likewise as lw


@pytest.fixture
def stream(rng):
    """Return pairs that a known metric separates: similar ones differ in the last column only."""
    X = rng.normal(size=(60, 3))
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(400)])
    Z = X[pairs[:, 0]] - X[pairs[:, 1]]
    d = Z[:, 0] ** 2 + Z[:, 1] ** 2
    kept = (d < 1) | (d > 2)
    return pairs[kept], (d < 1)[kept].astype(int), X


@parametrize_with_checks([lw.POLA(100)], expected_failed_checks=lambda _: PAIRS_ARE_DRAWN)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_step_is_the_projection_of_the_paper(stream):
    pairs, y, X = stream
    Z = X[pairs[:, 0]] - X[pairs[:, 1]]
    for n in (1, 2, 20, len(pairs)):
        pola = lw.POLA().fit_pairs(pairs[:n], y[:n], X)
        M, b, losses = oracle.follow(Z[:n], 2 * y[:n] - 1)
        assert_allclose(pola.matrix_, M, atol=1e-9)
        assert_allclose(pola.threshold_, b)
        assert_allclose(pola.loss_, losses @ losses)
        assert pola.n_updates_ == np.count_nonzero(losses)


def test_after_a_step_the_pair_has_no_loss_before_the_second_projection(stream):
    pairs, y, X = stream
    z = X[pairs[0, 0]] - X[pairs[0, 1]]
    for sign in (1, -1):
        M, b = oracle.project_half_space(np.eye(3), 1.5, z, sign)
        assert oracle.loss(M, b, z, sign) < 1e-12
    pola = lw.POLA().fit_pairs(pairs, y, X)
    assert np.linalg.eigvalsh(pola.matrix_)[0] > -1e-12
    assert pola.threshold_ >= 1


def test_the_losses_on_separable_pairs_are_bounded(stream):
    """Each projection brings (M, b) closer to every (M*, b*) without a loss."""
    pairs, y, X = stream
    best, b = np.diag([2.0, 2.0, 0.0]), 3.0  # squared distances below 2 and above 4
    Z = X[pairs[:, 0]] - X[pairs[:, 1]]
    signs = 2 * y - 1
    assert max(oracle.loss(best, b, z, sign) for z, sign in zip(Z, signs, strict=True)) == 0
    radius = (np.einsum("ij,ij->i", Z, Z) ** 2 + 1).max()
    pola = lw.POLA()
    for _ in range(30):
        pola.partial_fit_pairs(pairs, y, X)
        assert pola.loss_ <= radius * (np.sum(best**2) + b**2)
    assert pola.n_updates_ < pola.n_pairs_seen_ / 2  # it makes ever fewer


def test_parts_of_a_stream_give_what_the_stream_gives(stream, tmp_path):
    pairs, y, X = stream
    whole = lw.POLA().fit_pairs(pairs, y, X)
    parts = lw.POLA().partial_fit_pairs(pairs[:50], y[:50], X)
    lw.save(parts, tmp_path / "pola.safetensors")
    parts = lw.load(tmp_path / "pola.safetensors").partial_fit_pairs(pairs[50:], y[50:], X)
    assert_array_equal(parts.components_, whole.components_)
    assert (parts.threshold_, parts.loss_) == (whole.threshold_, pytest.approx(whole.loss_))


def test_the_threshold_tells_similar_pairs(stream):
    pairs, y, X = stream
    pola = lw.POLA()
    for _ in range(10):
        pola.partial_fit_pairs(pairs, y, X)
    squares = -pola.similarity_.score_pairs(X[pairs[:, 0]], X[pairs[:, 1]])
    assert np.mean((squares < pola.threshold_) == y) > 0.95


def test_pairs_of_equal_rows_are_taken_as_they_are():
    pola = lw.POLA().fit_pairs([[0, 0], [0, 1], [0, 2]], [0, 1, 0], np.eye(3))
    assert np.isfinite(pola.components_).all()
    assert pola.n_pairs_seen_ == 3


def test_it_helps_on_wine():
    wine = lw.datasets.load("wine")
    X, y = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0), wine.y
    plain, learned = (
        lw.SimilarityClassifier(learner=learner).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
        for learner in (None, lw.POLA(2000, random_state=0))
    )
    assert learned > plain


def test_bad_parameters_are_refused(stream):
    with pytest.raises(TypeError, match="n_pairs must be a whole number"):
        lw.POLA(2.5).fit_pairs(*stream)
    with pytest.raises(ValueError, match="y must hold 1 for similar pairs"):
        lw.POLA().fit_pairs([[0, 1]], [3], np.eye(2))
