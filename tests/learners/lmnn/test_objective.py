"""The cost of margins over a map, its gradient, and the search for impostors."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import energy
from tests.oracles import lmnn as oracle
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise._threads import limit_threads
from likewise.learners.lmnn import _impostors, _objective
from likewise.learners.lmnn._impostors import ImpostorSearch, find_impostors
from likewise.learners.lmnn._objective import Margins
from likewise.supervision import target_neighbors


def make_problem(rng, sizes=(9, 6, 4, 1), width=4, k=3, dtype=np.float64):
    """Return rows with ties and doubles, labels and targets; a class of one has none."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(labels), width)) + 0.7 * labels[:, None]
    X[1], X[3] = X[0], X[-1]
    targets = np.full((len(X), k), -1)
    for i, found in enumerate(oracle_targets(X, labels, k)):
        targets[i, : len(found)] = found
    return X.astype(dtype), labels, targets


def oracle_targets(X, labels, k):
    return energy.targets(energy.squared_distances(X, X), labels, k)


def ready(X, labels, targets, c, L, weights=None):
    margins = Margins(X, np.arange(len(X)), targets, c, weights)
    search = ImpostorSearch(margins, labels, None)
    search.renew(L)
    return margins, search


@pytest.mark.parametrize("n_components", [4, 2])
@pytest.mark.parametrize("c", [0.2, 7.0])
def test_the_objective_is_the_printed_one(rng, c, n_components):
    X, labels, targets = make_problem(rng)
    parts = oracle.label_triplets(labels, targets)
    for scale in (0.1, 1.0, 3.0):
        L = scale * rng.normal(size=(n_components, 4))
        _, search = ready(X, labels, targets, c, L)
        assert_allclose(search.renew(L), oracle.objective(L, X, *parts, c), rtol=1e-12)


