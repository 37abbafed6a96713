"""Columns of dissimilarity matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import likewise as lw
from likewise.similarities import DissimilarityColumns, _columns, dissimilarities


def test_columns_are_computed_once_and_dropped_when_the_cache_is_full(rng):
    X = rng.normal(size=(20, 2))
    euclid = lw.distances.VectorDistance()
    D = euclid.distance(X, X)
    columns = DissimilarityColumns(euclid, X, max_numbers=20 * 6)
    for items in ([1, 2, 1], [2, 3], [4, 5, 6], [7, 8, 9, 1], list(range(12))):
        positions = columns.positions(np.array(items))
        assert_array_equal(columns.values[positions], D[:, items].T)
    again = DissimilarityColumns(euclid, X)
    again.positions(np.array([3, 4]))
    again.positions(np.array([4, 3, 3]))
    assert again.n_computed == 2


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (lw.Mahalanobis([2.0, 1.0, 0.5]), lambda s, X: s.distance(X, X)),
        (lw.Bilinear(1.0, norm="cosine"), lambda s, X: -s.score(X, X)),
        (lw.Bilinear(1.0, norm="dice"), lambda s, X: -s.score(X, X)),
        (lw.Naive(), lambda s, X: -s.score(X, X)),
        (lw.as_similarity("cityblock"), lambda s, X: s.distance(X, X)),
        (lw.from_callable(lambda a, b: float(a @ b)), lambda s, X: -s.score(X, X)),
        (lw.Ranked(np.eye(3)), lambda s, X: s.closer(X, X)),
    ],
    ids=["mahalanobis", "cosine", "dice", "naive", "cityblock", "function", "ranked"],
)
def test_the_dissimilarity_is_the_distance_or_the_negated_score(similarity, expected, rng):
    X = rng.random((9, 3))
    expected = expected(similarity, X)
    assert_allclose(dissimilarities(similarity, X, X), expected, rtol=1e-12, atol=1e-12)
    columns = DissimilarityColumns(similarity, X)
    positions = columns.positions(np.array([7, 0]))
    assert_allclose(columns.values[positions], expected[:, [7, 0]].T, rtol=1e-12, atol=1e-12)


def test_columns_that_are_not_needed_may_hold_anything():
    matrix = np.array([[1.0, np.nan, 3.0], [4.0, -5.0, 6.0]])
    s = lw.Precomputed(is_distance=True)
    assert_array_equal(dissimilarities(s, matrix, [2, 0]), [[3, 1], [6, 4]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_distance", [True, False])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_columns_of_a_matrix_are_its_entries(dtype, is_distance, is_symmetric, rng, monkeypatch):
    monkeypatch.setattr(_columns, "_ROWS_IN_BLOCK", 7)
    D = rng.random((20, 20)).astype(dtype)
    D = D + D.T
    if not is_symmetric:
        D[19, 3] += 1
    assert _columns._is_symmetric(D) is is_symmetric
    columns = DissimilarityColumns(lw.Precomputed(is_distance), D, max_numbers=20 * 6)
    for items in ([1, 2, 1], [2, 3, 19], [4, 5, 6], [7, 8, 9, 1], list(range(12))):
        positions = columns.positions(np.array(items))
        values = columns.values[positions]
        assert_array_equal(values, (D if is_distance else -D)[:, items].T)
        assert values.dtype == np.float64


def test_symmetric_distances_in_double_precision_are_not_copied(rng):
    D = rng.random((20, 20))
    D += D.T
    columns = DissimilarityColumns(lw.Precomputed(is_distance=True), D)
    assert columns.values is D
    D.flags.writeable = False  # for which kernels would be compiled again
    assert DissimilarityColumns(lw.Precomputed(is_distance=True), D).values is not D
