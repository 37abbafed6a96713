"""Pairs drawn from labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise.supervision import LabelPairs, check_pairs

Y = np.array(["ash", "ash", "beech", "beech", "beech", "cedar"])
WEIGHTS = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 5.0])


def test_similar_and_dissimilar_pairs_come_in_turn_and_no_row_with_itself(rng):
    pairs, similar = LabelPairs(Y, WEIGHTS).draw(5001, rng)
    assert_array_equal(similar, np.arange(5001) % 2 == 0)
    first, second = Y[pairs[:, 0]], Y[pairs[:, 1]]
    assert_array_equal(first == second, similar)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert 5 not in pairs[similar]  # the only cedar has no similar row


def test_rows_are_drawn_in_proportion_to_their_weights(rng):
    pairs, similar = LabelPairs(Y, WEIGHTS).draw(80_000, rng)
    chosen = pairs[similar]
    assert_allclose(np.bincount(chosen[:, 0]) / 40_000, WEIGHTS[:5] / 8, atol=0.01)
    of_beech = chosen[chosen[:, 0] == 2, 1]
    assert_allclose(np.bincount(of_beech)[3:] / len(of_beech), [0.5, 0.5], atol=0.02)
    others = pairs[~similar]
    assert_allclose(np.bincount(others[:, 0]) / 40_000, WEIGHTS / 13, atol=0.01)
    of_cedar = others[others[:, 0] == 5, 1]
    assert_allclose(np.bincount(of_cedar) / len(of_cedar), WEIGHTS[:5] / 8, atol=0.02)


@pytest.mark.parametrize("extreme", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("weights", [None, WEIGHTS / 7])
def test_the_ends_of_the_intervals_are_pairs_too(extreme, weights):
    class Stuck:
        def random(self, n):
            return np.full(n, extreme)

    source = LabelPairs(np.array([0, 0, 1, 1, 1, 0]), weights)
    pairs, similar = source.draw(2, Stuck())
    y = np.array([0, 0, 1, 1, 1, 0])
    assert_array_equal(y[pairs[:, 0]] == y[pairs[:, 1]], similar)
    assert (pairs[:, 0] != pairs[:, 1]).all()


def test_labels_without_a_similar_pair_are_refused():
    with pytest.raises(ValueError, match="y has no class of two rows or more"):
        LabelPairs([0, 1, 2])
    with pytest.raises(ValueError, match="y has one class"):
        LabelPairs([1, 1])


def test_given_pairs_name_the_rows_that_they_do_not_have():
    rows = np.eye(3)
    pairs, similar = check_pairs([[0, 1], [2, 0]], [True, False], rows, rows)
    assert_array_equal(pairs, [[0, 1], [2, 0]])
    assert_array_equal(similar, [True, False])
    with pytest.raises(ValueError, match="pairs points at row 3, but X has 3 rows"):
        check_pairs([[0, 3]], [1], rows, rows, ("X", "X"))
    with pytest.raises(ValueError, match=r"1 for similar pairs .* ones, but holds 2"):
        check_pairs([[0, 1], [1, 2]], [1, 2], rows, rows)
