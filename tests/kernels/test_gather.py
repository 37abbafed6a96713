"""Rows that triplets point at: the same entries from dense and from CSR rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles.online import unit_rows

from likewise import kernels


@st.composite
def picks(draw):
    """Return a table with zeros and zero rows, and two lists of its rows."""
    rows = draw(strategies.tables(st.integers(1, 6), st.integers(1, 5)))
    index = hnp.arrays(np.int64, 4, elements=st.integers(0, len(rows) - 1))
    return rows, draw(index), draw(index)


def lists(n, width, dtype=np.float64):
    """Return room for entries, filled with what must not be read."""
    return np.full(n + 1, -9), np.full(2 * n * width, -9), np.full(2 * n * width, np.nan, dtype)


def dense_from(starts, columns, values, n, width):
    """Return what the lists say, and hold them to the form that the online kernels rely on."""
    out = np.zeros((n, width))
    assert starts[0] == 0
    for t in range(n):
        own = slice(starts[t], starts[t + 1])
        assert len(set(columns[own])) == len(columns[own])  # each once
        assert (values[own] != 0).all()
        out[t, columns[own]] = values[own]
    return out


def list_differences(csr, closer, farther, unit, out):
    """Call the kernel with a scratch array, which must hold zeros again afterwards."""
    places = np.zeros(csr.shape[1], np.uint32)
    kernels.list_csr_differences(
        csr.data, csr.indices, csr.indptr, closer, farther, unit, places, *out
    )
    assert not places.any()


def expected(rows, index, unit):
    return (unit_rows(rows) if unit else rows)[index]


@pytest.mark.parametrize("unit", [False, True])
@settings(max_examples=40)
@given(problem=picks())
def test_dense_and_csr_rows_are_listed_alike_without_zeros(unit, problem):
    rows, index, _ = problem
    csr = csr_array(rows)
    csr.data[::3] = 0  # stored zeros are left out too
    rows = csr.toarray()
    n, width = len(index), rows.shape[1]
    from_dense, from_csr = lists(n, width), lists(n, width)
    kernels.list_rows(rows, index, unit, *from_dense)
    kernels.list_csr_rows(csr.data, csr.indices, csr.indptr, index, unit, *from_csr)
    wanted = expected(rows, index, unit)
    for found in (from_dense, from_csr):
        assert_allclose(dense_from(*found, n, width), wanted, atol=1e-15)
        assert np.isnan(found[2][found[0][n] :]).all()
    for one, other in zip(from_dense, from_csr, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("unit", [False, True])
@settings(max_examples=40)
@given(problem=picks())
def test_differences_of_csr_rows_are_those_of_dense_rows(unit, problem):
    rows, closer, farther = problem
    csr, (n, width) = csr_array(rows), (len(closer), rows.shape[1])
    csr.data[::3] = 0  # stored zeros are left out too
    rows = csr.toarray()
    found = lists(n, width)
    list_differences(csr, closer, farther, unit, found)
    wanted = expected(rows, closer, unit) - expected(rows, farther, unit)
    assert_allclose(dense_from(*found, n, width), wanted, atol=1e-15)
    out = np.zeros((n, width))
    kernels.scatter_lists(*found, out)
    assert_allclose(out, wanted, atol=1e-15)


@pytest.mark.parametrize("unit", [False, True])
@settings(max_examples=40)
@given(problem=picks())
def test_rows_are_added_with_a_sign(unit, problem):
    rows, closer, farther = problem
    out = np.full((len(closer), rows.shape[1]), 0.5)
    kernels.add_rows(rows, closer, 1, unit, out)
    kernels.add_rows(rows, farther, -1, unit, out)
    wanted = 0.5 + expected(rows, closer, unit) - expected(rows, farther, unit)
    assert_allclose(out, wanted, atol=1e-15)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("given_type", [np.float32, np.float64])
@pytest.mark.parametrize("kept_type", [np.float32, np.float64])
def test_precisions_and_indices_of_either_kind_mix(index_type, given_type, kept_type, rng):
    rows = (rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.6)).astype(given_type)
    csr = csr_array(rows)
    closer, farther = np.array([0, 3, 5, 1]), np.array([1, 3, 2, 4])
    found = lists(4, 4, kept_type)
    csr.indices, csr.indptr = csr.indices.astype(index_type), csr.indptr.astype(index_type)
    list_differences(csr, closer, farther, True, found)
    out = np.zeros((4, 4), kept_type)
    kernels.scatter_lists(*found, out)
    wanted = expected(rows.astype(float), closer, True) - expected(
        rows.astype(float), farther, True
    )
    assert_allclose(out, wanted, atol=1e-6)
    dense = np.zeros((4, 4), kept_type)
    kernels.add_rows(rows, closer, 1, True, dense)
    kernels.add_rows(rows, farther, -1, True, dense)
    assert_allclose(dense, wanted, atol=1e-6)


def test_a_zero_row_stays_zero_and_nan_is_not_hidden():
    rows, out = np.array([[0.0, 0.0], [np.nan, 1.0]]), np.zeros((2, 2))
    kernels.add_rows(rows, np.array([0, 1]), 1, True, out)
    assert_array_equal(out[0], [0, 0])
    assert np.isnan(out[1, 0])


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_differ_in_nothing(unit, dtype):
    """Not by a rounding error either: an item less its double is no example."""
    rows = np.array([[3.0, 0.0, 1.0, 7.0]] * 2, dtype)
    csr = csr_array(rows)
    found = lists(1, 4, dtype)
    list_differences(csr, np.array([0]), np.array([1]), unit, found)
    assert found[0].tolist() == [0, 0]
    out = np.zeros((1, 4), dtype)
    kernels.add_rows(rows, np.array([0]), 1, unit, out)
    kernels.add_rows(rows, np.array([1]), -1, unit, out)
    assert_array_equal(out, 0)


def test_no_rows_are_no_entries():
    starts, columns, values = lists(0, 3)
    kernels.list_rows(np.ones((2, 3)), np.empty(0, np.int64), False, starts, columns, values)
    assert starts.tolist() == [0]
