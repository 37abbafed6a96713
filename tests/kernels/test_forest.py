"""The mean of the leaves of a forest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise import kernels


def walked(row, tree, feature, threshold, left, right, value):
    node = tree
    while left[node] != node:
        node = left[node] if row[feature[node]] <= threshold[node] else right[node]
    return value[node]


@pytest.mark.parametrize("n", [0, 1, 50])
def test_rows_reach_the_leaves_of_a_walk(rng, n):
    n_nodes, roots = 31, np.array([0, 9, 20])
    own = np.arange(n_nodes)
    ends = np.array([8, 19, 30])[np.searchsorted([8, 19, 30], own)]
    left, right = (np.minimum(own + rng.integers(1, 5, n_nodes), ends) for _ in range(2))
    leaf = (left == own) | (right == own)
    left[leaf], right[leaf] = own[leaf], own[leaf]
    feature, threshold = rng.integers(0, 4, n_nodes), rng.integers(-2, 3, n_nodes) / 2
    value = rng.random(n_nodes)
    rows = rng.integers(-2, 3, (n, 4)).astype(np.float32) / 2  # often equal to a threshold
    nodes = feature, threshold, left, right, value
    means = np.empty(n)
    kernels.forest_means(rows, roots, *nodes, means)
    expected = [np.mean([walked(row, tree, *nodes) for tree in roots]) for row in rows]
    assert_allclose(means, expected, rtol=1e-12)
