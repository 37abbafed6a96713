"""nDCG of seen and of new items, from ranks and in random order."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import seen_new as oracle

from likewise.metrics import ndcg_seen_new, random_order_ndcg


@st.composite
def problems(draw):
    """Draw scores with ties, grades that are mostly 0, a mask of seen items, and a cut-off."""
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 9)))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from((0.0, 1.0, 2.0))))
    grades = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from((0, 0, 0.5, 1, 100))))
    seen = draw(hnp.arrays(bool, shape[1], elements=st.booleans()))
    return scores, grades, seen, draw(st.sampled_from((1, 2, 3, 10)))


def relevant(scores, grades, seen):
    """Return rows, grades, ranks and kind of the relevant items; equal scores by row."""
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)
    rows, items = np.nonzero(grades)
    return rows, grades[rows, items], ranks[rows, items], seen[items]


def expected_ndcg(scores, grades, seen, k):
    values = np.full((3, len(scores)), np.nan)
    for kind, (queries, found) in enumerate(oracle.measures_apart(scores, grades, seen, (k,))):
        values[kind, queries] = found.get(f"ndcg@{k}", [])
    return values


@given(problem=problems())
def test_ndcg_apart_is_its_definition(problem):
    scores, grades, seen, k = problem
    rows, relevant_grades, ranks, kinds = relevant(scores, grades, seen)
    found = ndcg_seen_new(rows, relevant_grades, ranks, kinds, len(scores), k)
    assert_allclose(found, expected_ndcg(scores, grades, seen, k), rtol=1e-12)


@given(problem=problems(), seed=st.integers(0, 99))
def test_the_order_of_the_relevant_items_is_of_no_account(problem, seed):
    scores, grades, seen, k = problem
    given_items = relevant(scores, grades, seen)
    order = np.random.default_rng(seed).permutation(len(given_items[0]))
    shuffled = [part[order] for part in given_items]
    assert_allclose(
        ndcg_seen_new(*shuffled, len(scores), k),
        ndcg_seen_new(*given_items, len(scores), k),
        rtol=1e-12,
    )


def test_ndcg_apart_by_hand():
    """New items at ranks 1 and 3 are left out: the seen one at rank 4 is at 2, not at 4."""
    rows, grades = np.array([0, 0, 0]), np.array([1.0, 2.0, 1.0])
    ranks, seen = np.array([0, 3, 2]), np.array([False, True, False])
    overall, of_seen, of_new = ndcg_seen_new(rows, grades, ranks, seen, 1)[:, 0]
    best = 2 + 1 / np.log2(3) + 1 / 2
    assert overall == pytest.approx((1 + 1 / 2 + 2 / np.log2(5)) / best)
    assert of_seen == pytest.approx(1 / np.log2(3))
    assert of_new == pytest.approx((1 + 1 / 2) / (1 + 1 / np.log2(3)))


def test_an_item_of_equal_rank_is_not_above():
    """Where ranks count only higher scores, two items can share one; neither moves the other."""
    rows, grades, ranks = np.zeros(2, int), np.ones(2), np.array([3, 3])
    for seen in ([True, False], [False, True]):
        found = ndcg_seen_new(rows, grades, ranks, np.array(seen), 1)
        assert_allclose(found[1:, 0], 1 / np.log2(5))


def test_queries_with_nothing_of_a_kind_have_no_value():
    rows, grades, ranks = np.array([1]), np.array([1.0]), np.array([0])
    found = ndcg_seen_new(rows, grades, ranks, np.array([True]), 3)
    assert_array_equal(found, [[np.nan, 1, np.nan], [np.nan, 1, np.nan], [np.nan] * 3])


def test_nothing_relevant_has_no_values():
    nothing = np.zeros(0, int)
    no_kind = nothing.astype(bool)
    assert np.isnan(ndcg_seen_new(nothing, nothing, nothing, no_kind, 2)).all()
    assert np.isnan(random_order_ndcg(nothing, nothing, no_kind, 2, 5)).all()


@st.composite
def tiny_sets(draw):
    n_items = draw(st.integers(1, 5))
    grades = draw(hnp.arrays(np.float64, (2, n_items), elements=st.sampled_from((0, 0.5, 1, 100))))
    seen = draw(hnp.arrays(bool, n_items, elements=st.booleans()))
    return grades, seen, draw(st.sampled_from((1, 2, 10)))


@given(problem=tiny_sets())
def test_random_order_is_the_mean_over_all_permutations(problem):
    """Also where all items are relevant, and leaving out one kind leaves nothing to rank."""
    grades, seen, k = problem
    orders = list(permutations(range(grades.shape[1])))
    expected = np.mean(
        [expected_ndcg(np.tile(order, (2, 1)), grades, seen, k) for order in orders], axis=0
    )
    rows, items = np.nonzero(grades)
    found = random_order_ndcg(rows, grades[rows, items], seen[items], 2, grades.shape[1], k)
    assert_allclose(found, expected, rtol=1e-12)


def test_random_order_of_many_items_is_worth_little():
    rows, grades, seen = np.array([0]), np.array([3.0]), np.array([False])
    overall, of_seen, of_new = random_order_ndcg(rows, grades, seen, 1, 10_000)[:, 0]
    assert overall == of_new == pytest.approx(sum(1 / np.log2(r + 2) for r in range(10)) / 10_000)
    assert np.isnan(of_seen)
