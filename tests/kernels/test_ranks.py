"""Scores are counted between thresholds as comparing each with each would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import strategies
from tests.oracles import landmarks as oracle

from likewise import kernels

VALUES = (-1e305, -2.0, -0.5, 0.0, 0.25, 1.0, 1.0 + 1e-9, 7.0, 1e305)


def above(counts):
    return counts[:, :0:-1].cumsum(axis=1)[:, ::-1]


def expected(block, thresholds):
    return oracle.closer_counts(-block, -thresholds)


@given(
    block=strategies.tables(st.just(3), st.integers(1, 12), VALUES),
    thresholds=strategies.tables(st.just(3), st.integers(1, 7), VALUES),
    n_bins=st.sampled_from([4, 5, 64, 1024]),
)
def test_count_scores_compares_each_with_each(block, thresholds, n_bins):
    thresholds = np.sort(thresholds, axis=1)
    counts = np.zeros((3, thresholds.shape[1] + 1), np.int64)
    kernels.count_scores(block, thresholds, np.empty(n_bins, np.int32), counts)
    np.testing.assert_array_equal(above(counts), expected(block, thresholds))


@pytest.mark.parametrize("n_bins", [4, 50, 4096])
def test_count_scores_of_many_numbers(rng, n_bins):
    block = rng.normal(size=(20, 300)).round(2)
    thresholds = np.sort(rng.choice(block, 30, axis=1), axis=1)
    thresholds[0] = 1.0
    counts = np.zeros((20, 31), np.int64)
    for part in (slice(0, 100), slice(100, 300)):
        kernels.count_scores(block[:, part], thresholds, np.empty(n_bins, np.int32), counts)
    np.testing.assert_array_equal(above(counts), expected(block, thresholds))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("slack", [1e-3, 0.3, np.inf])
def test_count_products_lists_what_its_errors_leave_open(rng, dtype, slack):
    exact = rng.normal(size=(6, 200)).round(1)
    off = slack if np.isfinite(slack) else 5.0
    block = (exact + rng.uniform(-0.99, 0.99, size=exact.shape) * off).astype(dtype)
    if slack == np.inf:
        block[0, :3] = np.nan, np.inf, -np.inf
    thresholds = np.sort(rng.choice(exact, 9, axis=1), axis=1)
    counts = np.zeros((6, 10), np.int64)
    which = np.empty((2, block.size), np.int32)
    n_doubtful = kernels.count_products(
        block, np.full(6, slack), thresholds, np.empty(512, np.int32), counts, *which
    )
    rows, columns = which[:, :n_doubtful]
    assert n_doubtful + counts.sum() == block.size
    assert (n_doubtful < block.size) == (slack < np.inf)
    kernels.count_pairs(rows, exact[rows, columns], thresholds, counts)
    np.testing.assert_array_equal(above(counts), expected(exact, thresholds))


@pytest.mark.parametrize("is_distance", [True, False])
def test_pair_scores_are_the_formula(rng, is_distance):
    Q, P = rng.normal(size=(4, 7)), rng.normal(size=(5, 7))
    rows, columns = np.indices((4, 5), np.int32).reshape(2, -1)
    out = np.empty(20)
    kernels.pair_scores(Q, P, rows, columns, is_distance, out)
    formula = -oracle.squared_distances(Q, P) if is_distance else Q @ P.T
    np.testing.assert_allclose(out, formula.ravel(), rtol=1e-12)
