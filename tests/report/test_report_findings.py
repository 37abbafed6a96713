"""The numbers behind the report, held to formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import likewise as lw
from likewise.report._findings import (
    flat_map,
    learned_matrix,
    neighbours,
    sampled_rows,
    telling_examples,
    turned_like,
)


def test_neighbours_never_hold_the_query_even_among_equal_rows(rng):
    X = np.repeat(rng.normal(size=(4, 2)), 5, axis=0)
    queries = np.array([0, 7, 19])
    found = neighbours(lw.as_similarity("euclidean"), X, None, queries, 3)
    assert found.shape == (3, 3)
    assert not (found == queries[:, None]).any()
    assert_allclose(X[found], np.repeat(X[queries][:, None], 3, axis=1))  # equal rows come first


def test_neighbours_are_the_nearest(rng):
    X = rng.normal(size=(30, 3))
    found = neighbours(lw.as_similarity("euclidean"), X, None, np.arange(30), 4)
    distances = cdist(X, X) + np.diag(np.full(30, np.inf))
    assert_array_equal(found, np.argsort(distances, axis=1)[:, :4])


def test_few_rows_have_few_neighbours(rng):
    X = rng.normal(size=(3, 2))
    assert neighbours(lw.as_similarity("cosine"), X, None, np.arange(3), 5).shape == (3, 2)
    items = rng.normal(size=(4, 2))
    assert neighbours(lw.as_similarity("cosine"), X, items, np.arange(3), 5).shape == (3, 4)


def test_telling_examples_gained_most_and_one_lost():
    y = np.array(["a", "a", "a", "b", "b", "b"])
    queries = np.arange(6)
    before = np.array([[3, 4], [0, 3], [0, 1], [4, 5], [3, 5], [0, 1]])
    after = np.array([[1, 2], [0, 2], [0, 1], [0, 1], [3, 5], [3, 4]])
    found = [example.query for example in telling_examples(queries, before, after, y, most=4)]
    assert found == [0, 5, 1, 3]  # a gain of 2 in either class, then of 1; 3 lost two; 2 and 4 stay


def test_without_labels_the_examples_are_those_that_changed():
    before = np.array([[1, 2], [0, 2], [0, 1]])
    after = np.array([[2, 1], [0, 3], [3, 4]])
    found = telling_examples(np.arange(3), before, after, None)
    assert [example.query for example in found] == [2, 1]  # another order is no change


def test_the_map_of_a_distance_is_pca_of_the_mapped_rows(rng):
    X, L = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    places, kept = flat_map(lw.Mahalanobis(L), X)
    mapped = (X - X.mean(axis=0)) @ L.T
    u, s, _ = np.linalg.svd(mapped, full_matrices=False)
    assert_allclose(cdist(places, places), np.sqrt(2) * cdist(u[:, :2] * s[:2], u[:, :2] * s[:2]))
    assert kept == pytest.approx((s[:2] ** 2).sum() / (s**2).sum())


def test_the_map_of_equal_rows_is_one_point():
    places, kept = flat_map(lw.as_similarity("euclidean"), np.ones((5, 2)))
    assert_array_equal(places, np.zeros((5, 2)))
    assert kept == 0


def test_a_turned_map_keeps_its_distances_and_comes_close(rng):
    model = rng.normal(size=(12, 2))
    angle = 2.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert_allclose(turned_like(model @ turn * (1, -1), model), model, atol=1e-12)


@pytest.mark.parametrize("of", [np.asarray, csr_array])
def test_the_matrix_of_a_distance_is_in_deviations(rng, of):
    X, L = rng.normal(size=(50, 3)) * (1, 10, 100), rng.normal(size=(2, 3))
    found = learned_matrix(lw.Mahalanobis(L), of(X), None)
    deviations = X.std(axis=0)
    assert_allclose(found.matrix, L.T @ L * np.outer(deviations, deviations))
    (first, same, alone), (one, other, both) = found.alone(1)[0], found.pairs(1)[0]
    assert first == same == np.argmax(np.diag(found.matrix))
    assert alone == pytest.approx(found.matrix[first, first])
    assert one < other
    assert both == pytest.approx(2 * found.matrix[one, other])  # both orders of a pair


def test_the_matrix_between_queries_and_items_keeps_the_strongest(rng):
    Q, P = rng.normal(size=(9, 3)), rng.normal(size=(8, 5))
    W = np.zeros((3, 5))
    W[1, 4], W[2, 0] = 5.0, -4.0
    found = learned_matrix(lw.Bilinear(W), Q, P, most=2)
    assert [(i, j) for i, j, _ in found.pairs()] in ([(1, 4), (2, 0)], [(2, 0), (1, 4)])
    assert found.matrix.shape == (2, 2)


def test_what_has_no_learned_matrix_has_none(rng):
    X = rng.normal(size=(5, 2))
    assert learned_matrix(lw.as_similarity("cosine"), X, None) is None
    assert learned_matrix(lw.Ranked(X), X, None) is None


def test_samples_are_the_same_each_time():
    assert_array_equal(sampled_rows(5, 10), np.arange(5))
    drawn = sampled_rows(1000, 10)
    assert len(np.unique(drawn)) == 10
    assert_array_equal(drawn, sampled_rows(1000, 10))
