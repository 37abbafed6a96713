"""The learner: consumes the journal in order, and offers candidates to the gate.

An entry of the journal is a block: it is learned whole, whatever came when. What is known after an
entry depends on the entries up to it alone, those that were taken back left out; so a learner that
was killed goes on from its last state to exactly where it would have been.
"""

from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np

from likewise._files import from_bytes, to_bytes
from likewise.server._gate import WINDOW, Marks, held_out_of, is_held_out, judge, margins
from likewise.server._records import Checkpoint, Entry
from likewise.server._store import Store

_REMEMBERED_VECTORS = 20_000
_ENTRIES_BETWEEN_PAST, _MOST_PAST = 16, 4
_PROGRESS_EVERY = 25  # comparisons, once there are as many again
_SHARE_FOR_KEEPING = 0.2  # of the time, most that is spent on writing states


class Learner:
    """Learns what a store's journal says, from where the last learner was.

    Parameters
    ----------
    store : Store
        On which this is the only learner.
    """

    def __init__(self, store: Store) -> None:
        checkpoint = store.checkpoint()
        if checkpoint is None:
            raise ValueError("the store has no start to learn from.")
        self._store = store
        self._aroma: Any = from_bytes(checkpoint.state)
        self._entry, self._position = checkpoint.entry, checkpoint.position
        self._asked, self._foretold = checkpoint.asked, checkpoint.foretold
        self._kept_entry = checkpoint.entry
        self._progress: list[tuple[int, int, int]] = []
        self._vectors: dict[int, np.ndarray] = {}
        self._past: list[tuple[int, bytes]] = []
        self._undone = store.undone(self._entry)
        self._marks = Marks()
        self._live: tuple[int, Any] = (0, None)
        self._not_before = 0.0

    def step(self) -> bool:
        """Consume what there is; tell whether there was anything."""
        entries = self._store.entries(self._entry)
        for entry in entries:
            self._consume(entry)
            if monotonic() >= self._not_before:
                self.keep()
        return bool(entries)

    def keep(self) -> None:
        """Write the state down, unless it is written."""
        if self._entry == self._kept_entry:
            return
        started = monotonic()
        self._store.keep(self._checkpoint(), self._progress)
        self._kept()
        finished = monotonic()
        self._not_before = finished + (finished - started) / _SHARE_FOR_KEEPING

    def _consume(self, entry: Entry) -> None:
        if entry.undoes is not None:
            self._take_back(entry)
        else:
            self._learn(entry, foretell=True)
        before, self._position = self._position, entry.first + len(entry.triplets)
        self._entry = entry.number
        if entry.number % _ENTRIES_BETWEEN_PAST == 0:
            self._past = [*self._past[1 - _MOST_PAST :], (entry.number, to_bytes(self._aroma))]
        if self._marks.between(before, self._position):
            self._offer_candidate()

    def _learn(self, entry: Entry, *, foretell: bool) -> None:
        if entry.number in self._undone:
            return
        taught = [
            triplet
            for position, triplet in enumerate(entry.triplets, entry.first)
            if not is_held_out(position)
        ]
        if not taught:
            return
        queries, closer, farther = self._rows(taught)
        places = np.arange(len(taught))
        triplets = np.column_stack([places, places, places + len(taught)])
        items = np.concatenate([closer, farther])
        if foretell:
            self._foretell(triplets, queries, items, entry)
        self._aroma.partial_fit_triplets(
            triplets, queries, items, weights=[weight for *_, weight in taught]
        )

    def _foretell(
        self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray, entry: Entry
    ) -> None:
        """See how many comparisons are known before they are learned: an honest measure."""
        before = self._asked
        self._asked += len(triplets)
        self._foretold += int((self._aroma.confidence(triplets, queries, items) > 0.5).sum())
        few = self._asked <= 20 * _PROGRESS_EVERY
        if few or before // _PROGRESS_EVERY < self._asked // _PROGRESS_EVERY:
            end = entry.first + len(entry.triplets)
            self._progress.append((end, self._asked, self._foretold))

    def _take_back(self, entry: Entry) -> None:
        """Learn again without an earlier entry, from the last state that did not know it."""
        target = entry.undoes
        assert target is not None
        self._undone.add(target)
        self._past = [(number, state) for number, state in self._past if number < target]
        if self._past:
            number, state = self._past[-1]
        else:
            start = self._store.checkpoint(start=True)
            assert start is not None
            number, state = 0, start.state
        self._aroma = from_bytes(state)
        while number < self._entry:
            for earlier in self._store.entries(number, min(256, self._entry - number)):
                self._learn(earlier, foretell=False)
                number = earlier.number

    def _offer_candidate(self) -> None:
        """Judge what is known by what was held out, and write it down with the verdict."""
        window = max(0, self._position - WINDOW)
        held = held_out_of(self._store.entries_at(window, self._entry), self._undone, window)
        if not held:
            return
        rows = self._rows(held)
        candidate = self._aroma.similarity_
        ours = margins(candidate, rows)
        written = False
        while not written:  # again where someone has promoted another version meanwhile
            version, live = self._live_similarity()
            verdict = judge(ours, margins(live, rows), version)
            written = self._store.keep(
                self._checkpoint(), self._progress, (to_bytes(candidate), verdict)
            )
        self._kept()

    def _live_similarity(self) -> tuple[int, Any]:
        version = self._store.pulse().live
        if version != self._live[0]:
            self._live = version, from_bytes(self._store.similarity(version))
        return self._live

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            self._entry, self._position, self._asked, self._foretold, to_bytes(self._aroma)
        )

    def _kept(self) -> None:
        self._kept_entry = self._entry
        self._progress = []

    def _rows(
        self, triplets: Sequence[tuple[Any, int, int, float]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return queries, closer and farther items, a row for each comparison."""
        revisions = {p for q, c, f, _ in triplets for p in (q, c, f) if isinstance(p, int)}
        if len(self._vectors) > _REMEMBERED_VECTORS:
            self._vectors.clear()
        missing = [revision for revision in revisions if revision not in self._vectors]
        self._vectors.update(self._store.vectors(missing))
        known = self._vectors
        queries = [known[q] if isinstance(q, int) else q for q, *_ in triplets]
        return (
            np.array(queries, dtype=np.float32),
            np.array([known[closer] for _, closer, _, _ in triplets], dtype=np.float32),
            np.array([known[farther] for _, _, farther, _ in triplets], dtype=np.float32),
        )
