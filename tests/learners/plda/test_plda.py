"""The two-covariance model of pairs against the formula as printed."""

import numpy as np
import pytest
from tests.oracles import plda as oracle

from likewise.learners.plda import PairSpace, discriminants


@pytest.fixture(params=[4, 0])
def kinds(request, rng):
    """Return rows of kinds that differ in two directions, with lopsided variances and a mean."""
    means = np.zeros((6, 12))
    means[:, :2] = 3 * rng.normal(size=(6, 2))
    labels = rng.integers(6, size=150)
    noise = rng.normal(size=(150, 12)) * np.linspace(3, 0.2, 12)[::-1]
    return means[labels] + noise + request.param, labels


def pairs_of(labels, n, rng):
    found = []
    while len(found) < n:
        a, b = rng.integers(len(labels), size=2)
        if a != b and labels[a] == labels[b]:
            found.append((a, b))
    return np.array(found)


@pytest.mark.parametrize("n_pairs", [1, 7, 200])
def test_it_is_the_log_likelihood_ratio_as_printed(kinds, rng, n_pairs):
    rows, labels = kinds
    pairs = pairs_of(labels, n_pairs, rng)
    space = PairSpace.of_rows(rows, 8)
    differences = rows[pairs[:, 0]] - rows[pairs[:, 1]]
    for k, B in zip((3, 8), discriminants(space, differences, (3, 8)), strict=True):
        np.testing.assert_allclose(B @ B.T, oracle.form(rows, pairs, k), atol=1e-10)


@pytest.mark.parametrize("n", [5, 40])
def test_the_space_is_the_same_by_rows_and_by_columns(rng, n):
    rows = rng.normal(size=(n, 20)) * np.linspace(1, 2, 20) + 1
    space = PairSpace.of_rows(rows, 4)
    directions, variances = oracle.principal(rows, 4)
    np.testing.assert_allclose(space.variances, variances, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(space.directions * directions, axis=1)), 1, rtol=1e-9)
    np.testing.assert_allclose(space.directions @ rows.mean(axis=0), 0, atol=1e-9)


def test_a_mean_that_is_small_in_its_direction_stays(rng):
    rows = rng.normal(size=(60, 4)) * [3, 2, 1, 1]
    assert len(PairSpace.of_rows(rows + 0.2, 4).variances) == 4
    assert len(PairSpace.of_rows(rows + 9, 4).variances) == 3


def test_directions_in_which_nothing_varies_are_left_out(rng):
    rows = np.zeros((30, 5))
    rows[:, 1:3] = rng.normal(size=(30, 2))
    space = PairSpace.of_rows(rows, 5)
    assert len(space.variances) == len(space.directions) == 2  # the mean is small
    assert len(PairSpace.of_rows(rows + 9 * np.eye(5)[1], 5).variances) == 1
    assert len(PairSpace.of_rows(np.ones((3, 4)), 4).variances) == 0
    assert len(PairSpace.of_rows(np.zeros((3, 4)), 4).variances) == 0


def test_pairs_that_tell_nothing_give_no_directions(rng):
    rows = rng.normal(size=(400, 3)) + 2
    space = PairSpace.of_rows(rows, 3)
    assert discriminants(space, np.zeros((0, 3)), (2,))[0].shape == (3, 0)
    far = 10 * rng.normal(size=(300, 3))  # pairs that differ more than rows do
    assert discriminants(space, far, (2,))[0].shape == (3, 0)
    assert discriminants(PairSpace.of_rows(np.ones((3, 3)), 3), far, (2,))[0].shape == (3, 0)


def test_scores_separate_kinds_better_than_the_rows_themselves(kinds, rng):
    rows, labels = kinds
    pairs = pairs_of(labels[:100], 60, rng)
    space = PairSpace.of_rows(rows[:100], 8)
    (B,) = discriminants(space, rows[pairs[:, 0]] - rows[pairs[:, 1]], (8,))
    new, of = rows[100:], labels[100:]

    def right(scores):
        """Return the share of triplets in the right order."""
        q, a, b = rng.integers(len(new), size=(3, 5_000))
        asked = (q != a) & (of[q] == of[a]) & (of[q] != of[b])
        return np.mean((scores[q, a] > scores[q, b])[asked])

    learned, plain = right((new @ B) @ (new @ B).T), right(new @ new.T)
    assert learned > plain + 0.04
