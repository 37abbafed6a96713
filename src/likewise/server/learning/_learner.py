"""The learner: consumes the journal in order, and submits candidates to the gate.

The state after an entry depends only on the entries up to it, without undone ones. A learner that
was killed therefore resumes from its last checkpoint and reaches exactly the same state.
"""

from collections.abc import Sequence
from itertools import zip_longest
from time import monotonic
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._threads import single_threaded_blas
from likewise.server._tracing import span
from likewise.server.learning._aroma import SPLIT, AromaMethod
from likewise.server.learning._forms import Forms
from likewise.server.learning._gate import (
    MIN_QUERIES,
    CandidateSchedule,
    Means,
    choose_candidate,
    evaluate,
    evaluation_pages,
    judge_retrained,
    with_enough_choices,
)
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._lexical import lexical_weights
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.learning._ridge import RidgeMethod
from likewise.server.learning._spaces import Spaces
from likewise.server.store import (
    Candidate,
    Checkpoint,
    Entry,
    Recipe,
    Store,
    Verdict,
    VersionFiles,
    VersionInfo,
)

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
        self._forms = Forms(self._initial, Spaces(store, self._initial))
        self._method: RidgeMethod | AromaMethod
        if store.note("learner") == "aroma":
            self._method = AromaMethod(store, self._initial, checkpoint)
        else:
            position = self._schedule.last(self._position)
            pages = self._journal.pages()
            self._method = RidgeMethod(self._forms, pages, position)

    def step(self) -> bool:
        """Consume the next entries; return whether there were any."""
        entries = self._store.entries(self._entry)
        if entries:
            with span("learn", entries=len(entries)):
                self._consume_all(entries)
        return bool(entries)

    def _consume_all(self, entries: Sequence[Entry]) -> None:
        for entry, next_entry in zip_longest(entries, entries[1:]):
            self._consume(entry)
            more_undos = next_entry is not None and next_entry.undoes is not None
            if monotonic() >= self._next_save and not more_undos:  # undos are learned together
                self.save()

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
            with span("candidate", position=self._position) as current:
                candidate = self._submit_candidate()
                if candidate is not None:
                    current.set_attribute("likewise.queries", candidate.verdict.overall.n)
                    current.set_attribute("likewise.passes", candidate.verdict.passes)

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

    def _submit_candidate(self) -> Candidate | None:
        """Evaluate candidates on held-out queries, and write the best one with its verdict.

        The answer is None if there are too few queries.
        """
        pages = self._journal.pages()
        self._method.update(self._schedule.last(self._position), pages)
        first, tests = self._store.gate_state()
        page_numbers = evaluation_pages(pages, first, self._method.splits)
        if page_numbers is None:
            return None
        written = False
        while not written:  # repeated if another version became live in the meantime
            number, live = self._live(pages)
            judged = self._judge(pages, page_numbers, number, live, tests + 1)
            if judged is None:
                return None
            (form, step), verdict = judged
            candidate = self._method.candidate(form, step, pages, verdict)
            written = self._write_checkpoint(candidate)
        self._mark_saved()
        return candidate

    def _judge(
        self, pages: Pages, page_numbers: np.ndarray, number: int, live: "ScoredVersion", test: int
    ) -> tuple[tuple[int, int], Verdict] | None:
        """Return the form and the step of a candidate and its verdict; None with too few queries.

        Questions contrast the model file with what was learned, which makes any third form seem
        better than either. Once a version is live whose recipe can be trained again, they judge
        nothing else.
        """
        place = None if live.recipe is None else self._method.place(live.recipe)
        asked = pages.questions(page_numbers)
        compared = page_numbers if place is None else np.setdiff1d(page_numbers, asked)
        judged = None
        means = self._evaluate(pages, compared, live)
        if means is not None:
            # On pages of clicks, unlike questions, the live version's own ranking has an advantage.
            loss = 0.0 if np.isin(compared, asked).all() else 1.0
            form, step, verdict = choose_candidate(
                means, live=number, test=test, max_head_loss=loss
            )
            judged = (form, step), verdict
        if place is not None and (judged is None or not judged[1].passes):
            means = self._evaluate(pages, asked, live)
            if means is not None:
                judged = place, judge_retrained(means, place, live=number, test=test)
        return judged

    def _evaluate(
        self, pages: Pages, page_numbers: np.ndarray, live: "ScoredVersion"
    ) -> Means | None:
        if not with_enough_choices(pages, page_numbers):
            return None
        with single_threaded_blas():
            means = evaluate(pages, page_numbers, self._method, live)
        # An AROMA version has scores for one split only.
        return None if means.n_queries < MIN_QUERIES else means

    def _live(self, pages: Pages) -> tuple[int, "ScoredVersion"]:
        number = self._store.status().live
        version = next(v for v in self._store.versions() if v.number == number)
        files = self._store.version_files(number)
        return number, ScoredVersion(version, files, pages, self._forms)

    def _write_checkpoint(self, candidate: Candidate | None = None) -> bool:
        counts = self._predicted, self._correct
        checkpoint = Checkpoint(self._entry, self._position, *counts, *self._method.states())
        saved_states = self._method.saved_states()
        return self._store.save_checkpoint(checkpoint, self._progress, candidate, saved_states)

    def _mark_saved(self) -> None:
        self._saved_entry = self._entry
        self._progress = []
        self._method.mark_saved()


class ScoredVersion:
    """A version, trained again without each split where it was learned here.

    The version of the model file has not been trained here. AROMA has a twin for one split only.
    Versions of an earlier release are used as they are.

    Parameters
    ----------
    version : VersionInfo
    files : VersionFiles
    pages : Pages
    forms : Forms
    """

    def __init__(
        self, version: VersionInfo, files: VersionFiles, pages: Pages, forms: Forms
    ) -> None:
        self._version, self._files, self._pages, self._forms = version, files, pages, forms

    @property
    def recipe(self) -> Recipe | None:
        """The recipe by which it was learned; None for the model file and earlier releases."""
        return self._version.recipe

    def scores(self, held_out: HeldOutPages, split: int) -> np.ndarray | None:
        """Return the scores of the items shown; None if the version has none for the split."""
        mapped = self.mapped(held_out.queries, split)
        if mapped is None:
            return None
        recipe = self._version.recipe
        gammas = (0.0 if recipe is None else recipe.gamma,)
        training = self._training(split)
        scores = self._forms.scores(self._pages, held_out, training, [mapped], gammas)[0, 0]
        return scores + self._lexical_weight(split) * held_out.lexical

    def mapped(self, queries: np.ndarray, split: int) -> np.ndarray | None:
        """Return queries mapped by the version; None if it has no form for the split."""
        recipe, initial = self._version.recipe, self._forms.initial
        if recipe is not None and recipe.learner != "aroma":
            training = self._training(split)
            return self._forms.of_recipe(self._pages, queries, training, split, recipe)
        W = initial.W
        if recipe is not None:
            if split != SPLIT:
                return None
            assert self._files.twin is not None
            W = initial.matrix(from_bytes(self._files.twin))
        elif self._version.origin != "file":
            W = initial.matrix(from_bytes(self._files.similarity))
        return np.asarray(self._pages.Q[queries] @ W)

    def _training(self, split: int) -> Any:
        return self._pages.relevance(split, until=self._version.position)

    def _lexical_weight(self, split: int) -> float:
        recipe, initial = self._version.recipe, self._forms.initial
        multiple = None if recipe is None else recipe.lexical
        until = self._version.position
        (weight,) = lexical_weights([multiple], self._pages, initial, split, until)
        return weight