@pytest.mark.parametrize("width", [0.03, 0.3])
@pytest.mark.parametrize("c", [0.2, 7.0])
def test_the_smoothed_cost_and_its_gradient_are_the_printed_ones(rng, c, width):
    X, labels, targets = make_problem(rng)
    parts = oracle.label_triplets(labels, targets)
    for n_components in (4, 2):
        L = 0.5 * rng.normal(size=(n_components, 4))
        margins, _ = ready(X, labels, targets, c, L)
        value, slope = margins.cost_and_gradient(L, width)
        assert_allclose(value, oracle.objective(L, X, *parts, c, width), rtol=1e-12)
        assert_allclose(slope, oracle.gradient(L, X, *parts, c, width), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("n_components", [4, 1])
def test_weights_multiply_pairs_by_one_row_and_triplets_by_two(rng, n_components):
    X, labels, targets = make_problem(rng)
    parts, weights = oracle.label_triplets(labels, targets), rng.choice([0.1, 1.0, 4.0], len(X))
    L = 0.5 * rng.normal(size=(n_components, 4))
    margins, search = ready(X, labels, targets, 0.7, L, weights)
    plain = oracle.objective(L, X, *parts, 0.7, weights=weights)
    assert_allclose(search.renew(L), plain, rtol=1e-12)
    value, slope = margins.cost_and_gradient(L, 0.3)
    assert_allclose(value, oracle.objective(L, X, *parts, 0.7, 0.3, weights), rtol=1e-12)
    assert_allclose(slope, oracle.gradient(L, X, *parts, 0.7, 0.3, weights), rtol=1e-10, atol=1e-9)
    pull, _, total = margins.dual(L, 0.3)
    expected = sum(weights[i] * oracle.outer(X, i, j) for i, j in parts[0])
    assert_allclose(pull, expected, rtol=1e-10, atol=1e-9)
    assert 0 < total <= 0.7 * sum(weights[i] * weights[n] for i, _, n in parts[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_the_slope_in_every_direction(rng, weighted):
    X, labels, targets = make_problem(rng)
    L, step = 0.5 * rng.normal(size=(3, 4)), 1e-6
    weights = rng.random(len(X)) if weighted else None
    margins, _ = ready(X, labels, targets, 7.0, L, weights)
    found = margins.cost_and_gradient(L, 0.3)[1]
    for at in np.ndindex(*L.shape):
        moved = np.zeros_like(L)
        moved[at] = step
        up, down = (margins.cost_and_gradient(L + sign * moved, 0.3)[0] for sign in (1, -1))
        assert_allclose(found[at], (up - down) / (2 * step), rtol=1e-5, atol=1e-4)


def test_single_precision_agrees_with_double(rng):
    X, labels, targets = make_problem(rng)
    L = rng.normal(size=(4, 4))
    double, _ = ready(X, labels, targets, 0.2, L)
    single, _ = ready(X.astype(np.float32), labels, targets, 0.2, L)
    for one, other in zip(
        double.cost_and_gradient(L, 0.3), single.cost_and_gradient(L, 0.3), strict=True
    ):
        assert_allclose(other, one, rtol=1e-4, atol=1e-3)


def test_without_impostors_only_the_pull_is_left(rng):
    X, labels, targets = make_problem(rng)
    X += 1e3 * np.eye(4)[labels]  # ... and a row of another class can be no one's impostor
    targets[3, :] = targets[0, :] = targets[1, :] = -1  # the doubles
    pairs, _ = oracle.label_triplets(labels, targets)
    margins, search = ready(X, labels, targets, 7.0, np.eye(4))
    assert margins.n_impostors == 0
    assert_allclose(search.renew(np.eye(4)), oracle.objective(np.eye(4), X, pairs, [], 1))
    expected = oracle.gradient(np.eye(4), X, pairs, [], 1)
    assert_allclose(margins.cost_and_gradient(np.eye(4), 0.3)[1], expected, rtol=1e-9, atol=1e-6)


def test_rows_without_targets_cost_nothing(rng):
    X, labels, targets = make_problem(rng)
    margins, search = ready(X, labels, np.full_like(targets, -1), 7.0, np.eye(4))
    assert search.renew(np.eye(4)) == 0
    assert_array_equal(margins.cost_and_gradient(np.eye(4), 0.3)[1], np.zeros((4, 4)))
    assert search.best_scale(np.eye(4)) == 1


@pytest.mark.parametrize("block", [1, 7, 1024])
def test_impostors_do_not_depend_on_the_blocks(rng, monkeypatch, block):
    monkeypatch.setattr(_impostors, "_ROWS_IN_BLOCK", block)
    monkeypatch.setattr(_impostors, "_COLUMNS_IN_BLOCK", block)
    X, labels, _ = make_problem(rng)
    reach = rng.random(len(X)) * 8
    reach[2] = -np.inf
    for given in (labels, np.sort(labels), np.zeros_like(labels)):  # blocks of one label, and all
        indptr, heads = find_impostors(X, given, reach)
        tails = np.repeat(np.arange(len(X)), np.diff(indptr))
        expected = oracle.impostors(energy.squared_distances(X, X), given, reach)
        assert list(zip(tails.tolist(), heads.tolist(), strict=True)) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 30.0, 3e3])
def test_rounding_hides_no_impostor(rng, dtype, offset):
    """Far from the origin, distances from products lose most of their digits."""
    X = (rng.normal(size=(300, 6)) + offset).astype(dtype)
    labels = rng.integers(0, 3, 300)
    exact = energy.squared_distances(X.astype(float), X.astype(float))
    # each reach is just above the distance of an impostor
    reach = np.array([np.sort(exact[i][labels != labels[i]])[9] for i in range(300)]) * (1 + 1e-9)
    indptr, heads = find_impostors(X, labels, reach)
    for i in range(300):
        found = heads[indptr[i] : indptr[i + 1]]
        expected = np.flatnonzero((labels != labels[i]) & (exact[i] < reach[i]))
        assert len(expected) == 10
        assert set(expected) <= set(found.tolist())
        assert len(found) <= 12


@pytest.mark.parametrize("name", ["_ROWS_IN_BLOCK", "_PARTIAL_SUMS"])
def test_blocks_change_no_more_than_rounding(rng, monkeypatch, name):
    X, labels, targets = make_problem(rng)
    L = rng.normal(size=(3, 4))
    value, slope = ready(X, labels, targets, 0.2, L)[0].cost_and_gradient(L, 0.3)
    monkeypatch.setattr(_objective, "_ROWS_IN_BLOCK", 4)
    monkeypatch.setattr(_objective, name, 3)
    other_value, other_slope = ready(X, labels, targets, 0.2, L)[0].cost_and_gradient(L, 0.3)
    assert_allclose(other_value, value, rtol=1e-13)
    assert_allclose(other_slope, slope, rtol=1e-11, atol=1e-10)


def test_the_number_of_threads_changes_no_bit(rng):
    labels = rng.integers(0, 3, 2500)
    X = rng.normal(size=(2500, 5)) + labels[:, None]
    targets = target_neighbors(lw.as_similarity("euclidean"), X, X, labels, 2)[0]
    L = rng.normal(size=(5, 5))
    seen = set()
    for blas in (1, 2):
        for own in (None, 1, 2):
            with threadpool_limits(blas, user_api="blas"), limit_threads(own):
                margins, search = ready(X, labels, targets, 0.2, L)
                value, slope = margins.cost_and_gradient(L, 0.3)
                seen.add((search.renew(L), search.best_scale(L), value, slope.tobytes()))
    assert len(seen) == 1


def test_the_scale_is_the_cheapest(rng):
    X, labels, targets = make_problem(rng)
    parts = oracle.label_triplets(labels, targets)
    for size in (1e-3, 1.0, 1e3):
        L = size * rng.normal(size=(4, 4))
        scale = ready(X, labels, targets, 0.2, L)[1].best_scale(L)
        cost = [oracle.objective(L * np.sqrt(scale * f), X, *parts, 0.2) for f in (1, 0.7, 1.4)]
        assert cost[0] <= min(cost[1:])


def test_the_size_of_margins_includes_their_arrays(rng):
    margins = Margins(rng.normal(size=(1000, 10)), np.arange(1000), np.full((1000, 3), 1), 1.0)
    assert sys.getsizeof(margins) > margins.X.nbytes + 1000 * 8


def test_given_impostors_stay(rng):
    X, _, _ = make_problem(rng)
    anchors, targets = np.array([0, 0, 5]), np.array([[1], [2], [4]])
    given = np.array([0, 1, 1, 3]), np.array([7, 2, 9], np.int32)
    margins = Margins(X, anchors, targets, 7.0)
    search = ImpostorSearch(margins, None, given)
    pairs, triplets = [(0, 1), (0, 2), (5, 4)], [(0, 1, 7), (5, 4, 2), (5, 4, 9)]
    for L in rng.normal(size=(3, 4, 4)):
        assert_allclose(search.renew(L), oracle.objective(L, X, pairs, triplets, 7.0))
        assert margins.n_impostors == 3


@pytest.mark.parametrize("block", [1, 2, 1024])
def test_anchors_of_one_row_are_summed_in_one_block(rng, monkeypatch, block):
    monkeypatch.setattr(_objective, "_ROWS_IN_BLOCK", block)
    X, _, _ = make_problem(rng)
    anchors, targets = np.array([0, 0, 0, 5, 5, 6]), np.array([[1], [2], [3], [4], [6], [5]])
    triplets = [(i, j, n) for i, (j,) in zip(anchors, targets, strict=True) for n in (8, 9)]
    pairs = [(i, j) for i, (j,) in zip(anchors, targets, strict=True)]
    margins = Margins(X, anchors, targets, 7.0)
    margins.set_impostors(np.arange(7) * 2, np.tile([8, 9], 6).astype(np.int32))
    L = rng.normal(size=(3, 4))
    found = margins.cost_and_gradient(L, 0.3)[1]
    assert_allclose(found, oracle.gradient(L, X, pairs, triplets, 7.0, 0.3), rtol=1e-10, atol=1e-9)
