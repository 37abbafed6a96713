"""Which comparisons are held out, when a candidate is made, and whether it is promoted.

All of it depends on positions in the journal alone: a run that was cut off and begun again does the
same as one that was not.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import numpy as np

from likewise._threads import single_threaded_blas
from likewise.server._records import Entry, Verdict

_HELD_OUT_ONE_IN = 5
WINDOW = 10_000  # positions back from a candidate, whose held-out comparisons judge it
_SMALL_STEP, _LARGE_STEP, _GROWTH = 10, 1_000, 0.05


def is_held_out(position: int) -> bool:
    """Tell whether the comparison at a position is for judging, not for learning."""
    return _scattered(position) % _HELD_OUT_ONE_IN == 0


def _scattered(position: int) -> int:
    """Return a number that looks random: SplitMix64, by Steele, Lea and Flood (2014)."""
    mixed = (position + 0x9E3779B97F4A7C15) % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
    return mixed ^ (mixed >> 31)


class Marks:
    """Positions at which a candidate is made: often at first, then at a twentieth more."""

    def __init__(self) -> None:
        self._known = [_SMALL_STEP]

    def between(self, before: int, after: int) -> bool:
        """Tell whether there is one above `before` and not above `after`."""
        while self._known[-1] <= after:
            step = int(np.clip(self._known[-1] * _GROWTH, _SMALL_STEP, _LARGE_STEP))
            self._known.append(self._known[-1] + step)
        return bisect_right(self._known, after) > bisect_right(self._known, before)


def margins(similarity: Any, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """Return by how much the closer item scores above the farther one, for each comparison."""
    queries, closer, farther = rows
    with single_threaded_blas():
        gained = similarity.score_pairs(queries, closer) - similarity.score_pairs(queries, farther)
    return np.asarray(gained)


def judge(candidate: np.ndarray, live: np.ndarray, version: int) -> Verdict:
    """Compare two similarities by their margins on what was held out."""
    ours, theirs = candidate > 0, live > 0
    return Verdict(
        held_out=len(candidate),
        right=int(ours.sum()),
        live_right=int(theirs.sum()),
        won=int((ours & ~theirs).sum()),
        lost=int((theirs & ~ours).sum()),
        live=version,
    )


def held_out_of(entries: Iterable[Entry], undone: set[int], first: int) -> list[Any]:
    """Return the comparisons of entries that are held out, at positions from `first` on."""
    return [
        triplet
        for entry in entries
        if entry.number not in undone
        for position, triplet in enumerate(entry.triplets, entry.first)
        if position >= first and is_held_out(position)
    ]
