"""The margin of SiLA, as printed, and the bounds of its theorems on the shipped learner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from tests.oracles import sila as oracle

import likewise as lw


def labeled(rng, n=40, apart=0.5):
    y = np.arange(n) % 3
    return np.abs(rng.normal(size=(n, 5))) * 0.2 + apart * np.eye(5)[y], y


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("norm", ["cosine", "dice", "jaccard", "none"])
def test_margins_are_those_of_the_definition(form, norm, rng):
    X, y = labeled(rng)
    X = np.minimum(X, 1)
    sila = lw.SiLA(form, norm, n_epochs=2).fit(X, y)
    found = sila.margin(X, y)
    A = sila.similarity_.W
    A = np.diag(A) if form == "diagonal" else A
    targets = oracle.targets(X, y, 3, norm)
    for i in range(len(X)):
        others = [j for j in range(len(X)) if y[j] != y[i]]
        hardest = oracle.nearest(A, X, i, others, 3, norm)
        near, far = (
            sum(oracle.features(X[i], X[j], form, norm) for j in partners)
            for partners in (targets[i], hardest)
        )
        expected = np.sum(A * (near - far)) / np.linalg.norm(A)
        assert_allclose(found.margins[i], expected, atol=1e-10)
        assert np.linalg.norm(near - far) <= found.radius + 1e-10
    sparse = sila.margin(csr_array(X), y)
    assert_allclose(sparse.margins, found.margins, atol=1e-10)
    assert_allclose(sparse.radius, found.radius)


@pytest.mark.parametrize("form", ["square", "symmetric", "diagonal"])
@pytest.mark.parametrize("norm", ["cosine", "none"])
@pytest.mark.parametrize("apart", [0.05, 0.3, 1.0])
def test_mistakes_of_an_epoch_are_within_the_bound(form, norm, apart, rng):
    """Theorem 2, for separable rows and others, at every margin and under any matrix."""
    X, y = labeled(rng, n=60, apart=apart)
    once = lw.SiLA(form, norm, n_epochs=1).fit(X, y)
    (entry,) = once.history_
    for sila in (once, lw.SiLA(form, norm, n_epochs=30).fit(X, y)):
        found = sila.margin(X, y)
        for gamma in (0.01, 0.3, 2.0):
            assert entry["mistakes"] <= found.mistake_bound(gamma)
        assert entry["mistakes"] <= found.mistake_bound() <= found.mistake_bound(0.3) * 1.001
        if found.margin > 0:
            assert found.deviation(found.margin) == 0
            separable = (found.radius / found.margin) ** 2
            assert entry["mistakes"] <= found.mistake_bound() <= separable * (1 + 1e-9)
        assert_allclose(found.error_bound(0.3), 2 / 61 * found.mistake_bound(0.3))


def test_the_deviation_is_what_margins_lack(rng):
    X, y = labeled(rng)
    found = lw.SiLA().fit(X, y).margin(X, y)
    expected = np.sqrt(sum(max(0, 0.7 - margin) ** 2 for margin in found.margins))
    assert_allclose(found.deviation(0.7), expected)
    with pytest.raises(ValueError, match="gamma must be above 0, but -1 was given"):
        found.mistake_bound(-1)


def test_one_vs_rest_has_margins_for_each_class(rng):
    X, y = labeled(rng)
    sila = lw.SiLA(protocol="one_vs_rest", n_epochs=1).fit(X, y)
    margins = sila.margin(X, y)
    assert len(margins) == 3
    for entry, found in zip(sila.history_, margins, strict=True):
        assert entry["mistakes"] <= found.mistake_bound()
