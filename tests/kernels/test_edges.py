"""Distances along edges, weighted sums of rows, and edges grouped by their anchor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests import strategies

from likewise import kernels


@st.composite
def graphs(draw):
    """Return rows, anchors among them, and up to nine edges of each, loops and doubles included."""
    rows = draw(strategies.tables(st.integers(1, 7), st.integers(1, 4)))
    numbers = st.integers(0, len(rows) - 1)
    anchors = draw(hnp.arrays(np.int64, st.integers(0, 4), elements=numbers))
    counts = draw(hnp.arrays(np.int64, len(anchors), elements=st.integers(0, 9)))
    heads = draw(hnp.arrays(np.int32, int(counts.sum()), elements=numbers))
    return rows, anchors, np.concatenate([[0], np.cumsum(counts)]), heads


def tails_of(anchors, indptr):
    return np.repeat(anchors, np.diff(indptr))


def sums_of(rows, anchors, indptr, heads, weights):
    """Call the kernel on sums and degrees of zero."""
    out, degrees = np.zeros_like(rows), np.zeros(len(rows))
    scratch = np.empty(len(heads) + 3, np.int32)
    kernels.add_neighbors(rows, anchors, indptr, heads, weights, scratch, out, degrees)
    return out, degrees


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(graph=graphs())
def test_edge_distances_are_squared_lengths(dtype, graph):
    rows, anchors, indptr, heads = graph
    out = np.full(len(heads), np.nan)
    kernels.edge_distances(rows.astype(dtype), anchors, indptr, heads, out)
    expected = ((rows[tails_of(anchors, indptr)] - rows[heads]) ** 2).sum(axis=1)
    assert_array_equal(out, expected.astype(dtype))


@given(graph=graphs(), data=st.data())
def test_edges_of_some_anchors_are_a_slice(graph, data):
    rows, anchors, indptr, heads = graph
    first = data.draw(st.integers(0, len(anchors)))
    own = slice(indptr[first], None)
    weights = np.arange(1.0, len(heads) + 1)
    whole, part = np.empty(len(heads)), np.empty(len(heads[own]))
    kernels.edge_distances(rows, anchors, indptr, heads, whole)
    kernels.edge_distances(rows, anchors[first:], indptr[first:], heads[own], part)
    assert_array_equal(part, whole[own])
    found = sums_of(rows, anchors[first:], indptr[first:], heads[own], weights[own])
    weights[: indptr[first]] = 0
    for one, other in zip(found, sums_of(rows, anchors, indptr, heads, weights), strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_an_edge_to_a_row_of_nan_is_nan_and_no_other():
    rows = np.array([[0.0, 1.0], [np.nan, 0.0], [3.0, 5.0]])
    for heads in ([1, 2], [2, 1, 2, 2], [2, 2, 2, 2, 1]):
        heads = np.array(heads, np.int32)
        out = np.empty(len(heads))
        kernels.edge_distances(rows, np.array([0]), np.array([0, len(heads)]), heads, out)
        assert_array_equal(out, np.where(heads == 1, np.nan, 25.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(graph=graphs(), data=st.data())
def test_neighbors_are_summed_by_weight_and_degrees_count_both_ends(dtype, graph, data):
    rows, anchors, indptr, heads = graph
    choice = st.sampled_from([-7.0, 0.0, 0.0, 0.25, 1.0])
    weights = data.draw(hnp.arrays(np.float64, len(heads), elements=choice))
    matrix = np.zeros((len(rows), len(rows)))
    np.add.at(matrix, (tails_of(anchors, indptr), heads), weights)
    out, degrees = sums_of(rows.astype(dtype), anchors, indptr, heads, weights)
    assert_allclose(out, matrix @ rows, rtol=1e-5, atol=1e-3 if dtype is np.float32 else 1e-9)
    assert_array_equal(degrees, matrix.sum(axis=0) + matrix.sum(axis=1))


@pytest.mark.parametrize("n_more", range(5))
def test_an_edge_of_no_weight_does_not_spread_nan(n_more):
    rows = np.array([[1.0], [np.nan], [4.0]])
    heads = np.array([1, 2] + n_more * [1], np.int32)
    weights = np.where(heads == 1, 0.0, 2.0)
    out, degrees = sums_of(rows, np.array([0]), np.array([0, len(heads)]), heads, weights)
    assert_array_equal(out, [[8.0], [0.0], [0.0]])
    assert_array_equal(degrees, [2.0, 0.0, 2.0])


@given(graph=graphs(), data=st.data())
def test_grouped_edges_keep_their_order(graph, data):
    _, anchors, indptr, heads = graph
    order = np.array(data.draw(st.permutations(range(len(heads)))), np.int64)
    tails = np.repeat(np.arange(len(anchors)), np.diff(indptr)).astype(np.int32)[order]
    positions, out = indptr[:-1].copy(), np.full(len(heads), -1, np.int32)
    kernels.group_edges(tails, heads[order], positions, out)
    assert_array_equal(out, heads[order][np.argsort(tails, kind="stable")])
    assert_array_equal(positions, indptr[1:])
