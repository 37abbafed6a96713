"""A descent ends where it is told to, and Ctrl-C keeps what was learned so far."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise.exceptions import InterruptedWarning
from likewise.learners.linear_map import _pairwise, descend
from likewise.learners.pola import _pola

GOAL = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C reach the work, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def bowl(x):
    return float(((x - GOAL) ** 2).sum()), 2 * (x - GOAL)


def test_it_stops_when_the_criterion_is_met():
    found = descend(bowl, np.ones((2, 3)), 100, lambda solver: solver.value < 1e-6, "X")
    assert found.value < 1e-6
    assert found.n_iter < 20
    none = descend(bowl, np.ones((2, 3)), 100, lambda solver: True, "X")
    assert none.n_iter == 0
    assert_array_equal(none.L, np.ones((2, 3)))


def test_a_minimum_ends_it_without_a_warning():
    found = descend(bowl, np.ones((2, 3)), 1000, lambda solver: False, "X")
    assert_allclose(found.L, GOAL, atol=1e-9)


def test_an_end_before_that_is_said():
    with pytest.warns(ConvergenceWarning, match="X has not converged in 2 steps"):
        found = descend(bowl, np.ones((2, 3)), 2, lambda solver: False, "X")
    assert found.n_iter == 2


@pytest.mark.parametrize("learner", [lw.ITML(max_iter=1), lw.MMC(max_iter=1), lw.MCML(max_iter=1)])
def test_the_warning_points_at_the_caller(learner, rng):
    with pytest.warns(ConvergenceWarning, match="in 1 steps") as caught:
        learner.fit(rng.normal(size=(30, 3)), np.arange(30) % 2)
    assert caught[0].filename == __file__


def test_ctrl_c_keeps_the_map_so_far(ctrl_c):
    values = []

    def pressed(solver):
        values.append(solver.value)
        if len(values) == 2:
            ctrl_c()
        return False

    with pytest.warns(InterruptedWarning, match="fitting X was interrupted .* the map so far"):
        found = descend(bowl, np.ones((2, 3)), 50, pressed, "X")
    assert found.n_iter == 1
    assert found.value == values[1] < values[0]


def test_ctrl_c_keeps_the_pairs_so_far(ctrl_c, monkeypatch, rng):
    X = rng.normal(size=(30, 3))
    pairs, y = rng.integers(30, size=(60, 2)), np.arange(60) % 2
    monkeypatch.setattr(_pairwise, "_PAIRS_PER_BLOCK", 20)
    follow = _pola.follow_pairs

    def pressed(*arguments):
        ctrl_c()
        return follow(*arguments)

    monkeypatch.setattr(_pola, "follow_pairs", pressed)
    with pytest.warns(InterruptedWarning, match="fitting POLA .* the pairs so far"):
        pola = lw.POLA().fit_pairs(pairs, y, X)
    assert pola.n_pairs_seen_ == 20
    monkeypatch.setattr(_pola, "follow_pairs", follow)
    whole = lw.POLA().fit_pairs(pairs, y, X)
    assert_array_equal(pola.partial_fit_pairs(pairs[20:], y[20:], X).matrix_, whole.matrix_)
