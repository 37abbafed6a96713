"""Memory of the online kernels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.learners.online._beliefs import DiagonalState, copy_state, prepare_arrays
from likewise.learners.online._covariances import FactoredState
from likewise.learners.online._triplet_batches import aligned_empty, is_aligned


@pytest.mark.parametrize("shape", [(3,), (7, 5), (384, 384)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_arrays_begin_at_a_cache_line(shape, dtype):
    kept = [aligned_empty(shape, dtype) for _ in range(20)]
    assert all(array.ctypes.data % 64 == 0 for array in kept)
    assert {(array.shape, array.dtype) for array in kept} == {(shape, np.dtype(dtype))}
    assert all(array.flags.c_contiguous and array.flags.writeable for array in kept)


def test_a_state_is_copied_only_where_it_must_be():
    memory = aligned_empty((1 + 5 * 5,), np.float32)
    memory[:] = np.arange(26)
    frozen = aligned_empty((5, 5), np.float32)
    frozen.fill(2)
    frozen.flags.writeable = False
    state = DiagonalState(memory[1:].reshape(5, 5), frozen)
    prepare_arrays(state)
    assert_array_equal(state.W, memory[1:].reshape(5, 5))
    assert_array_equal(state.S, frozen)
    for array in (state.W, state.S):
        assert is_aligned(array)
        assert array.flags.writeable
        assert not np.shares_memory(array, memory)
        assert not np.shares_memory(array, frozen)
    prepared = state.W, state.S
    prepare_arrays(state)
    assert state.W is prepared[0]
    assert state.S is prepared[1]


def test_a_copied_state_is_deep_and_aligned():
    shifted = aligned_empty((1 + 25,), np.float32)[1:].reshape(5, 5)
    shifted[:] = np.eye(5)
    state = FactoredState.fresh(shifted)
    copied = copy_state(state)
    for name, array in vars(copied).items():
        assert array is not getattr(state, name)
        if isinstance(array, np.ndarray):
            assert_array_equal(array, getattr(state, name))
            assert is_aligned(array)
            assert not np.shares_memory(array, getattr(state, name))
