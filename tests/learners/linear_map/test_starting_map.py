"""Starting points of a search for a map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from likewise.learners.linear_map import starting_map


@pytest.fixture
def rows(rng):
    y = np.arange(60) % 3
    return rng.normal(size=(60, 4)) * [1, 5, 0.2, 2] + y[:, None], y


@pytest.mark.parametrize("size", [None, 1, 3])
def test_identity_keeps_the_first_axes(rows, size):
    assert_array_equal(starting_map(*rows, "identity", size), np.eye(4)[:size])


@pytest.mark.parametrize("size", [None, 1, 3])
def test_pca_keeps_the_directions_of_largest_variance(rows, size):
    L = starting_map(*rows, "pca", size)
    expected = PCA(size).fit(rows[0]).components_
    assert_allclose(np.abs(L @ expected.T), np.eye(len(expected)), atol=1e-9)
    assert L.dtype == np.float64


@pytest.mark.parametrize("size", [None, 1])
def test_lda_keeps_what_separates_the_classes(rows, size):
    X, y = rows
    L = starting_map(X, y, "lda", size)
    expected = LinearDiscriminantAnalysis(n_components=size).fit(X, y).transform(X)
    assert L.shape == (size or 2, 4)
    assert_allclose((X - X.mean(axis=0)) @ L.T, expected, atol=1e-6)


def test_a_given_map_is_taken_and_not_shared(rows, rng):
    given = rng.normal(size=(2, 4))
    L = starting_map(*rows, given, None)
    assert_array_equal(L, given)
    assert not np.shares_memory(L, given)
    assert_array_equal(starting_map(*rows, given.tolist(), 2), given)


@pytest.mark.parametrize(
    ("init", "size", "error", "message"),
    [
        ("idenity", None, ValueError, "one of .* or an array, but .* Did you mean 'identity'"),
        ("lda", 3, ValueError, "init 'lda' gives at most 2 components, but n_components is 3"),
        (np.eye(3), None, ValueError, r"of shape \(n_components, 4\), but has shape \(3, 3\)"),
        (np.eye(4), 2, ValueError, r"shape \(2, 4\), but has shape \(4, 4\)"),
        (np.ones(4), None, ValueError, r"has shape \(4,\)"),
        (None, None, ValueError, r"init must be an array of shape .* but has shape \(\)"),
        (np.full((4, 4), np.nan), None, ValueError, "init holds NaN or infinity"),
        (np.zeros((4, 4)), None, ValueError, "init must not be zero everywhere"),
    ],
)
def test_what_cannot_be_a_start_is_refused(rows, init, size, error, message):
    with pytest.raises(error, match=message):
        starting_map(*rows, init, size)


def test_pca_cannot_find_more_directions_than_rows(rows):
    X, y = rows
    with pytest.raises(ValueError, match="init 'pca' finds at most 3 components in 3 rows of 4"):
        starting_map(X[:3], y[:3], "pca", None)


def test_lda_needs_labels(rows):
    with pytest.raises(ValueError, match="init 'lda' needs labels"):
        starting_map(rows[0], None, "lda", None)
