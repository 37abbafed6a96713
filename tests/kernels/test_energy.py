"""The energy of each hypothesised label."""

import numpy as np
import pytest
from hypothesis import given
from tests import strategies
from tests.oracles import energy as oracle

from likewise import kernels


def energies(tests, rows, labels, k, c, weights):
    """Prepare what the kernel takes, with NaN where a class or a row is short, and call it."""
    d = oracle.squared_distances(tests, rows)
    between = oracle.squared_distances(rows, rows)
    n_classes = labels.max() + 1
    nearest = np.full((len(tests), n_classes, k), np.nan)
    radii = np.full((len(rows), k), np.nan)
    for t in range(len(tests)):
        for y in range(n_classes):
            found = oracle.nearest_of_label(d[t], labels, y, k)
            nearest[t, y, : len(found)] = d[t, found]
    for i, found in enumerate(oracle.targets(between, labels, k)):
        radii[i, : len(found)] = between[i, found]
    out = np.full((len(tests), n_classes), np.nan)
    scratch = np.empty((2, n_classes))
    kernels.class_energies(d, labels, nearest, radii, weights, c, *scratch, out)
    return out


@pytest.mark.parametrize("c", [0.0, 0.2, 1.0, 7.0])
@given(problem=strategies.labelled_rows())
def test_class_energies_are_the_printed_rule(c, problem):
    weights = 0.5 + np.arange(len(problem[1])) % 3
    expected = oracle.energies(*problem, c, weights)
    np.testing.assert_allclose(energies(*problem, c, weights), expected, rtol=1e-12, atol=1e-9)


def test_a_larger_problem_follows_the_printed_rule(rng):
    tests, rows = rng.normal(size=(5, 4)), rng.normal(size=(40, 4))
    labels = np.repeat(np.arange(4), [20, 15, 4, 1])
    for c in (0.2, 7.0):
        expected = oracle.energies(tests, rows, labels, 3, c)
        found = energies(tests, rows, labels, 3, c, np.ones(40))
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_label_without_rows_costs_what_the_others_lose():
    """Nothing to be near to: only the invaded targets of the other classes count."""
    distances, labels = np.array([[0.5, 2.0]]), np.zeros(2, dtype=np.int64)
    nearest = np.array([[[0.5], [np.nan]]])
    radii, scratch, out = np.array([[3.0], [3.0]]), np.empty((2, 2)), np.empty((1, 2))
    kernels.class_energies(distances, labels, nearest, radii, np.ones(2), 0.2, *scratch, out)
    np.testing.assert_allclose(out, [[0.5, 0.2 * (3.5 + 2.0)]])
