"""The margin of SiLA, as printed, and the bounds of its theorems on the shipped learner."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from tests.oracles import sila as oracle

import likewise as lw
from likewise.learners.sila._margin import SiLAMargin


def labeled(rng, n=40, apart=0.5):
    y = np.arange(n) % 3
    return np.abs(rng.normal(size=(n, 5))) * 0.2 + apart * np.eye(5)[y], y


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("norm", ["cosine", "dice", "jaccard", "none"])
def test_margins_and_deviation_are_those_of_definition_2(form, norm, rng):
    X, y = labeled(rng, n=15)
    X = np.minimum(X, 1)
    sila = lw.SiLA(form, norm, 2, n_epochs=2).fit(X, y)
    found = sila.margin(X, y)
    A = sila.similarity_.W
    expected = oracle.margins(np.diag(A) if form == "diagonal" else A, X, y, 2, norm)
    assert_allclose(found.margins, expected, atol=1e-10)
    for gamma in (0.1, 0.7):
        assert_allclose(found.deviation(gamma), oracle.deviation(expected, gamma))
    sparse = sila.margin(csr_array(X), y)
    assert_allclose(sparse.margins, expected, atol=1e-10)
    assert_allclose(sparse.radius, found.radius)


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("norm", ["cosine", "dice", "jaccard", "none"])
def test_the_radius_bounds_every_update_and_alpha_is_the_matrix_of_the_features(form, norm, rng):
    X, y = labeled(rng, n=20)
    X = np.minimum(X, 1)
    sila = lw.SiLA(form, norm, 2, n_epochs=2).fit(X, y)
    found = sila.margin(X, y)
    A = sila.similarity_.W
    A = (np.diag(A) if form == "diagonal" else A) / np.linalg.norm(A)
    alpha = found.alpha_norm * A
    targets = oracle.targets(X, y, 2, norm)
    for i in range(len(X)):
        others = [j for j in range(len(X)) if y[j] != y[i]]
        hardest = oracle.nearest(A, X, i, others, 2, norm)
        near = sum(oracle.features(X[i], X[j], form, norm) for j in targets[i])
        far = sum(oracle.features(X[i], X[j], form, norm) for j in hardest)
        assert_allclose(np.sum(alpha * (near - far)), found.margins[i], atol=1e-10)
        for z in combinations(others, 2):
            update = near - sum(oracle.features(X[i], X[j], form, norm) for j in z)
            assert np.linalg.norm(update) <= found.radius + 1e-10


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("norm", ["cosine", "none"])
@pytest.mark.parametrize("apart", [0.05, 0.3, 1.0])
def test_mistakes_of_an_epoch_are_within_the_bound(form, norm, apart, rng):
    """Theorems 1 and 2, at every margin and under any matrix, also one that was not learned."""
    X, y = labeled(rng, n=60, apart=apart)
    once = lw.SiLA(form, norm, n_epochs=1).fit(X, y)
    (entry,) = once.history_
    other = lw.SiLA(form, norm, n_epochs=1, init="base").fit(X[::2], y[::2])
    for sila in (once, lw.SiLA(form, norm, n_epochs=30).fit(X, y), other):
        found = sila.margin(X, y)
        gammas = (0.01, 0.3, 2.0, 50.0)
        for gamma in gammas:
            assert entry["mistakes"] <= found.mistake_bound(gamma)
        smallest = found.mistake_bound()
        assert entry["mistakes"] <= smallest <= 60
        assert smallest <= min(map(found.mistake_bound, np.geomspace(1e-3, 1e4, 300))) + 1e-9
        if found.margin > 0:
            assert found.deviation(found.margin) == 0
            separable = (found.radius * found.alpha_norm / found.margin) ** 2
            assert_allclose(found.mistake_bound(found.margin), separable)
        assert_allclose(found.error_bound(0.3), 2 / 60 * found.mistake_bound(0.3))


def test_the_smallest_bound_is_exact_where_it_is_known():
    """Of equal margins m the bound is R/γ up to m, and (R + √n (γ − m))/γ from there."""
    found = SiLAMargin(np.full(9, 2.0), 3.0)
    assert_allclose(found.mistake_bound(), (3 / 2) ** 2)
    tight = SiLAMargin(np.full(9, 2.0), 7.0)  # R > √n m: the bound falls to n = 9
    assert tight.mistake_bound() == 9
    mixed = SiLAMargin(np.array([-1.0, 4.0, 5.0, 6.0]), 2.0)
    grid = np.geomspace(0.1, 100, 20_001)
    assert_allclose(mixed.mistake_bound(), min(map(mixed.mistake_bound, grid)), rtol=1e-6)
    with pytest.raises(ValueError, match="gamma must be above 0, but -1 was given"):
        found.mistake_bound(-1)


def test_the_expected_error_is_within_the_bound(rng):
    """Theorem 3, over random samples: error after n − 1 rows, and mistakes in n rows."""
    errors, mistakes = [], []
    for _ in range(40):
        X, y = labeled(rng, n=31, apart=0.3)
        order = rng.permutation(31)
        X, y = X[order], y[order]
        clf = lw.SimilarityClassifier(learner=lw.SiLA(n_epochs=1), rule="symmetric")
        clf.fit(X[:-1], y[:-1])
        errors.append(clf.predict(X[-1:])[0] != y[-1])
        sila = lw.SiLA(n_epochs=1).fit(X, y)
        mistakes.append(sila.history_[0]["mistakes"])
        assert mistakes[-1] <= sila.margin(X, y).mistake_bound()
    assert np.mean(errors) <= 2 / 31 * np.mean(mistakes)


def test_one_vs_rest_has_margins_for_each_class(rng):
    X, y = labeled(rng)
    sila = lw.SiLA(protocol="one_vs_rest", n_epochs=1).fit(X, y)
    margins = sila.margin(X, y)
    assert len(margins) == 3
    for entry, found in zip(sila.history_, margins, strict=True):
        assert entry["mistakes"] <= found.mistake_bound()
