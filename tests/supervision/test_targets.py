"""Target neighbours: the nearest rows of a row's own class, never itself."""

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
from likewise.supervision import target_neighbors

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
