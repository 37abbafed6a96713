"""Target neighbors: the nearest other rows of a row's own class, or rows that a user gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import strategies
from tests.oracles import energy as oracle

import likewise as lw
from likewise.supervision import check_targets, target_neighbors

EUCLIDEAN = lw.as_similarity("euclidean")


@st.composite
def problems(draw):
    rows = draw(strategies.tables(st.integers(1, 12), st.integers(1, 3)))
    labels = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(-1, 2)))
    return rows, labels, draw(st.integers(1, 5))


@pytest.mark.filterwarnings("ignore:fewer than")
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "csr"])
@given(problem=problems())
def test_targets_are_the_nearest_of_the_same_class(form, problem):
    rows, labels, k = problem
    between = oracle.squared_distances(rows, rows)
    targets, scores = target_neighbors(EUCLIDEAN, form(rows), form(rows), labels, k)
    assert targets.shape == scores.shape == (len(rows), k)
    for i, expected in enumerate(oracle.targets(between, labels, k)):
        missing = k - len(expected)
        assert targets[i].tolist() == expected + [-1] * missing
        assert_allclose(scores[i], [*-between[i, expected], *[np.nan] * missing])


def test_any_similarity_says_what_near_means(rng):
    rows, labels = rng.random(size=(20, 3)), np.arange(20) % 2
    cosine = lw.as_similarity("cosine")
    scores = cosine.score(rows, rows)
    targets, found = target_neighbors(cosine, rows, rows, labels, 2)
    assert_array_equal(targets, oracle.targets(-scores, labels, 2))
    assert_allclose(found, np.take_along_axis(scores, targets, axis=1))


def test_a_precomputed_matrix_takes_its_columns_as_items(rng):
    rows, labels = rng.normal(size=(15, 2)), np.arange(15) % 3
    distances = oracle.squared_distances(rows, rows)
    given_matrix = lw.Precomputed(is_distance=True)
    targets, _ = target_neighbors(given_matrix, distances, np.arange(15), labels, 3)
    assert_array_equal(targets, target_neighbors(EUCLIDEAN, rows, rows, labels, 3)[0])


def test_words_have_targets_too():
    by_length = lw.from_distance(lambda a, b: abs(len(a) - len(b)))
    words, labels = ["a", "bb", "ccc", "dddddd"], np.array([0, 1, 0, 1])
    targets, scores = target_neighbors(by_length, words, words, labels, 1)
    assert targets.ravel().tolist() == [2, 3, 0, 1]
    assert scores.ravel().tolist() == [-2, -4, -2, -4]


def test_small_classes_are_named_in_one_warning():
    rows = np.arange(8.0)[:, None]
    labels = np.array(["many"] * 5 + ["pair"] * 2 + ["single"])
    with pytest.warns(UserWarning, match="fewer than 4 rows in class") as caught:
        targets, scores = target_neighbors(EUCLIDEAN, rows, rows, labels, 3)
    assert len(caught) == 1
    assert "class pair (2), single (1): " in str(caught[0].message)
    assert targets[5:].tolist() == [[6, -1, -1], [5, -1, -1], [-1, -1, -1]]
    assert np.isnan(scores[5:, 1:]).all()
    assert (targets[:5] >= 0).all()


def test_classes_that_are_large_enough_do_not_warn():
    """Warnings are errors here: k + 1 rows are enough."""
    rows = np.arange(8.0)[:, None]
    targets, _ = target_neighbors(EUCLIDEAN, rows, rows, np.repeat([0, 1], 4), 3)
    assert (targets >= 0).all()


LABELS = np.array([0, 0, 0, 1, 1])
RIGHT = [[1, 2], [0, -1], [-1, -1], [4, -1], [3, 3]]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_row_numbers_are_taken_as_they_are(dtype):
    given = np.array(RIGHT, dtype)
    found = check_targets(given, LABELS)
    assert found.dtype == np.int64
    assert_array_equal(found, given)


def test_unsigned_row_numbers_are_taken_too():
    assert check_targets(np.array([[1], [0], [0], [4], [3]], np.uint64), LABELS).shape == (5, 1)


def changed(row, target):
    targets = [list(own) for own in RIGHT]
    targets[row][0] = target
    return targets


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        (RIGHT[:4], ValueError, r"must have shape \(5, k\), but has shape \(4, 2\)"),
        ([1, 0, 0, 4, 3], ValueError, r"but has shape \(5,\)"),
        (np.empty((5, 0), int), ValueError, r"but has shape \(5, 0\)"),
        (np.array(RIGHT, float), TypeError, "must hold row numbers, but float64"),
        (np.array(RIGHT, object), TypeError, "must hold row numbers"),
        (changed(1, 5), ValueError, "points at row 5, but X has 5 rows"),
        (changed(1, -2), ValueError, "points at row -2, but X has 5 rows"),
        (changed(2, 2), ValueError, "gives row 2 the target 2, which must be another row"),
        (changed(3, 0), ValueError, "gives row 3 the target 0, .* of the same class"),
    ],
)
def test_what_cannot_be_targets_is_refused(targets, error, message):
    with pytest.raises(error, match=message):
        check_targets(targets, LABELS)
