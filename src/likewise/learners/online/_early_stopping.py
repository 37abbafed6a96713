"""The way of learning from drawn triplets: its stretches, and the best state on it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from likewise._threads import slices
from likewise.learners.online._beliefs import State, copied
from likewise.supervision import TripletSource

Weighted = tuple[np.ndarray, np.ndarray]  # triplets and their weights

BLOCK = 1024  # triplets between looks at the clock and at Ctrl-C
_FIRST_CHECK, _CHECKS = 1000, 20


@dataclass
class Way:
    """How far learning from drawn triplets has come, and the best state on the way.

    Attributes
    ----------
    best : State or None
        None where nothing is held out to tell.
    best_mean : float, what was held out at the best
    n_best : int, triplets seen at the best
    stretches : int, done
    stale : int, checks since the best
    interrupted : bool, whether someone has ended it
    """

    best: State | None = None
    best_mean: float = 0.0
    n_best: int = 0
    stretches: int = 0
    stale: int = 0
    interrupted: bool = False

    def note(self, state: State, mean: float, n_triplets: int) -> None:
        """Take note of a check after so many triplets."""
        if mean > self.best_mean:
            self.best, self.best_mean, self.stale = copied(state), mean, 0
            self.n_best = n_triplets
        else:
            self.stale += 1


def stretches(n_triplets: int) -> Iterator[int]:
    """Cut the way into stretches between checks: short at first, then a twentieth of the whole."""
    seen, longest = 0, max(_FIRST_CHECK, n_triplets // _CHECKS)
    while seen < n_triplets:
        n = min(max(_FIRST_CHECK, seen), longest, n_triplets - seen)
        yield n
        seen += n


def drawn(
    source: TripletSource, n: int, rng: np.random.Generator, query_weights: np.ndarray | None
) -> Iterator[Weighted]:
    """Yield drawn triplets and their weights, a block at a time."""
    for block in slices(n, BLOCK):
        triplets = source.draw(block.stop - block.start, rng)
        ones = np.ones(len(triplets))
        yield triplets, ones if query_weights is None else query_weights[triplets[:, 0]]
