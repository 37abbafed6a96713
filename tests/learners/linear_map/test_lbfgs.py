"""L-BFGS, one step at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import rosen, rosen_der

from likewise.learners.linear_map import LBFGS


def bowl(x):
    scale = np.array([1.0, 100.0, 1e4])
    return float((scale * (x - 1) ** 2).sum()), 2 * scale * (x - 1)


def run(optimizer, max_steps=500):
    values = [optimizer.value]
    while len(values) < max_steps and optimizer.step():
        values.append(optimizer.value)
    return values


@pytest.mark.parametrize("memory", [1, 10])
def test_it_finds_the_bottom_of_a_bowl(memory):
    optimizer = LBFGS(bowl, np.array([5.0, -3.0, 2.0]), memory)
    values = run(optimizer)
    assert_allclose(optimizer.x, 1, atol=1e-5)
    assert (np.diff(values) < 0).all()


def test_it_follows_a_bent_valley():
    optimizer = LBFGS(lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]))
    assert len(run(optimizer)) < 100
    assert_allclose(optimizer.x, 1, atol=1e-6)


def test_a_matrix_keeps_its_shape():
    goal = np.arange(6.0).reshape(2, 3)
    optimizer = LBFGS(lambda x: (((x - goal) ** 2).sum(), 2 * (x - goal)), np.ones((2, 3)))
    run(optimizer)
    assert_allclose(optimizer.x, goal, atol=1e-8)


def test_the_steps_do_not_depend_on_the_unit_of_the_value_nor_of_the_point():
    start = np.array([5.0, -3.0, 2.0])
    usual, dear, long = (
        LBFGS(bowl, start),
        LBFGS(lambda x: tuple(1024 * part for part in bowl(x)), start),
        LBFGS(lambda x: (bowl(x / 64)[0], bowl(x / 64)[1] / 64), 64 * start),
    )
    for _ in range(8):
        assert usual.step() == dear.step() == long.step() is True
        assert_allclose(dear.x, usual.x, rtol=1e-9)
        assert_allclose(long.x, 64 * usual.x, rtol=1e-9)


def test_at_a_minimum_there_is_no_step_and_nothing_moves():
    optimizer = LBFGS(bowl, np.ones(3))
    assert not optimizer.step()
    assert_array_equal(optimizer.x, np.ones(3))


def test_the_function_may_change_between_steps():
    goal = np.zeros(3)
    optimizer = LBFGS(lambda x: bowl(x - goal), np.array([5.0, -3.0, 2.0]))
    for _ in range(5):
        optimizer.step()
    goal += 2.0
    optimizer.reevaluate()
    assert_allclose(optimizer.value, bowl(optimizer.x - 2)[0])
    run(optimizer)
    assert_allclose(optimizer.x, 3, atol=1e-5)


def test_a_replaced_function_is_followed_with_the_curvature_of_the_last():
    scale = np.array([1.0, 100.0, 1e4])
    optimizer = LBFGS(bowl, np.array([5.0, -3.0, 2.0]))
    run(optimizer, max_steps=10)
    fresh = LBFGS(bowl, optimizer.x)

    def moved(x):
        return float((scale * (x - 2) ** 2).sum()), 2 * scale * (x - 2)

    for each in (optimizer, fresh):
        each.replace(moved)
        assert each.value == moved(each.x)[0]
    assert len(run(optimizer)) < len(run(fresh))
    assert_allclose(optimizer.x, 2, atol=1e-5)


def test_a_cliff_of_infinity_is_walked_around():
    def walled(x):
        return (np.inf, x) if x[0] > 1.5 else (float((x[0] - 1) ** 2), 2 * (x - 1))

    optimizer = LBFGS(walled, np.array([-40.0]))
    run(optimizer)
    assert_allclose(optimizer.x, 1, atol=1e-6)


def test_with_the_inverse_hessian_as_preconditioner_two_steps_reach_the_minimum(rng):
    root = rng.normal(size=(4, 4)) * [1.0, 10.0, 100.0, 1000.0]
    hessian, goal, start = root.T @ root, rng.normal(size=(2, 4)), rng.normal(size=(2, 4))

    def cost(x):
        return float(np.vdot((x - goal) @ hessian, x - goal)), 2 * (x - goal) @ hessian

    conditioned = LBFGS(cost, start, preconditioner=np.linalg.inv(hessian))
    plain = LBFGS(cost, start)
    for _ in range(2):
        conditioned.step()
        plain.step()
    assert_allclose(conditioned.x, goal, atol=1e-6)
    assert plain.value > 1e6 * conditioned.value
