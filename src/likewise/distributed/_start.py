"""The state from which a round starts, as it is sent to workers."""

import copy
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from likewise.learners.online import State

_MAX_OTHERS = 1 / 16  # of the entries; with more of them, an array is sent whole


class CompactArray(NamedTuple):
    """An array most of whose entries have the same value."""

    shape: tuple[int, ...]
    value: np.generic
    places: np.ndarray  # of the other entries, in the flattened array
    others: np.ndarray

    def restore(self) -> np.ndarray:
        """Return the array."""
        array = np.full(self.shape, self.value)
        array.reshape(-1)[self.places] = self.others
        return array


class Start:
    """A state whose arrays are compact where they can be.

    In a fresh state they can: W is the identity, and every variance is 1.
    """

    def __init__(self, state: State) -> None:
        self._compact = _with_arrays(state, compact)

    @property
    def state(self) -> State:
        """The state, of which arrays may be shared with the start: it must not be changed."""
        return _with_arrays(self._compact, restore)


def compact(array: np.ndarray) -> np.ndarray | CompactArray:
    """Return the array in compact form, or itself if many entries have values of their own."""
    if array.size < 2:
        return array
    value = array.flat[1]  # beside the diagonal
    places = np.flatnonzero(array != value)
    if len(places) > _MAX_OTHERS * array.size:
        return array
    return CompactArray(array.shape, value, places, array.ravel()[places])


def restore(array: np.ndarray | CompactArray) -> np.ndarray:
    """Return the array that `compact` was given."""
    return array.restore() if isinstance(array, CompactArray) else array


def _with_arrays(state: Any, function: Any) -> Any:
    """Return a shallow copy of a state with ``function(array)`` for each of its arrays."""
    changed = copy.copy(state)
    for field in fields(state):
        setattr(changed, field.name, function(getattr(state, field.name)))
    return changed
