"""Distances along edges, and the forces that edges exert on rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests import strategies
from tests.oracles import lmnn as oracle

from likewise import kernels


@st.composite
def graphs(draw):
    """Return rows, and edges between them: loops, parallel ones and none at all among them."""
    rows = draw(strategies.tables(st.integers(1, 7), st.integers(1, 4)))
    n_edges = draw(st.integers(0, 12))
    ends = hnp.arrays(np.int32, n_edges, elements=st.integers(0, len(rows) - 1))
    return rows, draw(ends), draw(ends)


def incidence_of(n_rows, tails, heads):
    """Prepare what the kernel takes, and call it."""
    begins = np.zeros(n_rows + 2, np.int64)
    begins[2:] = np.bincount(tails, minlength=n_rows) + np.bincount(heads, minlength=n_rows)
    edges, others = np.full(2 * len(tails), -1, np.int32), np.full(2 * len(tails), -1, np.int32)
    kernels.incidence(tails, heads, begins, edges, others)
    return begins, edges, others


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(graph=graphs())
def test_edge_distances_are_squared_lengths(dtype, graph):
    rows, tails, heads = graph
    out = np.full(len(tails), np.nan, dtype)
    kernels.edge_distances(rows.astype(dtype), tails, heads, out)
    expected = [((rows[a] - rows[b]) ** 2).sum() for a, b in zip(tails, heads, strict=True)]
    assert_array_equal(out, np.array(expected, dtype))


def test_an_edge_to_a_row_of_nan_is_nan_and_no_other():
    rows = np.array([[0.0, 1.0], [np.nan, 0.0], [3.0, 5.0]])
    out = np.empty(2)
    kernels.edge_distances(rows, np.array([0, 0], np.int32), np.array([1, 2], np.int32), out)
    assert_array_equal(out, [np.nan, 25.0])


@given(graph=graphs())
def test_incidence_lists_both_ends_of_every_edge(graph):
    rows, tails, heads = graph
    begins, edges, others = incidence_of(len(rows), tails, heads)
    for row in range(len(rows)):
        own = slice(begins[row], begins[row + 1])
        found = list(zip(edges[own].tolist(), others[own].tolist(), strict=True))
        expected = []
        for e, (a, b) in enumerate(zip(tails.tolist(), heads.tolist(), strict=True)):
            expected += [(e, b)] * (a == row) + [(e, a)] * (b == row)
        assert sorted(found) == sorted(expected)
    assert begins[len(rows)] == 2 * len(tails)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(graph=graphs(), data=st.data())
def test_edge_forces_are_the_weighted_laplacian_times_the_rows(dtype, graph, data):
    rows, tails, heads = graph
    choice = st.sampled_from([-7.0, 0.0, 0.25, 1.0])
    weights = data.draw(hnp.arrays(np.float64, len(tails), elements=choice))
    first = data.draw(st.integers(0, len(rows) - 1))
    out = np.full((len(rows) - first, rows.shape[1]), np.nan, dtype)
    listed = incidence_of(len(rows), tails, heads)
    kernels.edge_forces(rows.astype(dtype), *listed, weights.astype(dtype), first, out)
    expected = oracle.laplacian(len(rows), tails, heads, weights) @ rows
    assert_allclose(out, expected[first:], rtol=1e-6, atol=1e-9)


def test_an_edge_of_no_weight_does_not_spread_nan():
    rows = np.array([[1.0], [np.nan], [4.0]])
    tails, heads = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    out = np.empty((1, 1))
    kernels.edge_forces(rows, *incidence_of(3, tails, heads), np.array([0.0, 2.0]), 0, out)
    assert out.item() == -6.0
