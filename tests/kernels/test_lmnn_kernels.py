"""The two inner loops of LMNN against the printed sums."""

from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests import strategies
from tests.oracles import energy
from tests.oracles import lmnn as oracle

from likewise import kernels

DISTANCES = (0.0, 0.2, 0.9, 1.0, 1.1, 2.0, 9.0)  # hinges of exactly 0, and of each branch


def scan(block, first_row, first_column, labels, reach):
    """Call the kernel; return the pairs in the order in which they were written."""
    tails, heads = np.empty(2 * block.size, np.int32), np.empty(2 * block.size, np.int32)
    scratch = np.empty(block.shape[1], np.int32)
    block = np.ascontiguousarray(block)
    rows, columns = (
        slice(first, first + size)
        for first, size in zip((first_row, first_column), block.shape, strict=True)
    )
    count = kernels.scan_impostors(
        block, first_row, first_column, labels[rows], labels[columns], reach[rows], reach[columns],
        scratch, tails, heads,
    )  # fmt: skip
    return list(zip(tails[:count].tolist(), heads[:count].tolist(), strict=True))


@st.composite
def crowds(draw):
    """Return squared distances between rows, labels and reaches; some reach nobody."""
    rows = draw(strategies.tables(st.integers(1, 10), st.integers(1, 2)))
    labels = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, 2)))
    choice = st.sampled_from([-np.inf, 0.0, 1.0, 4.0, 4.5, 100.0])
    reach = draw(hnp.arrays(np.float64, len(rows), elements=choice))
    return energy.squared_distances(rows, rows), labels, reach


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(crowd=crowds(), cut=st.integers(0, 10))
def test_every_impostor_is_listed_once_in_either_direction(dtype, crowd, cut):
    """The upper triangle in three blocks, two of them on the diagonal."""
    between, labels, reach = crowd
    n, cut = len(labels), min(cut, len(labels))
    found = []
    for rows, columns in (((0, cut), (0, cut)), ((0, cut), (cut, n)), ((cut, n), (cut, n))):
        block = between[slice(*rows), slice(*columns)].astype(dtype)
        found += scan(block, rows[0], columns[0], labels, reach.astype(dtype))
    # in ascending order of the blocks, the impostors of each row are ascending
    assert sorted(found, key=itemgetter(0)) == oracle.impostors(between, labels, reach)


@pytest.mark.parametrize("width", [63, 64, 65, 130])
def test_strips_of_a_wide_block_are_all_looked_at(width, rng):
    n = 7 + width
    between = rng.random((n, n))
    between += between.T
    labels, reach = rng.integers(0, 3, n), rng.random(n) * 0.5
    found = scan(between[:7, 7:], 0, 7, labels, reach)
    crossing = [(a, b) for a, b in oracle.impostors(between, labels, reach) if (a < 7) != (b < 7)]
    assert sorted(found) == crossing
    only_last = np.full(n, -np.inf)
    only_last[-1] = 9.0
    labels[:], labels[-1] = 0, 1
    assert len(scan(between, 0, 0, labels, only_last)) == n - 1


def test_a_distance_of_nan_is_nobodys_impostor():
    block = np.array([[np.nan, np.nan], [np.nan, 0.0]])
    assert scan(block, 0, 0, np.array([0, 1]), np.full(2, np.inf)) == []


def test_an_impostor_at_exactly_the_reach_is_not_listed():
    block = np.array([[0.0, 4.0], [4.0, 0.0]])
    assert scan(block, 0, 0, np.array([0, 1]), np.array([4.0, 4.1])) == [(1, 0)]


def margins(near, far, indptr, c, width, pull=None, push=None):
    """Call the kernel; return the losses, and the weights of the targets that are not NaN."""
    near, far = np.asarray(near, float), np.asarray(far, float)
    present = ~np.isnan(near)
    loss = np.full(len(near), np.nan)
    on_targets, on_impostors = np.full(near.shape, np.nan), np.full(len(far), np.nan)
    weights = np.full(present.sum(), np.nan)
    target_indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    kernels.margin_costs(
        near[present], target_indptr, far, np.asarray(indptr, np.int64), c, width, pull, push, loss,
        weights, on_impostors,
    )  # fmt: skip
    on_targets[present] = weights
    return loss, on_targets, on_impostors


@st.composite
def neighbourhoods(draw):
    """Return d to targets, NaN where there is none, and to impostors, as CSR."""
    shape = st.tuples(st.integers(1, 4), st.integers(1, 3))
    near = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([*DISTANCES, np.nan])))
    counts = draw(hnp.arrays(np.int64, len(near), elements=st.integers(0, 4)))
    far = draw(hnp.arrays(np.float64, int(counts.sum()), elements=st.sampled_from(DISTANCES)))
    return near, far, np.concatenate([[0], np.cumsum(counts)])


@pytest.mark.parametrize("width", [0.0, 0.03, 0.3, 1.0])
@pytest.mark.parametrize("c", [0.2, 7.0])
@given(problem=neighbourhoods(), weighted=st.booleans())
def test_margin_costs_are_the_printed_sums(width, c, problem, weighted):
    near, far, indptr = problem
    pull, push = 0.5 + np.arange(len(near)), np.arange(len(far)) % 3 * 1.5
    given_weights = (pull, push) if weighted else (None, None)
    loss, on_targets, on_impostors = margins(near, far, indptr, c, width, *given_weights)
    for i in range(len(near)):
        own = slice(indptr[i], indptr[i + 1])
        weights = (pull[i], push[own]) if weighted else ()
        expected = oracle.anchor_costs(near[i], far[own], c, width, *weights)
        assert_allclose(loss[i], expected[0], rtol=1e-12, atol=1e-12)
        there = ~np.isnan(near[i])
        assert_allclose(on_targets[i][there], expected[1][there], rtol=1e-12, atol=1e-12)
        assert_allclose(on_impostors[own], expected[2], rtol=1e-12, atol=1e-12)


def test_an_impostor_exactly_at_the_margin_costs_and_weighs_nothing():
    loss, on_targets, on_impostors = margins([[1.0]], [2.0], [0, 1], 7.0, 0.0)
    assert (loss.item(), on_targets.item(), on_impostors.item()) == (1.0, 1.0, 0.0)


def test_without_targets_nothing_costs():
    loss, _, on_impostors = margins([[np.nan, np.nan]], [0.0, 0.5], [0, 2], 7.0, 0.3)
    assert loss.item() == 0
    assert_array_equal(on_impostors, [0.0, 0.0])


@pytest.mark.parametrize("width", [0.3, 1.0])
def test_weights_are_the_derivatives_of_the_smoothed_cost(width, rng):
    near, far, step = rng.random((1, 3)) * 2, rng.random(6) * 3, 1e-6
    _, on_targets, on_impostors = margins(near, far, [0, 6], 0.2, width)
    for values, weights in ((near.ravel(), on_targets.ravel()), (far, on_impostors)):
        for at in range(len(values)):
            before = values[at]
            costs = []
            for moved in (before - step, before + step):
                values[at] = moved
                costs.append(margins(near, far, [0, 6], 0.2, width)[0].item())
            values[at] = before
            assert_allclose(weights[at], (costs[1] - costs[0]) / (2 * step), atol=1e-6)
