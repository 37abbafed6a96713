"""A function of two objects as a dissimilarity."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from likewise._validation import as_objects, call_on_pair
from likewise.similarities.distances._base import Dissimilarity, NamePair


@dataclass(frozen=True, eq=False, repr=False)
class CallableDistance(Dissimilarity):
    """What a function of two objects says of them.

    Parameters
    ----------
    function : callable on two objects
        Returns a number that is not negative.
    """

    function: Callable[[Any, Any], float]

    def __repr__(self) -> str:
        return f"CallableDistance({getattr(self.function, '__name__', repr(self.function))})"

    @property
    def parallel(self) -> bool:
        """No: nothing is known of the function, so one call at a time."""
        return False

    def check(self, X: Any, name: str = "X") -> Any:
        """Return a list or an array, of at least one object."""
        return as_objects(X, name)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Call the function on every two objects."""
        found = np.empty((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                found[i, j] = call_on_pair(self.function, a, b, partial(name_pair, i, j))
        return found
