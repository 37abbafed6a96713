"""Similarities that transform the scores of another one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import landmarks as oracle

import likewise as lw


def test_naive_is_one_over_one_plus_the_distance(rng):
    Q, P = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    expected = 1 / (1 + np.sqrt(oracle.squared_distances(Q, P)))
    assert_allclose(lw.Naive().score(Q, P), expected)


def test_naive_needs_a_distance():
    with pytest.raises(ValueError, match="must have a distance d, but Bilinear"):
        lw.Naive("cosine")
