"""The state from which a round starts, as it is sent to workers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.distributed._start import Start, compact, restore
from likewise.learners.online._beliefs import DiagonalState, OasisState
from likewise.learners.online._covariances import FactoredState, FullState

_KINDS = [OasisState, DiagonalState, FactoredState, FullState]


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (12, 7)])
@pytest.mark.parametrize("is_fresh", [True, False])
def test_workers_get_the_state_that_was_sent(kind, shape, is_fresh, rng):
    form = np.eye(*shape, dtype=np.float32) if is_fresh else rng.normal(size=shape)
    state = kind.fresh(form)
    found = pickle.loads(pickle.dumps(Start(state))).state
    assert type(found) is kind
    assert vars(found).keys() == vars(state).keys()
    for name, array in vars(state).items():
        if isinstance(array, np.ndarray):
            assert_array_equal(getattr(found, name), array)
            assert getattr(found, name).dtype == array.dtype


def test_a_fresh_state_is_sent_without_its_arrays():
    state = DiagonalState.fresh(np.eye(300, dtype=np.float32))
    assert len(pickle.dumps(Start(state))) < 0.01 * len(pickle.dumps(state))
    state.W[::2, ::2] = 0.5
    assert len(pickle.dumps(Start(state))) > 0.5 * len(pickle.dumps(state))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_arrays_are_restored_whatever_their_entries(share, rng):
    array = np.full((40, 30), 3.0)
    array[rng.random(array.shape) < share] = np.nan
    assert_array_equal(restore(compact(array)), array)
    assert_array_equal(restore(compact(array.T)), array.T)
