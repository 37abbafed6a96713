"""Maps of rows in the plane, held to PCA, and how they are aligned."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

import likewise as lw
from likewise.evaluation import align_map, plane_map


def test_the_map_of_a_distance_is_pca_of_the_mapped_rows(rng):
    X, L = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    points, kept = plane_map(lw.Mahalanobis(L).score(X, X))
    mapped = (X - X.mean(axis=0)) @ L.T
    u, s, _ = np.linalg.svd(mapped, full_matrices=False)
    assert_allclose(cdist(points, points), np.sqrt(2) * cdist(u[:, :2] * s[:2], u[:, :2] * s[:2]))
    assert kept == pytest.approx((s[:2] ** 2).sum() / (s**2).sum())


def test_points_in_a_plane_keep_their_distances(rng):
    points = rng.normal(size=(30, 2))
    points -= points.mean(axis=0)
    drawn, kept = plane_map(points @ points.T)
    assert_allclose(align_map(drawn, points), points, atol=1e-6)
    assert kept == pytest.approx(1)


def test_the_map_of_equal_rows_is_one_point():
    points, kept = plane_map(np.zeros((5, 5)))
    assert_array_equal(points, np.zeros((5, 2)))
    assert kept == 0


def test_an_aligned_map_keeps_its_distances_and_comes_close(rng):
    target = rng.normal(size=(12, 2))
    angle = 2.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert_allclose(align_map(target @ turn * (1, -1), target), target, atol=1e-12)
