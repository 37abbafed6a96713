"""What is judged in a split was not learned from: neither the query nor the item."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, issparse

from likewise.supervision import N_SPLITS, HoldOut, relevant_items

SIZES = st.integers(0, 23)


def some_grades(rng, n_queries=17, n_items=23):
    dense = rng.integers(1, 4, size=(n_queries, n_items)) * (rng.random((n_queries, n_items)) < 0.4)
    return csr_array(dense.astype(np.float64))


@given(n_queries=SIZES, n_items=SIZES, seed=st.integers(0, 99))
def test_splits_are_equal_in_size_within_one(n_queries, n_items, seed):
    holdout = HoldOut.random(n_queries, n_items, np.random.default_rng(seed))
    for splits, n in ((holdout.queries, n_queries), (holdout.items, n_items)):
        assert splits.shape == (n,)
        sizes = np.bincount(splits, minlength=N_SPLITS)
        assert len(sizes) == N_SPLITS
        assert sizes.max() - sizes.min() <= 1


def test_splits_are_random_and_repeatable():
    first, again, other = (
        HoldOut.random(50, 40, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    assert_array_equal(first.queries, again.queries)
    assert_array_equal(first.items, again.items)
    assert (first.queries != other.queries).any()
    assert (first.queries[:40] != first.items).any()


def test_items_that_are_the_queries_are_split_with_them(rng):
    holdout = HoldOut.random(30, 30, rng, same=True)
    assert_array_equal(holdout.items, holdout.queries)


@pytest.mark.parametrize("same", [False, True])
def test_training_grades_hold_no_held_out_query_or_item(same, rng):
    grades = some_grades(rng, 23, 23)
    holdout = HoldOut.random(23, 23, rng, same=same)
    for split in range(N_SPLITS):
        training = holdout.training(grades, split)
        assert issparse(training)
        assert training.shape == grades.shape
        kept = np.outer(holdout.queries != split, holdout.items != split)
        assert_array_equal(training.toarray(), np.where(kept, grades.toarray(), 0))
        assert training.nnz == np.count_nonzero(training.toarray())


def test_a_grade_of_a_held_out_query_or_item_leaves_no_trace(rng):
    """An intruder of grade 10⁹ in what is held out."""
    grades = some_grades(rng)
    holdout = HoldOut.random(*grades.shape, rng)
    intruded = grades.toarray()
    intruded[holdout.queries == 2] = 1e9
    intruded[:, holdout.items == 2] = 1e9
    assert (holdout.training(csr_array(intruded), 2) != holdout.training(grades, 2)).nnz == 0


def test_every_query_is_judged_in_one_split_and_its_training_keeps_most(rng):
    grades = csr_array(np.ones((20, 30)))
    holdout = HoldOut.random(20, 30, rng)
    for split in range(N_SPLITS):
        assert holdout.training(grades, split).nnz == 16 * 24
    assert sum(np.count_nonzero(holdout.queries == split) for split in range(N_SPLITS)) == 20


def test_the_given_grades_are_left_as_they_are(rng):
    grades = some_grades(rng)
    before = grades.toarray()
    holdout = HoldOut.random(*grades.shape, rng)
    holdout.training(grades, 0).data[:] = 99
    assert_array_equal(grades.toarray(), before)


def test_pairs_are_learned_from_as_their_grades_are(rng):
    holdout = HoldOut.random(10, 12, rng)
    queries, items = (part.ravel() for part in np.indices((10, 12)))
    pairs = holdout.in_training(queries, items, 3).reshape(10, 12)
    assert_array_equal(pairs, holdout.training(csr_array(np.ones((10, 12))), 3).toarray() > 0)


def test_relevant_items_are_those_with_a_grade_above_zero():
    stored_zero = csr_array(
        (np.array([2.0, 0.0, 1.0]), (np.array([0, 0, 1]), np.array([1, 2, 1]))), shape=(3, 4)
    )
    assert_array_equal(relevant_items(stored_zero), [False, True, False, False])
    assert not relevant_items(csr_array((0, 3))).any()
