"""A function of two objects as a similarity: for objects without features."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from likewise._validation import Rows, as_objects, call_on_pair
from likewise.similarities._blocks import BlockSimilarity, NamePair


@dataclass(frozen=True, eq=False, repr=False)
class Function(BlockSimilarity):
    """A function of two objects, returned by `from_callable` and `from_distance`.

    Parameters
    ----------
    function : callable on two objects
    is_distance : bool
        Whether smaller values mean more alike; the score is then −d.
    symmetric : bool
        Whether the order of the two objects is irrelevant.
    """

    parallel = False  # the function may not be thread-safe
    function: Callable[[Any, Any], float]
    is_distance: bool
    symmetric: bool

    @property
    def is_symmetric(self) -> bool:
        """Whether it was declared symmetric."""
        return self.symmetric

    @property
    def has_distance(self) -> bool:
        """Whether the function is a distance."""
        return self.is_distance

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Function({name}, is_distance={self.is_distance})"

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return a list or an array with at least one object."""
        return as_objects(Q, name)

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Call the function on every pair."""
        values = np.empty((len(left), len(right)))
        for i, a in enumerate(left):
            for j, b in enumerate(right):
                values[i, j] = call_on_pair(self.function, a, b, partial(name_pair, i, j))
        return values
