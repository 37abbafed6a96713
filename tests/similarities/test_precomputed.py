"""Similarities that somebody else has computed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import likewise as lw

MATRIX = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]])


def test_queries_are_rows_of_the_matrix_and_items_are_columns():
    s = lw.Precomputed()
    assert_array_equal(s.score(MATRIX, [2, 0]), MATRIX[:, [2, 0]])
    assert_array_equal(s.score_pairs(MATRIX, [2, 0]), [0.5, 0.7])


def test_neighbors_are_positions_among_the_items():
    found = lw.Precomputed().neighbors(MATRIX, [2, 1, 0], 2)
    assert_array_equal(found.ids, [[1, 0], [2, 0]])
    assert_array_equal(found.scores, [[0.9, 0.5], [0.7, 0.2]])


def test_distances_are_negated():
    s = lw.Precomputed(is_distance=True)
    assert s.has_distance
    assert_array_equal(s.score(MATRIX, [1]), -MATRIX[:, [1]])
    assert_array_equal(s.distance(MATRIX, [1]), MATRIX[:, [1]])
    assert_array_equal(s.neighbors(MATRIX, [0, 1, 2], 1).ids, [[0], [1]])


def test_similarities_have_no_distance():
    with pytest.raises(TypeError, match=r"is_distance=False. has no distance"):
        lw.Precomputed().distance(MATRIX, [0])


def test_similarities_may_be_negative_and_distances_may_not():
    assert_array_equal(lw.Precomputed().score([[-1.0]], [0]), [[-1.0]])
    s = lw.Precomputed(is_distance=True)
    with pytest.raises(ValueError, match=r"Q holds -1 in row 0, column 1.*must not be negative"):
        s.check_queries([[0.0, -1.0]])
    for use in (s.score, s.score_pairs, lambda Q, P: s.neighbors(Q, P, 1)):
        with pytest.raises(ValueError, match=r"not negative, but .* gave -1.0 on query 0 and item"):
            use([[0.0, -1.0]], [1])


def test_only_the_columns_of_the_items_are_read():
    for s in (lw.Precomputed(), lw.Precomputed(is_distance=True)):
        assert_array_equal(abs(s.score([[2.0, np.nan, -1.0]], [0])), [[2.0]])
        with pytest.raises(ValueError, match=r"finite.* gave nan on query 0 and item 1"):
            s.score([[2.0, np.nan, -1.0]], [0, 1])


@pytest.mark.parametrize(("columns", "named"), [([0, 3], 3), ([-1], -1)])
def test_a_column_that_is_not_there_is_refused(columns, named):
    with pytest.raises(ValueError, match=f"P points at column {named}, but Q has 3 columns"):
        lw.Precomputed().neighbors(MATRIX, columns, 1)


@pytest.mark.parametrize("columns", [[0.0], [[0]], [], [True, False, True], 0, ["a"]])
def test_what_are_no_column_numbers_is_refused(columns):
    with pytest.raises(TypeError, match="P must be a 1-D array of column numbers of Q"):
        lw.Precomputed().score(MATRIX, columns)


def test_an_entry_is_explained_by_itself():
    told = lw.Precomputed().explain(MATRIX[0], 1)
    assert (told.score, told.rest) == (0.9, 0.0)
    assert told.terms == (("query", "item", 0.9),)


@pytest.mark.parametrize("value", ["no", None, 1, np.ones(1)])
def test_whether_it_is_a_distance_is_said_plainly(value):
    with pytest.raises(TypeError, match="is_distance must be True or False"):
        lw.Precomputed(is_distance=value)
