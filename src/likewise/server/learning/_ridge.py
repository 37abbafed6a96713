"""Ridge regression toward the initial model and PLDA, with offsets of chosen items.

Every candidate is trained anew on the distinct pairs of a query and a chosen item in sorted order,
so that neither the order of requests nor interruptions of the learner have an effect.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from likewise._files import to_bytes
from likewise._threads import single_threaded_blas
from likewise.learners.ridge import RidgeBelief, offset_directions, relevance_path
from likewise.server.learning._forms import Forms
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._lexical import lexical_multiples, lexical_weights, with_lexical
from likewise.server.learning._pages import HeldOutPages, JudgedItems, Pages
from likewise.server.store import Candidate, Entry, Recipe, Verdict
from likewise.similarities import ItemOffsets
from likewise.supervision import N_SPLITS

# Ordered by distance from the initial model: of equal candidates the first is chosen.
ALPHAS = (np.inf, 30.0, 10.0, 3.0)
GAMMAS = (0.0, 0.2, 0.35, 0.5)
_BELIEF_ALPHA = 10.0


class RidgeMethod:
    """Candidates by ridge regression and by PLDA, and the belief that predicts answers.

    Parameters
    ----------
    forms : Forms
    pages : Pages, optional
        All pages so far.
    position : int, default=0
        Position of the last candidate.
    """

    splits: Sequence[int] = range(N_SPLITS)

    def __init__(
        self,
        forms: Forms,
        pages: Pages | None = None,
        position: int = 0,
    ) -> None:
        self._forms, self._initial, self._position = forms, forms.initial, position
        self._belief = learn_belief(pages, forms.initial, position)
        self._undone_in: JournalCache | None = None  # whose undos have yet to be learned
        self._multiples = lexical_multiples(forms.initial)

    def add_entry(self, entry: Entry, journal: JournalCache) -> None:
        """Note an undo, which is learned together with others; pages are learned by `update`."""
        if entry.undoes is not None:
            self._undone_in = journal

    def _learn_undos(self) -> None:
        if self._undone_in is not None:
            pages, self._undone_in = self._undone_in.pages(), None
            self._belief = learn_belief(pages, self._initial, self._position)

    def update(self, position: int, pages: Pages) -> None:
        """Learn from all pages up to the position of a candidate."""
        self._position, self._undone_in = position, None
        self._belief = learn_belief(pages, self._initial, position)

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return the probability of each triplet, as of the last update."""
        self._learn_undos()
        return self._belief.confidence(triplets, queries, items)

    def scores(self, pages: Pages, held_out: HeldOutPages, split: int) -> np.ndarray:
        """Return the scores of all candidates trained without a split.

        All forms come with the first weight of the lexical score, then with the next.
        """
        training = pages.relevance(split)
        mapped = self._mapped(pages, held_out.queries, training, split)
        scores = self._forms.scores(pages, held_out, training, mapped, self._gammas)
        weights = lexical_weights(self._multiples, pages, self._initial, split)
        return with_lexical(scores, held_out, weights)

    def ranks(
        self, pages: Pages, judged: JudgedItems, split: int, live: np.ndarray
    ) -> np.ndarray | None:
        """Return the ranks of judged items by the live version and by all forms.

        They are ranked by the similarity alone, so that the weight of the lexical score changes
        nothing.

        Parameters
        ----------
        pages : Pages
        judged : JudgedItems
        split : int
        live : array
            `judged.queries` mapped by the live version.

        Returns
        -------
        int array of shape (1 + n_forms, n_judged)
        """
        mapped = self._mapped(pages, judged.queries, pages.relevance(split), split)
        of_live, *of_forms = self._forms.ranks(pages, judged, [live, *mapped])
        return np.array([of_live, *of_forms * len(self._multiples)])

    def _mapped(
        self, pages: Pages, queries: np.ndarray, training: Any, split: int
    ) -> list[np.ndarray]:
        """Return queries mapped by all penalties of the ridge and all ranks of PLDA."""
        return [
            *self._forms.ridge(pages, queries, training, ALPHAS),
            *self._forms.plda(pages, queries, training, split, self._ranks),
        ]

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a candidate trained on everything."""
        which, form = divmod(form, len(ALPHAS) + len(self._ranks))
        if form < len(ALPHAS):
            recipe = Recipe("ridge", alpha=ALPHAS[form], gamma=self._gammas[step])
        else:
            rank = self._ranks[form - len(ALPHAS)]
            recipe = Recipe("plda", rank=rank, gamma=self._gammas[step])
        multiple = self._multiples[which]
        (weight,) = lexical_weights([multiple], pages, self._initial)
        recipe = replace(recipe, lexical=multiple, weight=weight)
        similarity, offsets = learn_version(pages, self._forms, recipe)
        return Candidate(
            recipe,
            verdict,
            to_bytes(similarity),
            None if offsets is None else to_bytes(offsets),
        )

    def place(self, recipe: Recipe) -> tuple[int, int] | None:
        """Return the form and the step of a recipe; None if no candidate has it."""
        forms = [*(("ridge", a, 0) for a in ALPHAS), *(("plda", np.inf, r) for r in self._ranks)]
        form = recipe.learner, recipe.alpha, recipe.rank
        known = form in forms and recipe.gamma in self._gammas
        if not known or recipe.lexical not in self._multiples:
            return None
        which = self._multiples.index(recipe.lexical) * len(forms) + forms.index(form)
        return which, self._gammas.index(recipe.gamma)

    def states(self) -> tuple[bytes, bytes | None]:
        """Return the belief for a checkpoint; all else is learned from the journal."""
        self._learn_undos()
        return to_bytes(self._belief), None

    def saved_states(self) -> None:
        """Return None: an undo takes effect when the journal is next learned as a whole."""

    def mark_saved(self) -> None:
        """Do nothing: there are no saved states."""

    @property
    def _ranks(self) -> tuple[int, ...]:
        return self._forms.spaces.ranks

    @property
    def _gammas(self) -> tuple[float, ...]:
        return GAMMAS if self._initial.has_offsets else (0.0,)


def learn_belief(pages: Pages | None, initial: InitialModel, until: float) -> RidgeBelief:
    """Return the belief after the pages up to a position; without pages the initial one."""
    queries = np.zeros((0, initial.W.shape[0]))
    targets = np.zeros((0, initial.W.shape[1]))
    if pages is not None and len(pages):
        relevance = pages.relevance(until=until)
        counts = np.asarray(relevance.sum(axis=1)).ravel()
        rows = np.flatnonzero(counts)
        if len(rows):
            queries = pages.Q[rows]
            targets = (relevance[rows] @ pages.P) / counts[rows, None]
    return RidgeBelief.learned(
        queries, targets, initial.W, alpha=_BELIEF_ALPHA, normalize=initial.normalize
    )


def learn_version(pages: Pages, forms: Forms, recipe: Recipe) -> tuple[Any, ItemOffsets | None]:
    """Return the similarity of a recipe, and its offsets by revisions."""
    initial, relevance = forms.initial, pages.relevance()
    similarity, offsets = initial.similarity, None
    with single_threaded_blas():
        if recipe.learner == "plda":
            (B,) = forms.spaces.maps(pages, relevance, None, [recipe.rank])
            if B.shape[1]:
                similarity = initial.to_similarity(B @ B.T)
        elif recipe.alpha < np.inf:
            path = relevance_path(relevance, pages.Q, pages.P, initial.W)
            similarity = initial.to_similarity(initial.W + path.solution(recipe.alpha))
        if recipe.gamma > 0:
            directions = offset_directions(relevance, pages.Q, initial.W)
            offsets = directions.offsets(pages.revisions.tolist(), recipe.gamma)
    return similarity, offsets
