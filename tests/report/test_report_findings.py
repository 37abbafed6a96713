"""The numbers behind the report, held to formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import likewise as lw
from likewise.report._findings import learned_matrix, neighbor_rows, telling_examples


def test_neighbors_never_hold_the_query_even_among_equal_rows(rng):
    X = np.repeat(rng.normal(size=(4, 2)), 5, axis=0)
    queries = np.array([0, 7, 19])
    found = neighbor_rows(lw.as_similarity("euclidean"), X, None, queries, 3)
    assert found.shape == (3, 3)
    assert not (found == queries[:, None]).any()
    assert_allclose(X[found], np.repeat(X[queries][:, None], 3, axis=1))  # equal rows come first


def test_neighbors_are_the_nearest(rng):
    X = rng.normal(size=(30, 3))
    found = neighbor_rows(lw.as_similarity("euclidean"), X, None, np.arange(30), 4)
    distances = cdist(X, X) + np.diag(np.full(30, np.inf))
    assert_array_equal(found, np.argsort(distances, axis=1)[:, :4])


def test_few_rows_have_few_neighbor_rows(rng):
    X = rng.normal(size=(3, 2))
    assert neighbor_rows(lw.as_similarity("cosine"), X, None, np.arange(3), 5).shape == (3, 2)
    items = rng.normal(size=(4, 2))
    assert neighbor_rows(lw.as_similarity("cosine"), X, items, np.arange(3), 5).shape == (3, 4)


def test_telling_examples_gained_most_and_one_lost():
    y = np.array(["a", "a", "a", "b", "b", "b"])
    queries = np.arange(6)
    before = np.array([[3, 4], [0, 3], [0, 1], [4, 5], [3, 5], [0, 1]])
    after = np.array([[1, 2], [0, 2], [0, 1], [0, 1], [3, 5], [3, 4]])
    found = [
        example.query for example in telling_examples(queries, before, after, y, max_examples=4)
    ]
    assert found == [0, 5, 1, 3]  # a gain of 2 in either class, then of 1; 3 lost two; 2 and 4 stay


def test_without_labels_the_examples_are_those_that_changed():
    before = np.array([[1, 2], [0, 2], [0, 1]])
    after = np.array([[2, 1], [0, 3], [3, 4]])
    found = telling_examples(np.arange(3), before, after, None)
    assert [example.query for example in found] == [2, 1]  # another order is no change


@pytest.mark.parametrize("of", [np.asarray, csr_array])
def test_the_matrix_of_a_distance_is_in_deviations(rng, of):
    X, L = rng.normal(size=(50, 3)) * (1, 10, 100), rng.normal(size=(2, 3))
    found = learned_matrix(lw.Mahalanobis(L), of(X), None)
    deviations = X.std(axis=0)
    assert_allclose(found.matrix, L.T @ L * np.outer(deviations, deviations))
    (first, same, alone), (one, other, both) = found.single_features(1)[0], found.pairs(1)[0]
    assert first == same == np.argmax(np.diag(found.matrix))
    assert alone == pytest.approx(found.matrix[first, first])
    assert one < other
    assert both == pytest.approx(2 * found.matrix[one, other])  # both orders of a pair


def test_the_matrix_between_queries_and_items_keeps_the_strongest(rng):
    Q, P = rng.normal(size=(9, 3)), rng.normal(size=(8, 5))
    W = np.zeros((3, 5))
    W[1, 4], W[2, 0] = 5.0, -4.0
    found = learned_matrix(lw.Bilinear(W), Q, P, max_features=2)
    assert [(i, j) for i, j, _ in found.pairs()] in ([(1, 4), (2, 0)], [(2, 0), (1, 4)])
    assert found.matrix.shape == (2, 2)


def test_what_has_no_learned_matrix_has_none(rng):
    X = rng.normal(size=(5, 2))
    assert learned_matrix(lw.as_similarity("cosine"), X, None) is None
    assert learned_matrix(lw.Ranked(X), X, None) is None
