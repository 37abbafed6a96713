"""Ridge regression towards the start, with offsets of chosen items, from pages of feedback.

Everything is learned again at every candidate, from the distinct pairs of a query and a chosen item
in sorted order: it does not matter in which requests they came, or how often the learner was ended.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._files import to_bytes
from likewise._threads import single_threaded_blas
from likewise.learners.ridge import (
    ItemScores,
    RidgeBelief,
    offset_directions,
    relevance_path,
)
from likewise.server.learning._evidence import Evidence
from likewise.server.learning._pages import JudgedPages, Pages
from likewise.server.learning._start import Start, form_scores
from likewise.server.store._records import Candidate, Entry, Recipe, Verdict
from likewise.similarities import ItemOffsets
from likewise.supervision import N_SPLITS

# From the start outwards, so that of equal candidates the nearest to it is taken.
ALPHAS = (np.inf, 30.0, 10.0, 3.0)
GAMMAS = (0.0, 0.2, 0.35, 0.5)
_ALPHA_OF_BELIEF = 10.0
_ROWS_AT_A_TIME = 8_192


class RidgeMethod:
    """Candidates by ridge regression, and the belief that asks questions.

    Parameters
    ----------
    start : Start
    pages : Pages, optional
        What it begins with.
    mark : int, default=0
        Position of the last candidate.
    """

    splits: Sequence[int] = range(N_SPLITS)

    def __init__(self, start: Start, pages: Pages | None = None, mark: int = 0) -> None:
        self._start, self._mark = start, mark
        self._belief = belief(pages, start, mark)

    def learn(self, entry: Entry, evidence: Evidence) -> None:
        """Take an entry up: what it says is learned at the next mark, except what it undoes."""
        if entry.undoes is not None:
            self._belief = belief(evidence.pages(), self._start, self._mark)

    def reach(self, mark: int, pages: Pages) -> None:
        """Learn from everything, at a mark."""
        self._mark = mark
        self._belief = belief(pages, self._start, mark)

    def confidence(self, triplets: np.ndarray, queries: np.ndarray, items: np.ndarray) -> Any:
        """Return how sure it is of comparisons, since the last mark."""
        return self._belief.confidence(triplets, queries, items)

    def scores(self, pages: Pages, judged: JudgedPages, split: int) -> np.ndarray:
        """Return the scores of all candidates without what a split holds out."""
        training = pages.relevance(split)
        return ridge_scores(pages, judged, training, self._start, ALPHAS, self._gammas)

    def candidate(self, form: int, step: int, pages: Pages, verdict: Verdict) -> Candidate:
        """Return a candidate learned from everything."""
        recipe = Recipe("ridge", alpha=ALPHAS[form], gamma=self._gammas[step])
        similarity, offsets = learned(pages, self._start, recipe)
        return Candidate(
            recipe,
            verdict,
            to_bytes(similarity),
            None if offsets is None else to_bytes(offsets),
        )

    def states(self) -> tuple[bytes, bytes | None]:
        """Return what a checkpoint keeps: what asks questions. The rest is in the journal."""
        return to_bytes(self._belief), None

    @property
    def _gammas(self) -> tuple[float, ...]:
        return GAMMAS if self._start.has_offsets else (0.0,)


def belief(pages: Pages | None, start: Start, until: float) -> RidgeBelief:
    """Return what is believed after the pages up to a position; the start where there are none."""
    queries = np.zeros((0, start.W.shape[0]))
    targets = np.zeros((0, start.W.shape[1]))
    if pages is not None and len(pages):
        relevance = pages.relevance(until=until)
        counts = np.asarray(relevance.sum(axis=1)).ravel()
        asked = np.flatnonzero(counts)
        if len(asked):
            queries = pages.Q[asked]
            targets = (relevance[asked] @ pages.P) / counts[asked, None]
    return RidgeBelief.learned(
        queries, targets, start.W, alpha=_ALPHA_OF_BELIEF, normalize=start.normalize
    )


def ridge_scores(
    pages: Pages,
    judged: JudgedPages,
    training: Any,
    start: Start,
    alphas: Sequence[float],
    gammas: Sequence[float],
) -> np.ndarray:
    """Return the scores of items shown, for every penalty and every step of offsets.

    Parameters
    ----------
    pages : Pages
    judged : JudgedPages
    training : CSR array
        Pairs to learn from, as `Pages.relevance` returns them.
    start : Start
    alphas, gammas : sequences of float

    Returns
    -------
    array of shape (n_alphas, n_gammas, n_shown)
    """
    if training.nnz == 0:
        shape = len(alphas), len(gammas), len(judged.item)
        return np.broadcast_to(form_scores(pages, judged, start.W), shape)
    with single_threaded_blas():
        path = relevance_path(training, pages.Q, pages.P, start.W)
        moves = any(gamma > 0 for gamma in gammas)
        items = ItemScores(
            pages.P, offset_directions(training, pages.Q, start.W) if moves else None
        )
        asked = pages.Q[judged.queries]
        plain, projected = asked @ start.W, path.project(asked)
        asking, columns = judged.pairs
        scores = np.empty((len(alphas), len(gammas), len(columns)))
        for row, alpha in enumerate(alphas):
            mapped = plain + path.predict(projected, alpha)
            for first in range(0, len(columns), _ROWS_AT_A_TIME):
                part = slice(first, first + _ROWS_AT_A_TIME)
                found = items.pairs(mapped[asking[part]], columns[part], gammas)
                for column, values in enumerate(found):
                    scores[row, column, part] = values
    return judged.of_pairs(scores)


def learned(pages: Pages, start: Start, recipe: Recipe) -> tuple[Any, ItemOffsets | None]:
    """Return the similarity and the offsets that a recipe gives; revisions are the offsets' ids."""
    relevance = pages.relevance()
    similarity, offsets = start.similarity, None
    with single_threaded_blas():
        if recipe.alpha < np.inf:
            path = relevance_path(relevance, pages.Q, pages.P, start.W)
            similarity = start.published(start.W + path.solution(recipe.alpha))
        if recipe.gamma > 0:
            moved = offset_directions(relevance, pages.Q, start.W)
            offsets = ItemOffsets(
                tuple(pages.revisions[moved.rows].tolist()),
                moved.directions.astype(np.float32),
                moved.counts,
                recipe.gamma,
                moved.center,
            )
    return similarity, offsets
