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
from likewise.server.learning._lexical import lexical_multiples, lexical_weights, with_lexical
from likewise.server.learning._pages import HeldOutPages, JudgedItems, Pages
from likewise.server.store import (
    Candidate,
    Checkpoint,
    Entry,
    Page,
    Recipe,
    SavedStates,
    Store,
    Verdict,
)
from likewise.supervision import click_triplets

SPLIT = 0
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
_INTERVAL = 16  # entries between saved states near the end of the journal

States = tuple[bytes, bytes]


def is_kept(entry: int, last: int) -> bool:
    """Tell whether the state after an entry is kept: the farther back, the fewer.

    Their distance doubles with the distance from the last entry, so that an undo replays at most
    twice the entries since the undone one, and 100,000 entries have about 25 states. A state
    that is kept was also kept before.
    """
    doublings = max(0, ((last - entry) // (2 * _INTERVAL)).bit_length() - 1)
    return entry % (_INTERVAL << doublings) == 0


class AromaMethod:
    """Candidates by AROMA."""

    splits: Sequence[int] = (SPLIT,)

    def __init__(self, store: Store, initial: InitialModel, checkpoint: Checkpoint) -> None:
        self._store, self._initial = store, initial
        self._multiples = lexical_multiples(initial)
        self._entry = checkpoint.entry
        self._restore((checkpoint.state, checkpoint.twin or checkpoint.state))
        self._journal: JournalCache | None = None
        self._undone_from: int | None = None  # the first entry whose undo has yet to be learned
        # Changes of the states from which an undo resumes, since the last checkpoint.
        self._dropped_from: int | None = None
        self._added: dict[int, States] = {}

    def add_entry(self, entry: Entry, journal: JournalCache) -> None:
        """Learn from an entry; an undo is learned with the next entry, together with others."""
        self._journal = journal
        if entry.undoes is not None:
            self._undone_from = min(entry.undoes, self._undone_from or entry.undoes)
            self._entry = entry.number
        else:
            self._learn_undos()
            self._learn(entry, journal)
            self._entry = entry.number
            self._save_state(entry.number)

    def update(self, position: int, pages: Pages) -> None:
        """Do nothing: `add_entry` has learned already."""

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return the probability of each triplet."""
        self._learn_undos()
        return self._state.confidence(triplets, queries, items)

    def scores(self, pages: Pages, held_out: HeldOutPages, split: int) -> np.ndarray:
        """Return the scores of all fractions of the twin."""
        self._learn_undos()
        matrices = (self._interpolate(self._twin, share) for share in SHARES)
        scores = np.array([[matrix_scores(pages, held_out, W)] for W in matrices])
        weights = lexical_weights(self._multiples, pages, self._initial, split)
        return with_lexical(scores, held_out, weights)

    def ranks(self, pages: Pages, judged: JudgedItems, split: int, live: np.ndarray) -> None:
        """Return None: AROMA does not learn from pairs."""

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a fraction of the change of the state and of its twin."""
        self._learn_undos()
        share, multiple = SHARES[form % len(SHARES)], self._multiples[form // len(SHARES)]
        similarity, twin = (
            to_bytes(self._initial.to_similarity(self._interpolate(aroma, share)))
            for aroma in (self._state, self._twin)
        )
        (weight,) = lexical_weights([multiple], pages, self._initial)
        recipe = Recipe("aroma", share=share, lexical=multiple, weight=weight)
        return Candidate(recipe, verdict, similarity, twin=twin)

    def _interpolate(self, aroma: Any, share: float) -> np.ndarray:
        return self._initial.W + share * (aroma.state_.W - self._initial.W)

    def place(self, recipe: Recipe) -> None:
        """Return None: no candidate of AROMA is the model file, with which it is compared."""

    def states(self) -> States:
        """Return the states for a checkpoint."""
        self._learn_undos()
        return to_bytes(self._state), to_bytes(self._twin)

    def _restore(self, states: States) -> None:
        self._state, self._twin = (from_bytes(state) for state in states)

    def saved_states(self) -> SavedStates:
        """Return the changes of the saved states since the last checkpoint."""
        self._learn_undos()
        last = self._entry
        return SavedStates(self._dropped_from, self._added, lambda entry: is_kept(entry, last))

    def mark_saved(self) -> None:
        """Forget the changes of the saved states, which have been written."""
        self._dropped_from, self._added = None, {}

    def _save_state(self, number: int) -> None:
        if is_kept(number, self._entry):
            self._added[number] = to_bytes(self._state), to_bytes(self._twin)
            self._added = {n: s for n, s in self._added.items() if is_kept(n, self._entry)}

    def _learn_undos(self) -> None:
        """Learn again without undone entries, from the last saved state before the first."""
        if self._undone_from is None:
            return
        assert self._journal is not None
        first, self._undone_from = self._undone_from, None
        self._added = {n: states for n, states in self._added.items() if n < first}
        self._dropped_from = min(first, self._dropped_from or first)
        number, states = self._state_before(first)
        self._restore(states)
        while number < self._entry:
            for earlier in self._store.entries(number, min(256, self._entry - number)):
                if not self._journal.is_undone(earlier.number):
                    self._learn(earlier, self._journal)
                number = earlier.number
                self._save_state(number)

    def _state_before(self, entry: int) -> tuple[int, States]:
        """Return the last state before an entry, and the number of its last entry."""
        if self._added:
            number = max(self._added)
            return number, self._added[number]
        assert self._dropped_from is not None
        saved = self._store.saved_state(min(entry, self._dropped_from))
        initial = to_bytes(self._initial.aroma)
        return saved or (0, (initial, initial))

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
