"""LMNN finds the optimum of the semidefinite program, and its certificate never claims too much."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import energy
from tests.oracles import lmnn as oracle

import likewise as lw
from likewise.learners.lmnn import _certificate
from likewise.learners.lmnn._certificate import dual_bound

cp = pytest.importorskip("cvxpy")


def sdp_optimum(X, pairs, triplets, c):
    """Return the least f(M) over positive semidefinite M, by an interior point solver."""
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    pull = np.array([oracle.outer(X, i, j).ravel() for i, j in pairs]).sum(axis=0)
    push = np.array([(oracle.outer(X, i, j) - oracle.outer(X, i, n)).ravel()
                     for i, j, n in triplets])  # fmt: skip
    flat = cp.vec(M, order="C")
    program = cp.Problem(cp.Minimize(pull @ flat + c * cp.sum(cp.pos(1 + push @ flat))))
    program.solve(solver=cp.CLARABEL)
    return program.value


def problem(seed, n_rows=24, width=3):
    """Return rows of three classes, more or less apart, and their two targets each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, width)) + (seed % 4) / 2 * y[:, None] * rng.normal(size=width)
    targets = np.array(energy.targets(energy.squared_distances(X, X), y, 2))
    return X, y, oracle.label_triplets(y, targets)


def exact(**parameters):
    return lw.LMNN(2, tol=1e-6, max_iter=3000, n_jobs=1, **parameters)


