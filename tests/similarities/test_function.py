"""Similarities from functions of two objects."""

import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import likewise as lw


def returning(value):
    return lw.from_callable(lambda a, b: value)


def test_a_callable_is_called_with_query_and_item():
    s = lw.from_callable(lambda q, p: q + p)
    assert_array_equal(s.score([1, 2], [10, 20, 30]), [[11, 21, 31], [12, 22, 32]])
    assert_array_equal(s.score_pairs([1, 2], [10, 20]), [11, 22])


def test_a_distance_is_negated():
    s = lw.from_distance(lambda q, p: abs(q - p))
    assert s.has_distance
    assert_array_equal(s.score([1], [4, 1]), [[-3, 0]])
    assert_array_equal(s.distance([1], [4, 1]), [[3, 0]])


def test_a_similarity_function_has_no_distance():
    s = returning(1.0)
    assert not s.has_distance
    with pytest.raises(TypeError, match=r"Function.*, is_distance=False. has no distance"):
        s.distance([1], [2])


def test_symmetry_is_what_the_caller_says():
    assert not returning(1.0).is_symmetric
    assert lw.from_distance(lambda a, b: 0.0, symmetric=True).is_symmetric


@pytest.mark.parametrize(
    "number", [2, 2.0, Fraction(4, 2), np.float32(2), np.int8(2), np.float64(2)]
)
def test_every_kind_of_real_number_is_a_score(number):
    assert_array_equal(returning(number).score(["a"], ["b"]), [[2.0]])


@pytest.mark.parametrize("value", [None, "2", 1j, np.array([1.0]), [1.0]])
def test_what_is_no_number_is_refused_with_the_pair(value):
    for use in (lambda s: s.score(["a"], ["b"]), lambda s: s.neighbors(["a"], ["b"], 1)):
        with pytest.raises(TypeError, match=r"must return a number.*on query 0 and item 0"):
            use(returning(value))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 10**400])
def test_what_is_not_finite_is_refused_with_the_pair(value):
    with pytest.raises(ValueError, match=r"finite number.*on query 0 and item 0"):
        returning(value).score_pairs(["a"], ["b"])


def test_a_negative_distance_is_refused_with_the_pair():
    s = lw.from_distance(lambda q, p: q - p)
    with pytest.raises(ValueError, match=r"not negative, but .* gave -1.0 on query 1 and item"):
        s.score([5, 2], [3])


def test_a_callable_that_raises_is_named_with_the_pair_and_chained():
    s = lw.from_callable(lambda q, p: q / p)
    with pytest.raises(
        ValueError, match=r"failed on query 0 and item 2: ZeroDivisionError"
    ) as info:
        s.score([1, 1], [1, 2, 0])
    assert isinstance(info.value.__cause__, ZeroDivisionError)


def test_a_callable_is_called_from_one_thread_only(two_threads):
    seen = set()

    def note(q, p):
        seen.add(threading.get_ident())
        return 0.0

    lw.from_callable(note).neighbors(list(range(600)), [1, 2], 1)
    assert seen == {threading.get_ident()}


def test_lists_tuples_arrays_and_frames_are_sequences_of_objects():
    s = lw.from_callable(lambda q, p: float(np.sum(q) * np.sum(p)))
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = s.score(table, table)
    for rows in (table.tolist(), tuple(table), pd.DataFrame(table), pl.DataFrame(table)):
        assert_array_equal(s.score(rows, table), expected)
        assert_array_equal(s.neighbors(rows, rows, 1).ids, s.neighbors(table, table, 1).ids)


@pytest.mark.parametrize("rows", ["abc", 5, None, {1, 2}, {"a": 1}, np.array(3), iter([1])])
def test_what_is_no_sequence_of_objects_is_refused(rows):
    with pytest.raises(TypeError, match="Q must be a list of objects or an array"):
        returning(1.0).score(rows, ["a"])
    with pytest.raises(TypeError, match="P must be a list of objects or an array"):
        returning(1.0).neighbors(["a"], rows, 1)


def test_no_objects_and_sparse_rows_are_refused():
    with pytest.raises(ValueError, match="P has no rows"):
        returning(1.0).score(["a"], [])
    with pytest.raises(TypeError, match=r"P is sparse.*P\.toarray\(\)"):
        returning(1.0).score([[1.0]], csr_array(np.eye(2)))


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="function must be callable on two objects, but 3"):
        lw.from_callable(3)
    with pytest.raises(TypeError, match=r"distance must be .* a function of two objects.*, but 3"):
        lw.from_distance(3)
