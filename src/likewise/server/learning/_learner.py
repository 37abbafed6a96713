"""The learner: consumes the journal in order, and submits candidates to the gate.

The state after an entry depends only on the entries up to it, without undone ones. A learner that
was killed therefore resumes from its last checkpoint and reaches exactly the same state.
"""

from collections.abc import Callable
from itertools import zip_longest
from time import monotonic

import numpy as np

from likewise._files import from_bytes
from likewise._threads import single_threaded_blas
from likewise.server.learning._aroma import SPLIT, AromaMethod
from likewise.server.learning._gate import (
    MIN_QUERIES,
    CandidateSchedule,
    Scores,
    choose_candidate,
    evaluate,
    evaluation_pages,
)
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.learning._ridge import RidgeMethod, ridge_scores
from likewise.server.store import Candidate, Checkpoint, Entry, Store, VersionFiles, VersionInfo

_PROGRESS_INTERVAL = 25  # comparisons, after the first 500
_MAX_SAVING_SHARE = 0.2  # of the time


class Learner:
    """Learns from a store's journal, starting at the last checkpoint.

    Parameters
    ----------
    store : Store
        Its learner lock must be held.
    """

    def __init__(self, store: Store) -> None:
        self._initial = InitialModel.from_store(store)
        checkpoint = store.checkpoint()
        assert checkpoint is not None  # there is an initial one
        self._store = store
        self._entry, self._position = checkpoint.entry, checkpoint.position
        self._predicted, self._correct = checkpoint.predicted, checkpoint.correct
        self._saved_entry = checkpoint.entry
        self._progress: list[tuple[int, int, int]] = []
        self._schedule = CandidateSchedule()
        self._next_save = 0.0
        self._journal = JournalCache.load(store, self._initial, checkpoint.entry)
        self._method: RidgeMethod | AromaMethod
        if store.note("learner") == "aroma":
            self._method = AromaMethod(store, self._initial, checkpoint)
        else:
            position = self._schedule.last(self._position)
            self._method = RidgeMethod(self._initial, self._journal.pages(), position)

    def step(self) -> bool:
        """Consume the next entries; return whether there were any."""
        entries = self._store.entries(self._entry)
        for entry, next_entry in zip_longest(entries, entries[1:]):
            self._consume(entry)
            more_undos = next_entry is not None and next_entry.undoes is not None
            if monotonic() >= self._next_save and not more_undos:  # undos are learned together
                self.save()
        return bool(entries)

    def save(self) -> None:
        """Write a checkpoint, unless it exists."""
        if self._entry == self._saved_entry:
            return
        started = monotonic()
        self._write_checkpoint()
        self._mark_saved()
        finished = monotonic()
        self._next_save = finished + (finished - started) / _MAX_SAVING_SHARE

    def _consume(self, entry: Entry) -> None:
        self._predict(entry)
        self._journal.add(entry)
        self._method.add_entry(entry, self._journal)
        before, self._position, self._entry = self._position, entry.end, entry.number
        if self._schedule.any_between(before, self._position):
            self._submit_candidate()

    def _predict(self, entry: Entry) -> None:
        """Count the comparisons that are predicted correctly before training on them."""
        triplets, queries, items = self._journal.comparisons(entry.pages)
        if len(triplets) == 0:
            return
        before = self._predicted
        self._predicted += len(triplets)
        confidence = self._method.confidence(triplets, queries, items)
        self._correct += int((confidence > 0.5).sum())
        early = self._predicted <= 20 * _PROGRESS_INTERVAL
        if early or before // _PROGRESS_INTERVAL < self._predicted // _PROGRESS_INTERVAL:
            self._progress.append((entry.end, self._predicted, self._correct))

    def _submit_candidate(self) -> None:
        """Evaluate candidates on held-out queries, and write the best one with its verdict."""
        pages = self._journal.pages()
        self._method.update(self._schedule.last(self._position), pages)
        first, tests = self._store.gate_state()
        page_numbers = evaluation_pages(pages, first, self._method.splits)
        if page_numbers is None:
            return
        written = False
        while not written:  # repeated if another version became live in the meantime
            number, live = self._live_scores(pages)
            with single_threaded_blas():
                means = evaluate(
                    pages,
                    page_numbers,
                    lambda held_out, split: self._method.scores(pages, held_out, split),
                    live,
                    self._method.splits,
                )
            if means[0].shape[1] < MIN_QUERIES:  # an AROMA version has scores for one split only
                return
            form, step, verdict = choose_candidate(*means, live=number, test=tests + 1)
            candidate = self._method.candidate(form, step, pages, verdict)
            written = self._write_checkpoint(candidate)
        self._mark_saved()

    def _live_scores(self, pages: Pages) -> tuple[int, Scores]:
        number = self._store.status().live
        version = next(v for v in self._store.versions() if v.number == number)
        files = self._store.version_files(number)
        return number, version_scores(version, files, pages, self._initial)

    def _write_checkpoint(self, candidate: Candidate | None = None) -> bool:
        counts = self._predicted, self._correct
        checkpoint = Checkpoint(self._entry, self._position, *counts, *self._method.states())
        saved_states = self._method.saved_states()
        return self._store.save_checkpoint(checkpoint, self._progress, candidate, saved_states)

    def _mark_saved(self) -> None:
        self._saved_entry = self._entry
        self._progress = []
        self._method.mark_saved()


def version_scores(
    version: VersionInfo, files: VersionFiles, pages: Pages, initial: InitialModel
) -> Callable[[HeldOutPages, int], np.ndarray | None]:
    """Return a function that scores the pages of a split by a version trained without the split.

    The version of the model file has not been trained here. AROMA has a twin for one split only.
    Versions of an earlier release are used as they are.
    """
    recipe = version.recipe

    def scores(held_out: HeldOutPages, split: int) -> np.ndarray | None:
        if recipe is not None and recipe.learner == "ridge":
            training = pages.relevance(split, until=version.position)
            alphas, gammas = (recipe.alpha,), (recipe.gamma,)
            return ridge_scores(pages, held_out, training, initial, alphas, gammas)[0, 0]
        if recipe is not None:
            if split != SPLIT:
                return None
            assert files.twin is not None
            return matrix_scores(pages, held_out, initial.matrix(from_bytes(files.twin)))
        from_file = version.origin == "file"
        W = initial.W if from_file else initial.matrix(from_bytes(files.similarity))
        return matrix_scores(pages, held_out, W)

    return scores
