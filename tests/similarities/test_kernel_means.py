"""Means weighted by a kernel of the scores are those of the formula."""

from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from tests.oracles import voting as oracle

import likewise as lw
from likewise.similarities import _kernel, kernel_means


@pytest.mark.parametrize("block", [1, 50, 2**20])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
def test_means_are_the_formula_in_blocks_of_any_size(block, form, rng):
    Q, P, values = rng.normal(size=(9, 3)), rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    weights = rng.random(20) + 0.1
    similarity = lw.Mahalanobis([1.0, 2.0, 0.5])
    with mock.patch.object(_kernel, "_SCORES_IN_BLOCK", block):
        found = kernel_means(similarity, Q, P, form(values), weights=weights, bandwidth=0.7)
    expected = oracle.kernel(similarity.score(Q, P), 0.7, weights) @ values
    assert_allclose(found, expected, rtol=1e-12)


def test_without_weights_all_are_one(rng):
    Q, P, values = rng.normal(size=(4, 3)), rng.normal(size=(6, 3)), rng.normal(size=6)
    expected = kernel_means(lw.Bilinear(1.0), Q, P, values, weights=np.full(6, 3.0))
    assert_allclose(kernel_means(lw.Bilinear(1.0), Q, P, values), expected, rtol=1e-12)


def test_scores_in_single_precision_are_summed_in_double(rng):
    Q, P = rng.normal(size=(4, 3)).astype(np.float32), np.zeros((6, 3), np.float32)
    assert kernel_means(lw.Mahalanobis(1.0), Q, P, np.full(6, 1 / 3)).tolist() == [1 / 3] * 4
