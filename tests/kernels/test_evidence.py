"""What was learned since a start, beside the formulas in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from likewise import kernels


@pytest.fixture(params=["float32", "float64"])
def states(request, rng):
    """Return a start, and a state that went on from it on two thirds of the entries."""
    W, S = rng.normal(size=(6, 9)), rng.uniform(0.1, 1, size=(6, 9))
    went = rng.random(W.shape) < 2 / 3
    after = W + went * rng.normal(size=W.shape), S * np.where(went, rng.random(W.shape), 1)
    return tuple(part.astype(request.param) for part in (*after, W, S))


def of_numpy(W, S, W0, S0):
    W, S, W0, S0 = (part.astype(np.float64) for part in (W, S, W0, S0))
    gain = np.maximum(1 / S - 1 / S0, 0)
    return gain, gain * (W - W0)


def test_evidence_is_the_precision_gained_and_the_way_weighted_by_it(states):
    found = np.empty_like(states[0]), np.empty_like(states[0])
    kernels.list_evidence(*states, *found)
    assert_allclose(found, of_numpy(*states), rtol=4 * np.finfo(found[0].dtype).eps)
    assert (found[0] == 0).any()


def test_to_have_forgotten_is_no_evidence(states):
    W, S, W0, S0 = states
    found = np.empty_like(W), np.empty_like(W)
    kernels.list_evidence(W0, S0, W, S, *found)  # from where less is known
    assert_array_equal(found, np.zeros((2, *W.shape)))


def test_the_start_is_counted_once(states):
    W, S, W0, S0 = states
    gain, moved = (part.astype(W.dtype) for part in of_numpy(*states))
    found = np.empty_like(W), np.empty_like(W)
    kernels.apply_evidence(W0, S0, gain, moved, 1.0, 1.0, *found)
    limit = 8 * np.finfo(W.dtype).eps
    assert_allclose(found[0], W, rtol=limit, atol=limit)
    assert_allclose(found[1], S, rtol=limit)
    seen_nothing = gain == 0
    assert_array_equal(found[0][seen_nothing], W0[seen_nothing])


def test_step_and_share_scale_the_change_and_the_precision(states):
    W, S, W0, S0 = (part.astype(np.float64) for part in states)
    gain, moved = of_numpy(W, S, W0, S0)
    found = np.empty_like(W), np.empty_like(W)
    kernels.apply_evidence(W0, S0, gain, moved, 2.0, 0.25, *found)
    change = np.divide(moved, gain, out=np.zeros_like(gain), where=gain > 0)
    assert_allclose(found[0], W0 + 2 * change, rtol=1e-12)
    assert_allclose(1 / found[1], 1 / S0 + gain / 4, rtol=1e-12)
