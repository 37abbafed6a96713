"""AROMA from clicks, one entry of the journal after the other: a choice beside the ridge.

Two states learn: one from everything, and its twin from the queries and items outside split 0. A
share of the twin is judged by the pages of split 0, and the same share of the other is promoted.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._files import from_bytes, to_bytes
from likewise.server.learning._evidence import Evidence
from likewise.server.learning._pages import JudgedPages, Pages
from likewise.server.learning._start import Start, form_scores
from likewise.server.store import Store
from likewise.server.store._records import Candidate, Checkpoint, Entry, Page, Recipe, Verdict
from likewise.supervision import click_triplets

SPLIT = 0
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
_ENTRIES_BETWEEN_PAST, _MOST_PAST = 16, 4

States = tuple[bytes, bytes]


class AromaMethod:
    """Candidates by AROMA.

    Parameters
    ----------
    store : Store
    start : Start
    checkpoint : Checkpoint
    """

    splits: Sequence[int] = (SPLIT,)

    def __init__(self, store: Store, start: Start, checkpoint: Checkpoint) -> None:
        self._store, self._start = store, start
        self._entry = checkpoint.entry
        self._restore((checkpoint.state, checkpoint.twin or checkpoint.state))
        self._past: list[tuple[int, States]] = []

    def learn(self, entry: Entry, evidence: Evidence) -> None:
        """Learn from an entry, or again without the one that it undoes."""
        if entry.undoes is not None:
            self._learn_again(entry.undoes, evidence)
        else:
            self._learn(entry, evidence)
        self._entry = entry.number
        if entry.number % _ENTRIES_BETWEEN_PAST == 0:
            self._past = [*self._past[1 - _MOST_PAST :], (entry.number, self.states())]

    def reach(self, mark: int, pages: Pages) -> None:
        """Do nothing: it has learned already."""

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return how sure it is of comparisons."""
        return self._whole.confidence(triplets, queries, items)

    def scores(self, pages: Pages, judged: JudgedPages, split: int) -> np.ndarray:
        """Return the scores of all shares of the twin."""
        forms = (self._share(self._twin, share) for share in SHARES)
        return np.array([[form_scores(pages, judged, W)] for W in forms])

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a share of what was learned from everything, and of its twin."""
        share = SHARES[form]
        whole, twin = (
            to_bytes(self._start.published(self._share(aroma, share)))
            for aroma in (self._whole, self._twin)
        )
        return Candidate(Recipe("aroma", share=share), verdict, whole, twin=twin)

    def _share(self, aroma: Any, share: float) -> np.ndarray:
        return self._start.W + share * (aroma.state_.W - self._start.W)

    def states(self) -> States:
        """Return what a checkpoint keeps."""
        return to_bytes(self._whole), to_bytes(self._twin)

    def _restore(self, states: States) -> None:
        self._whole, self._twin = (from_bytes(state) for state in states)

    def _learn_again(self, target: int, evidence: Evidence) -> None:
        """Learn again without an earlier entry, from the last state that did not know it."""
        self._past = [(number, states) for number, states in self._past if number < target]
        number = 0
        if self._past:
            number, states = self._past[-1]
            self._restore(states)
        else:
            start = to_bytes(self._start.aroma)
            self._restore((start, start))
        while number < self._entry:
            for earlier in self._store.entries(number, min(256, self._entry - number)):
                if not evidence.was_undone(earlier.number):
                    self._learn(earlier, evidence)
                number = earlier.number

    def _learn(self, entry: Entry, evidence: Evidence) -> None:
        taught = [
            (number, closer, farther, weight)
            for number, page in enumerate(entry.pages)
            for closer, farther, weight in click_comparisons(page)
        ]
        if not taught:
            return
        rows = [row[:3] for row in taught]
        triplets, queries, items = evidence.triplets(entry.pages, rows)
        weights = np.array([weight for *_, weight in taught])
        self._whole.partial_fit_triplets(triplets, queries, items, weights=weights)
        apart = [
            not any(evidence.holds_out(entry.pages[n], r, SPLIT) for r in (closer, farther))
            for n, closer, farther in rows
        ]
        if any(apart):
            self._twin.partial_fit_triplets(triplets[apart], queries, items, weights=weights[apart])


def click_comparisons(page: Page) -> list[tuple[int, int, float]]:
    """Return (closer, farther, weight) of the items passed over and of one below each click."""
    impressions = [
        (0, 0, revision, place, int(revision in page.chosen))
        for place, revision in enumerate(page.shown, 1)
    ]
    triplets, weights = click_triplets(np.array(impressions))
    return [(c, f, w) for (_, c, f), w in zip(triplets.tolist(), weights.tolist(), strict=True)]
