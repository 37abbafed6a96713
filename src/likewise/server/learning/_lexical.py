"""The weight of the lexical score: candidates, and the scale by which they are measured.

A version scores s + w·l, where s is its similarity and l is the lexical score. Candidates for w are
multiples of σ(s) / σ(l), where σ is the standard deviation among the items of a page.
"""

from collections.abc import Sequence

import numpy as np

from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._pages import HeldOutPages, Pages

MULTIPLES = (0.3, 1.0, 3.0)
_MAX_PAGES = 10_000  # the newest pages measure the scale


def lexical_multiples(initial: InitialModel) -> Sequence[float | None]:
    """Return the candidates, the start first: None is the weight of the model file."""
    if initial.lexical is None:
        return (None,)
    return (None, *MULTIPLES, *((0.0,) if initial.lexical > 0 else ()))


def lexical_weights(
    multiples: Sequence[float | None],
    pages: Pages,
    initial: InitialModel,
    split: int | None = None,
    until: float = np.inf,
) -> list[float]:
    """Return the weights of the lexical score.

    Parameters
    ----------
    multiples : sequence of float or None
        None is the weight of the model file.
    pages : Pages
    initial : InitialModel
    split : int, optional
        Exclude the queries and items of this split.
    until : float
        Exclude pages from this position on.
    """
    start = initial.lexical or 0.0
    if all(multiple is None for multiple in multiples):
        return [start] * len(multiples)
    scale = _scale(pages, initial, split, until)
    return [start if multiple is None else multiple * scale for multiple in multiples]


def _scale(pages: Pages, initial: InitialModel, split: int | None, until: float) -> float:
    """Return the ratio of the deviations of similarities and lexical scores within a page."""
    numbers = np.flatnonzero(pages.first < until)[-_MAX_PAGES:]
    if len(numbers) == 0:
        return 0.0
    shown = HeldOutPages(pages, numbers)
    kept = np.ones(len(shown.item), dtype=bool)
    if (
        split is not None
    ):  # without its queries, its items, and pages on which such an item was chosen
        held_out = pages.item_splits[shown.item] == split
        chosen = np.bincount(shown.page, held_out & shown.chosen, minlength=len(numbers)) > 0
        kept = ~held_out & ~chosen[shown.page] & (pages.query_splits[shown.query] != split)
    similarities = matrix_scores(pages, shown, initial.W)
    page, lexical = shown.page[kept], shown.lexical[kept]
    spread = _spread(page, lexical)
    return _spread(page, similarities[kept]) / spread if spread > 0 else 0.0


def _spread(page: np.ndarray, values: np.ndarray) -> float:
    """Return the standard deviation of values around the means of their pages."""
    if len(page) == 0:
        return 0.0
    n = np.maximum(np.bincount(page), 1)
    means = np.bincount(page, values) / n
    return float(np.sqrt(np.mean((values - means[page]) ** 2)))


def with_lexical(
    scores: np.ndarray, held_out: HeldOutPages, weights: Sequence[float]
) -> np.ndarray:
    """Return the scores of all forms with all weights, as (n_weights · n_forms, ...)."""
    added = np.multiply.outer(np.asarray(weights), held_out.lexical)
    mixed = scores[None] + added[:, None, None]
    return mixed.reshape(-1, *scores.shape[1:])
