"""Ranking measures by hand; `tests/evaluation` holds them to trec_eval."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise import metrics

# Relevant at ranks 1, 3 and 4; at rank 2; nowhere.
GAINS = np.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
N_RELEVANT = np.array([4, 1, 2])


@pytest.mark.parametrize(
    ("k", "expected"),
    [(1, [1, 0, 0]), (3, [2 / 3, 1 / 3, 0]), (5, [3 / 5, 1 / 5, 0]), (10, [3 / 10, 1 / 10, 0])],
)
def test_precision_divides_by_k_also_beyond_the_depth(k, expected):
    assert_allclose(metrics.precision_at(GAINS, k), expected)


@pytest.mark.parametrize(
    ("k", "expected"), [(1, [1 / 4, 0, 0]), (3, [2 / 4, 1, 0]), (10, [3 / 4, 1, 0])]
)
def test_recall_divides_by_all_that_is_relevant(k, expected):
    assert_allclose(metrics.recall_at(GAINS, k, N_RELEVANT), expected)


def test_reciprocal_rank_is_of_the_first_relevant_item():
    assert_allclose(metrics.reciprocal_rank(GAINS), [1, 1 / 2, 0])


def test_average_precision_counts_what_was_not_found_as_zero():
    """Precisions 1/1, 2/3 and 3/4 at the ranks found, over four relevant items."""
    expected = [(1 + 2 / 3 + 3 / 4) / 4, 1 / 2, 0]
    assert_allclose(metrics.average_precision(GAINS, N_RELEVANT), expected)


def test_ndcg_discounts_by_the_logarithm_of_the_rank():
    """Grades 1, 3, 2 where 3, 2, 2, 1 would be best; discounts 1, log₂3, log₂4."""
    gains, ideal = np.array([[1, 3, 2]]), np.array([[3, 2, 2, 1]])
    found = 1 + 3 / np.log2(3) + 2 / 2
    assert_allclose(metrics.ndcg_at(gains, 3, ideal), found / (3 + 2 / np.log2(3) + 2 / 2))
    assert_allclose(metrics.ndcg_at(gains, 1, ideal), 1 / 3)
    longer = 3 + 2 / np.log2(3) + 2 / 2 + 1 / np.log2(5)
    assert_allclose(metrics.ndcg_at(gains, 10, ideal), found / longer)


def test_ndcg_of_the_best_ranking_is_one_and_of_nothing_zero():
    ideal = np.array([[3, 1], [0, 0]])
    assert_array_equal(metrics.ndcg_at(ideal, 2, ideal), [1, 0])


def test_grades_count_once_in_all_measures_but_ndcg():
    graded = GAINS * 3
    assert_array_equal(metrics.precision_at(graded, 3), metrics.precision_at(GAINS, 3))
    assert_array_equal(
        metrics.recall_at(graded, 3, N_RELEVANT), metrics.recall_at(GAINS, 3, N_RELEVANT)
    )
    assert_array_equal(
        metrics.average_precision(graded, N_RELEVANT), metrics.average_precision(GAINS, N_RELEVANT)
    )
    assert_array_equal(metrics.reciprocal_rank(graded), metrics.reciprocal_rank(GAINS))
