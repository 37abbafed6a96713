"""The learner: consumes the journal in order, and offers candidates to the gate.

An entry of the journal is a block: it is learned whole, whatever came when. What is known after an
entry depends on the entries up to it alone, those that were taken back left out; so a learner that
was killed goes on from its last state to exactly where it would have been.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import single_threaded_blas
from likewise.server._aroma import SPLIT, AromaMethod
from likewise.server._evidence import Evidence
from likewise.server._gate import FEWEST_QUERIES, Marks, judge, judged_pages, verdict_of
from likewise.server._pages import JudgedPages, Pages
from likewise.server._records import Checkpoint, Entry, VersionInfo
from likewise.server._ridge import RidgeMethod, ridge_scores
from likewise.server._start import Start, form_scores
from likewise.server._store import Files, Store

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
        self._start = Start.of(store)
        checkpoint = store.checkpoint()
        assert checkpoint is not None  # since there is a start
        self._store = store
        self._entry, self._position = checkpoint.entry, checkpoint.position
        self._predicted, self._correct = checkpoint.predicted, checkpoint.correct
        self._kept_entry = checkpoint.entry
        self._progress: list[tuple[int, int, int]] = []
        self._marks = Marks()
        self._not_before = 0.0
        self._evidence = _evidence_up_to(store, self._start, checkpoint.entry)
        self._method: RidgeMethod | AromaMethod
        if store.note("learner") == "aroma":
            self._method = AromaMethod(store, self._start, checkpoint)
        else:
            mark = self._marks.last(self._position)
            self._method = RidgeMethod(self._start, self._evidence.pages(), mark)

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
        self._predict(entry)
        self._evidence.add(entry)
        self._method.learn(entry, self._evidence)
        before, self._position, self._entry = self._position, entry.end, entry.number
        if self._marks.between(before, self._position):
            self._offer_candidate()

    def _predict(self, entry: Entry) -> None:
        """See how many comparisons are known before they are learned: an honest measure."""
        triplets, queries, items = self._evidence.comparisons(entry.pages)
        if len(triplets) == 0:
            return
        before = self._predicted
        self._predicted += len(triplets)
        sure = self._method.confidence(triplets, queries, items)
        self._correct += int((sure > 0.5).sum())
        few = self._predicted <= 20 * _PROGRESS_EVERY
        if few or before // _PROGRESS_EVERY < self._predicted // _PROGRESS_EVERY:
            self._progress.append((entry.end, self._predicted, self._correct))

    def _offer_candidate(self) -> None:
        """Judge what is known by what was held out, and write it down with the verdict."""
        pages = self._evidence.pages()
        self._method.reach(self._marks.last(self._position), pages)
        first, tests = self._store.judging()
        which = judged_pages(pages, first, self._method.splits)
        written = which is None
        while not written:  # again where someone has promoted another version meanwhile
            assert which is not None
            number, live = self._live_scores(pages)
            with single_threaded_blas():
                values = judge(
                    pages,
                    which,
                    lambda judged, split: self._method.scores(pages, judged, split),
                    live,
                    self._method.splits,
                )
            if values[0].shape[1] < FEWEST_QUERIES:  # of AROMA's version, one split judges
                return
            form, step, verdict = verdict_of(*values, live=number, test=tests + 1)
            candidate = self._method.candidate(form, step, pages, verdict)
            written = self._store.keep(self._checkpoint(), self._progress, candidate)
            if written:
                self._kept()

    def _live_scores(self, pages: Pages) -> tuple[int, Any]:
        number = self._store.pulse().live
        version = next(v for v in self._store.versions() if v.number == number)
        return number, live_scores(version, self._store.files(number), pages, self._start)

    def _checkpoint(self) -> Checkpoint:
        counts = self._predicted, self._correct
        return Checkpoint(self._entry, self._position, *counts, *self._method.states())

    def _kept(self) -> None:
        self._kept_entry = self._entry
        self._progress = []


def live_scores(
    version: VersionInfo, files: Files, pages: Pages, start: Start
) -> Callable[[JudgedPages, int], np.ndarray | None]:
    """Return what scores a split's pages by a version, learned again without what it holds out.

    The model file's version has learned nothing here. Of AROMA's there is the twin, for one split.
    A version that an earlier likewise has learned is taken as it is.
    """
    recipe = version.recipe

    def scores(judged: JudgedPages, split: int) -> np.ndarray | None:
        if recipe is not None and recipe.learner == "ridge":
            training = pages.relevance(split, until=version.position)
            alphas, gammas = (recipe.alpha,), (recipe.gamma,)
            return ridge_scores(pages, judged, training, start, alphas, gammas)[0, 0]
        if recipe is not None:
            if split != SPLIT:
                return None
            assert files.twin is not None
            return form_scores(pages, judged, start.form(from_bytes(files.twin)))
        W = start.W if version.origin == "file" else start.form(from_bytes(files.similarity))
        return form_scores(pages, judged, W)

    return scores


def journal_pages(store: Store, start: Start) -> Pages:
    """Return all pages that the learner has consumed."""
    return _evidence_up_to(store, start, store.checkpoint_entry()).pages()


def _evidence_up_to(store: Store, start: Start, last_entry: int) -> Evidence:
    evidence = Evidence(store, normalize=start.normalize)
    number = 0
    while number < last_entry:
        for entry in store.entries(number, min(256, last_entry - number)):
            evidence.add(entry)
            number = entry.number
    return evidence
