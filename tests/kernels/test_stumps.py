"""The search of splits, the weights and the walk through trees against their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import dboost as oracle

from likewise import kernels
from likewise.classifiers._boosting import (
    histogram_threshold,
    leaf_weights,
    predicted_classes,
    reweigh,
)

DISTANCES = (0.0, 0.25, 1.0, 3.0, 7.5)  # sums and halves of them are exact: ties abound


@st.composite
def problems(draw):
    """Return columns of dissimilarities, pairs, rows, labels and weights, some of them zero."""
    n_all, n_classes = draw(st.integers(2, 12)), draw(st.integers(2, 4))
    elements = st.sampled_from(DISTANCES)
    columns = draw(hnp.arrays(np.float64, (4, n_all), elements=elements))
    pairs = draw(hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 3)))
    rows = np.array(sorted(draw(st.sets(st.integers(0, n_all - 1), min_size=1))))
    labels = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, n_classes - 1)))
    shape = (len(rows), 1 if n_classes == 2 else n_classes)
    weights = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from((0.0, 0.5, 1.0, 8.0))))
    return columns, pairs, rows, labels, n_classes, weights


def summed(labels, n_classes, weights):
    """Return targets, own weights and whole sums as the kernels want them."""
    Y = oracle.signs(labels, n_classes)
    targets = labels - 1 if n_classes == 2 else labels
    own = np.where(targets >= 0, weights[np.arange(len(labels)), targets], 0.0)
    return targets, own, np.array([(weights * (Y > 0)).sum(0), weights.sum(0)]), Y


def histogram_search(columns, pairs, rows, targets, weights, own, whole, n_bins):
    """Return the minimum Z of each pair, the last bin below it, and the scale of the bins."""
    n_pairs = len(pairs[0])
    z, cuts, scales = np.empty(n_pairs), np.empty(n_pairs, np.int64), np.empty((n_pairs, 2))
    scratch = np.empty(len(rows)), np.empty(len(rows), np.int32)
    sums = np.empty((2, n_bins, weights.shape[1]))
    given = columns, *pairs, rows, targets, weights, own, whole
    kernels.search_histogram(*given, *scratch, sums, z, cuts, scales)
    return z, cuts, scales


@given(problem=problems(), extra=st.integers(1, 3))
def test_labels_without_weight_change_no_search(problem, extra):
    columns, pairs, rows, labels, n_classes, weights = problem
    targets, own, whole, _ = summed(labels, n_classes, weights)
    found = []
    for more in (0, extra):
        wide = np.pad(weights, ((0, 0), (0, more)))
        padded = np.pad(whole, ((0, 0), (0, more)))
        given = columns, *pairs, rows, targets, wide, own
        exact, zero, thresholds = np.empty((3, 3))
        kernels.search_exact(*given, padded, exact, thresholds)
        histogram, *_ = histogram_search(columns, pairs, rows, targets, wide, own, padded, 5)
        kernels.search_zero(*given, zero)
        found.append([exact, histogram, zero])
    assert_allclose(found[0], found[1], atol=1e-12)


@given(problem=problems())
def test_exact_search_finds_the_best_of_all_thresholds(problem):
    columns, pairs, rows, labels, n_classes, weights = problem
    targets, own, whole, Y = summed(labels, n_classes, weights)
    z, thresholds = np.empty(3), np.empty(3)
    kernels.search_exact(columns, *pairs, rows, targets, weights, own, whole, z, thresholds)
    for m, (first, second) in enumerate(pairs.T):
        f = columns[first, rows] - columns[second, rows]
        assert_allclose(z[m], oracle.best_exact(f, Y, weights), atol=1e-7)
        assert_allclose(oracle.normaliser(f > thresholds[m], Y, weights), z[m], atol=1e-7)


@pytest.mark.parametrize("n_bins", [2, 5, 128])
@given(problem=problems())
def test_histogram_search_finds_the_best_border(n_bins, problem):
    columns, pairs, rows, labels, n_classes, weights = problem
    targets, own, whole, Y = summed(labels, n_classes, weights)
    z, cuts, scales = histogram_search(columns, pairs, rows, targets, weights, own, whole, n_bins)
    for m, (first, second) in enumerate(pairs.T):
        f = columns[first, rows] - columns[second, rows]
        assert_allclose(z[m], oracle.best_histogram(f, Y, weights, n_bins), atol=1e-7)
        v = histogram_threshold(f, cuts[m], *scales[m])
        assert_allclose(oracle.normaliser(f > v, Y, weights), z[m], atol=1e-7)


@given(problem=problems())
def test_zero_search_compares_the_two_distances(problem):
    columns, pairs, rows, labels, n_classes, weights = problem
    targets, own, _, Y = summed(labels, n_classes, weights)
    z = np.empty(3)
    kernels.search_zero(columns, *pairs, rows, targets, weights, own, z)
    for m, (first, second) in enumerate(pairs.T):
        expected = oracle.normaliser(columns[first, rows] > columns[second, rows], Y, weights)
        assert_allclose(z[m], expected, atol=1e-7)


@pytest.mark.parametrize("values", [[0.0, 1e-310, 5e-310], [-1.7e308, 0.0, 1.7e308]])
def test_a_histogram_of_an_infinite_or_too_small_range_splits_nothing(values):
    columns = np.array([values, [0.0, 0.0, 0.0]])
    pairs, rows, targets = np.array([[0], [1]]), np.arange(3), np.array([0, -1, -1])
    weights, own, whole = np.ones((3, 1)), np.array([1.0, 0, 0]), np.array([[1.0], [3.0]])
    z, cuts, scales = histogram_search(columns, pairs, rows, targets, weights, own, whole, 128)
    assert cuts[0] == -1
    assert_allclose(z[0], 2 * np.sqrt(2))
    assert not (columns[0] > histogram_threshold(columns[0], cuts[0], *scales[0])).any()


@pytest.mark.parametrize("search", ["exact", "histogram"])
def test_the_threshold_leaves_the_values_it_parts_on_their_sides(search):
    """Neighbouring floats have no middle between them."""
    values = np.array([[1.0, np.nextafter(1.0, 2), 2.0], [0.0, 0.0, 0.0]])
    pairs, rows, targets = np.array([[0], [1]]), np.arange(3), np.array([0, -1, -1])
    weights, own = np.ones((3, 1)), np.array([1.0, 0, 0])
    z, thresholds = np.empty(1), np.empty(1)
    whole = np.array([[1.0], [3.0]])
    if search == "exact":
        kernels.search_exact(values, *pairs, rows, targets, weights, own, whole, z, thresholds)
        assert thresholds[0] == 1.0
        assert z[0] == 0.0
    else:
        _, cuts, scales = histogram_search(values, pairs, rows, targets, weights, own, whole, 128)
        v = histogram_threshold(values[0] - values[1], cuts[0], *scales[0])
        assert values[0, 1] <= v < 2.0


@given(problem=problems(), smoothing=st.sampled_from([0.01, 0.3]))
def test_weights_are_multiplied_and_scaled(problem, smoothing):
    _, _, rows, labels, n_classes, weights = problem
    weights = weights + 0.1
    targets, _, _, Y = summed(labels, n_classes, weights)
    leaves = rows % 3
    positive, total = leaf_weights(leaves, targets, weights, 3)
    h = np.log((positive + smoothing) / (total - positive + smoothing)) / 2
    assert_allclose(h, oracle.outputs(leaves, 3, Y, weights, smoothing), atol=1e-12)
    expected, z = oracle.reweigh(leaves, h, Y, weights)
    changed, masses = weights.copy(), np.empty(len(rows))
    found = reweigh(leaves, targets, h, changed, masses)
    assert_allclose(changed, expected, rtol=1e-12)
    assert_allclose(masses, expected.sum(axis=1), rtol=1e-12)
    assert_allclose(found, z, rtol=1e-12)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([[-1.0], [0.0], [2.0]], [0, 0, 1]), ([[1.0, 3, 3], [2, 0, 1]], [1, 0])],
)
def test_the_first_of_the_highest_scores_is_predicted(scores, expected):
    assert_array_equal(predicted_classes(np.array(scores)), expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_example_ends_in_the_leaf_of_its_walk(depth, rng):
    n_nodes, n_trees = 2**depth - 1, 5
    D = rng.integers(0, 4, size=(20, 6)) / 1.0
    firsts, seconds = rng.integers(0, 6, size=(2, n_trees, n_nodes))
    thresholds = rng.choice([-1.0, 0.0, 0.5, np.inf], size=(n_trees, n_nodes))
    outputs = rng.normal(size=(n_trees, n_nodes + 1, 3))
    expected = np.array(
        [
            [oracle.walk(row, *tree) for tree in zip(firsts, seconds, thresholds, strict=True)]
            for row in D
        ]
    )
    leaves = np.empty((20, n_trees), np.int64)
    kernels.find_leaves(D, firsts, seconds, thresholds, leaves)
    assert_array_equal(leaves, expected)
    scores = np.empty((20, 3))
    kernels.sum_trees(D, firsts, seconds, thresholds, outputs, scores)
    assert_allclose(scores, outputs[np.arange(n_trees), expected].sum(axis=1), atol=1e-12)
