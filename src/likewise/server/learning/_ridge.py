"""Ridge regression towards the initial model, with offsets of chosen items.

Every candidate is trained anew on the distinct pairs of a query and a chosen item in sorted order,
so that neither the order of requests nor interruptions of the learner have an effect.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._files import to_bytes
from likewise._threads import single_threaded_blas, slices
from likewise.learners.ridge import ItemScores, RidgeBelief, offset_directions, relevance_path
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.store import Candidate, Entry, Recipe, Verdict
from likewise.similarities import ItemOffsets
from likewise.supervision import N_SPLITS

# Ordered by distance from the initial model: of equal candidates the first is chosen.
ALPHAS = (np.inf, 30.0, 10.0, 3.0)
GAMMAS = (0.0, 0.2, 0.35, 0.5)
_BELIEF_ALPHA = 10.0
_BATCH_SIZE = 8_192


class RidgeMethod:
    """Candidates by ridge regression, and the belief that selects questions.

    Parameters
    ----------
    initial : InitialModel
    pages : Pages, optional
        All pages so far.
    position : int, default=0
        Position of the last candidate.
    """

    splits: Sequence[int] = range(N_SPLITS)

    def __init__(
        self, initial: InitialModel, pages: Pages | None = None, position: int = 0
    ) -> None:
        self._initial, self._position = initial, position
        self._belief = learn_belief(pages, initial, position)

    def add_entry(self, entry: Entry, journal: JournalCache) -> None:
        """Undo an entry, if this entry does so; pages are learned by the next `update`."""
        if entry.undoes is not None:
            self._belief = learn_belief(journal.pages(), self._initial, self._position)

    def update(self, position: int, pages: Pages) -> None:
        """Learn from all pages up to the position of a candidate."""
        self._position = position
        self._belief = learn_belief(pages, self._initial, position)

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return the probability of each triplet, as of the last update."""
        return self._belief.confidence(triplets, queries, items)

    def scores(self, pages: Pages, held_out: HeldOutPages, split: int) -> np.ndarray:
        """Return the scores of all candidates trained without a split."""
        training = pages.relevance(split)
        return ridge_scores(pages, held_out, training, self._initial, ALPHAS, self._gammas)

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a candidate trained on everything."""
        recipe = Recipe("ridge", alpha=ALPHAS[form], gamma=self._gammas[step])
        similarity, offsets = learn_version(pages, self._initial, recipe)
        return Candidate(
            recipe,
            verdict,
            to_bytes(similarity),
            None if offsets is None else to_bytes(offsets),
        )

    def states(self) -> tuple[bytes, bytes | None]:
        """Return the belief for a checkpoint; all else is learned from the journal."""
        return to_bytes(self._belief), None

    def saved_states(self) -> None:
        """Return None: an undo takes effect when the journal is next learned as a whole."""

    def mark_saved(self) -> None:
        """Do nothing: there are no saved states."""

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


def ridge_scores(
    pages: Pages,
    held_out: HeldOutPages,
    training: Any,
    initial: InitialModel,
    alphas: Sequence[float],
    gammas: Sequence[float],
) -> np.ndarray:
    """Return the scores of the items shown, for every penalty and every step of the offsets.

    Parameters
    ----------
    pages : Pages
    held_out : HeldOutPages
    training : CSR array
        The training pairs, as returned by `Pages.relevance`.
    initial : InitialModel
    alphas, gammas : sequences of float

    Returns
    -------
    array of shape (n_alphas, n_gammas, n_shown)
    """
    if training.nnz == 0:
        shape = len(alphas), len(gammas), len(held_out.item)
        return np.broadcast_to(matrix_scores(pages, held_out, initial.W), shape)
    with single_threaded_blas():
        path = relevance_path(training, pages.Q, pages.P, initial.W)
        has_offsets = any(gamma > 0 for gamma in gammas)
        directions = offset_directions(training, pages.Q, initial.W) if has_offsets else None
        items = ItemScores(pages.P, directions)
        Q = pages.Q[held_out.queries]
        unchanged, projected = Q @ initial.W, path.project(Q)
        queries, columns = held_out.pairs
        scores = np.empty((len(alphas), len(gammas), len(columns)))
        for row, alpha in enumerate(alphas):
            mapped = unchanged + path.predict(projected, alpha)
            for batch in slices(len(columns), _BATCH_SIZE):
                by_gamma = items.pairs(mapped[queries[batch]], columns[batch], gammas)
                for column, values in enumerate(by_gamma):
                    scores[row, column, batch] = values
    return held_out.expand(scores)


def learn_version(
    pages: Pages, initial: InitialModel, recipe: Recipe
) -> tuple[Any, ItemOffsets | None]:
    """Return the similarity of a recipe, and its offsets by revisions."""
    relevance = pages.relevance()
    similarity, offsets = initial.similarity, None
    with single_threaded_blas():
        if recipe.alpha < np.inf:
            path = relevance_path(relevance, pages.Q, pages.P, initial.W)
            similarity = initial.to_similarity(initial.W + path.solution(recipe.alpha))
        if recipe.gamma > 0:
            directions = offset_directions(relevance, pages.Q, initial.W)
            offsets = directions.offsets(pages.revisions.tolist(), recipe.gamma)
    return similarity, offsets
