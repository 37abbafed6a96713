"""AROMA from clicks, one journal entry after the other: the alternative to ridge regression.

There are two states: one is trained on everything, its twin without the queries and items of split
0. Fractions of the twin's change are evaluated on the pages of split 0, and the same fraction of
the other state's change is promoted.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._files import from_bytes, to_bytes
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.store import Candidate, Checkpoint, Entry, Page, Recipe, Store, Verdict
from likewise.supervision import click_triplets

SPLIT = 0
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
_SAVED_STATE_INTERVAL, _MAX_SAVED_STATES = 16, 4

States = tuple[bytes, bytes]


class AromaMethod:
    """Candidates by AROMA."""

    splits: Sequence[int] = (SPLIT,)

    def __init__(self, store: Store, initial: InitialModel, checkpoint: Checkpoint) -> None:
        self._store, self._initial = store, initial
        self._entry = checkpoint.entry
        self._restore((checkpoint.state, checkpoint.twin or checkpoint.state))
        self._saved_states: list[tuple[int, States]] = []  # from which undoing resumes

    def add_entry(self, entry: Entry, journal: JournalCache) -> None:
        """Learn from an entry, or again without the entry that it undoes."""
        if entry.undoes is not None:
            self._relearn_without(entry.undoes, journal)
        else:
            self._learn(entry, journal)
        self._entry = entry.number
        if entry.number % _SAVED_STATE_INTERVAL == 0:
            recent = self._saved_states[1 - _MAX_SAVED_STATES :]
            self._saved_states = [*recent, (entry.number, self.states())]

    def update(self, position: int, pages: Pages) -> None:
        """Do nothing: `add_entry` has learned already."""

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return the probability of each triplet."""
        return self._state.confidence(triplets, queries, items)

    def scores(self, pages: Pages, held_out: HeldOutPages, split: int) -> np.ndarray:
        """Return the scores of all fractions of the twin."""
        matrices = (self._interpolate(self._twin, share) for share in SHARES)
        return np.array([[matrix_scores(pages, held_out, W)] for W in matrices])

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a fraction of the change of the state and of its twin."""
        share = SHARES[form]
        similarity, twin = (
            to_bytes(self._initial.to_similarity(self._interpolate(aroma, share)))
            for aroma in (self._state, self._twin)
        )
        return Candidate(Recipe("aroma", share=share), verdict, similarity, twin=twin)

    def _interpolate(self, aroma: Any, share: float) -> np.ndarray:
        return self._initial.W + share * (aroma.state_.W - self._initial.W)

    def states(self) -> States:
        """Return the states for a checkpoint."""
        return to_bytes(self._state), to_bytes(self._twin)

    def _restore(self, states: States) -> None:
        self._state, self._twin = (from_bytes(state) for state in states)

    def _relearn_without(self, undone: int, journal: JournalCache) -> None:
        """Learn again without an entry, from the last saved state before it."""
        self._saved_states = [
            (number, states) for number, states in self._saved_states if number < undone
        ]
        number = 0
        if self._saved_states:
            number, states = self._saved_states[-1]
            self._restore(states)
        else:
            initial = to_bytes(self._initial.aroma)
            self._restore((initial, initial))
        while number < self._entry:
            for earlier in self._store.entries(number, min(256, self._entry - number)):
                if not journal.is_undone(earlier.number):
                    self._learn(earlier, journal)
                number = earlier.number

    def _learn(self, entry: Entry, journal: JournalCache) -> None:
        comparisons = [
            (number, closer, farther, weight)
            for number, page in enumerate(entry.pages)
            for closer, farther, weight in click_comparisons(page)
        ]
        if not comparisons:
            return
        rows = [comparison[:3] for comparison in comparisons]
        triplets, queries, items = journal.triplets(entry.pages, rows)
        weights = np.array([weight for *_, weight in comparisons])
        self._state.partial_fit_triplets(triplets, queries, items, weights=weights)
        kept = [
            not any(journal.is_held_out(entry.pages[n], r, SPLIT) for r in (closer, farther))
            for n, closer, farther in rows
        ]
        if any(kept):
            self._twin.partial_fit_triplets(triplets[kept], queries, items, weights=weights[kept])


def click_comparisons(page: Page) -> list[tuple[int, int, float]]:
    """Return (closer, farther, weight) of the items skipped and of one below each click."""
    impressions = [
        (0, 0, revision, position, int(revision in page.chosen))
        for position, revision in enumerate(page.shown, 1)
    ]
    triplets, weights = click_triplets(np.array(impressions))
    return [(c, f, w) for (_, c, f), w in zip(triplets.tolist(), weights.tolist(), strict=True)]