@pytest.mark.parametrize("c", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_found_and_certified(seed, c):
    X, y, parts = problem(seed)
    optimum = sdp_optimum(X, *parts, c)
    lmnn = exact(c=c).fit(X, y)
    found = oracle.objective(lmnn.components_, X, *parts, c)
    assert_allclose(lmnn.objective_, found, rtol=1e-9)
    assert found <= optimum * (1 + 1e-4)
    assert lmnn.duality_gap_ >= 1 - optimum / found - 1e-6
    assert lmnn.duality_gap_ <= 1e-4


@pytest.mark.parametrize("init", ["pca", "random"])
def test_the_optimum_does_not_depend_on_the_start(rng, init):
    X, y, parts = problem(2)
    start = rng.normal(size=(3, 3)) if init == "random" else init
    assert exact(init=start).fit(X, y).objective_ <= sdp_optimum(X, *parts, 1.0) * (1 + 1e-4)


def test_the_optimum_over_triplets_is_found_and_certified(rng):
    X = rng.normal(size=(15, 3))
    triplets = np.array([rng.choice(15, 3, replace=False) for _ in range(60)])
    pairs = sorted({(i, j) for i, j, _ in triplets.tolist()})
    optimum = sdp_optimum(X, pairs, triplets.tolist(), 5.0)
    lmnn = exact(c=5.0).fit_triplets(triplets, X)
    assert optimum * (1 - 1e-6) <= lmnn.objective_ <= optimum * (1 + 1e-4)
    assert 1 - optimum / lmnn.objective_ - 1e-6 <= lmnn.duality_gap_ <= 1e-3


@pytest.mark.parametrize("max_iter", [1, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_map_that_was_left_early_is_certified_for_what_it_is(max_iter):
    for seed in range(4):
        X, y, parts = problem(seed)
        lmnn = lw.LMNN(2, max_iter=max_iter, n_jobs=1).fit(X, y)
        true_gap = 1 - sdp_optimum(X, *parts, 1.0) / lmnn.objective_
        assert true_gap - 1e-6 <= lmnn.duality_gap_ <= true_gap + 1e-3


def test_a_map_of_few_components_is_measured_against_all_maps():
    X, y, parts = problem(1)
    lmnn = exact(n_components=1).fit(X, y)
    true_gap = 1 - sdp_optimum(X, *parts, 1.0) / lmnn.objective_
    assert true_gap > 0.01
    assert true_gap - 1e-6 <= lmnn.duality_gap_ <= true_gap + 1e-3


@pytest.mark.parametrize("column", ["constant", "double"])
def test_directions_without_any_spread_do_not_spoil_the_bound(column):
    X, y, _ = problem(1)
    more = np.full((len(X), 1), 0.1) if column == "constant" else X[:, :1] - X[:, 1:2]
    lmnn = exact().fit(np.hstack([X, more]), y)
    assert lmnn.duality_gap_ <= 1e-3
    if column == "constant":
        assert_allclose(lmnn.objective_, exact().fit(X, y).objective_, rtol=1e-5)


def test_single_precision_is_certified_too():
    X, y, parts = problem(1)
    lmnn = lw.LMNN(2, tol=1e-4, n_jobs=1).fit(X.astype(np.float32), y)
    true_gap = 1 - sdp_optimum(X, *parts, 1.0) / lmnn.objective_
    assert true_gap - 1e-5 <= lmnn.duality_gap_ <= 1e-2


def test_any_multipliers_give_a_bound(rng):
    """Whatever α between 0 and 1: the bound is below the optimum."""
    X, _, (pairs, triplets) = problem(3)
    optimum = sdp_optimum(X, pairs, triplets, 5.0)
    pull = sum(oracle.outer(X, i, j) for i, j in pairs)
    for share in (0.0, 0.02, 0.3, 1.0):
        alphas = rng.random(len(triplets)) * (rng.random(len(triplets)) < share)
        push = 5.0 * sum(
            a * (oracle.outer(X, i, j) - oracle.outer(X, i, n))
            for a, (i, j, n) in zip(alphas, triplets, strict=True)
        )
        bound = dual_bound(pull, push, 5.0 * alphas.sum())
        assert 0 <= bound <= optimum * (1 + 1e-8)
        scale = bound / max(5.0 * alphas.sum(), 1e-300)
        assert scale <= 1
        assert np.linalg.eigvalsh(pull + scale * push)[0] >= -1e-8 * np.trace(pull)


@pytest.mark.parametrize(
    ("pull", "push", "total", "expected"),
    [
        ([4, 1], [-8, 1], 3.0, 1.5),  # scaled by one half
        ([4, 1], [-2, -1], 3.0, 3.0),  # just feasible
        ([4, 1], [1, 2], 3.0, 3.0),  # nothing to scale
        ([4, 0], [-1, -1], 3.0, 0.0),  # pushed where nothing pulls: no multiple will do
        ([4, 0], [-8, 0], 3.0, 1.5),
        ([0, 0], [0, 0], 3.0, 3.0),
        ([0, 0], [-1, 0], 3.0, 0.0),
    ],
)
def test_the_bound_of_diagonal_matrices(pull, push, total, expected):
    assert_allclose(dual_bound(np.diag(np.array(pull, float)), np.diag(push), total), expected)


def test_the_gap_is_of_the_problem_that_was_fitted():
    """Parameters that were set afterwards are for the next fit."""
    X, y, parts = problem(0)
    lmnn = lw.LMNN(2, n_components=1, n_jobs=1).fit(X, y).set_params(c=9.0)
    assert lmnn.duality_gap_ >= 1 - sdp_optimum(X, *parts, 1.0) / lmnn.objective_ - 1e-6
    first = lmnn.duality_gap_
    assert lmnn.set_params(c=0.2).fit(X, y).duality_gap_ != first


def test_the_gap_is_computed_once(monkeypatch):
    X, y, _ = problem(0)
    lmnn = lw.LMNN(2, n_jobs=1).fit(X, y)
    first = lmnn.duality_gap_
    monkeypatch.setattr(_certificate, "dual_bound", None)
    assert lmnn.duality_gap_ == first


def test_before_fit_there_is_no_gap():
    assert not hasattr(lw.LMNN(), "duality_gap_")


def test_many_well_separated_classes_come_close_to_their_optimum(rng):
    """Steps on a stale list of impostors would collapse the map."""
    y = np.arange(600) % 30
    X = 10 * rng.normal(size=(30, 5))[y] + rng.normal(size=(600, 5))
    assert lw.LMNN(n_jobs=1).fit(X, y).duality_gap_ <= 0.01
