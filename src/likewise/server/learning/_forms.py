"""Queries mapped by forms that are trained without a split, and what they score.

A form W is given by its mapped queries Wᵀq, whose products with items are the scores.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from likewise._threads import single_threaded_blas, slices
from likewise.learners.ridge import ItemScores, offset_directions, relevance_path
from likewise.server.learning._initial import InitialModel
from likewise.server.learning._pages import HeldOutPages, JudgedItems, Pages
from likewise.server.learning._spaces import Spaces
from likewise.server.store import Recipe
from likewise.similarities import paired_products

_BATCH_SIZE = 8_192


class Forms:
    """Trains forms on the pages of other splits, and maps queries by them.

    Parameters
    ----------
    initial : InitialModel
    spaces : Spaces
    """

    def __init__(self, initial: InitialModel, spaces: Spaces) -> None:
        self.initial, self.spaces = initial, spaces

    def unchanged(self, pages: Pages, queries: np.ndarray) -> np.ndarray:
        """Return queries, given by their rows, mapped by the initial form."""
        return np.asarray(pages.Q[queries] @ self.initial.W)

    def ridge(
        self, pages: Pages, queries: np.ndarray, training: Any, alphas: Sequence[float]
    ) -> list[np.ndarray]:
        """Return queries mapped by ridge regression with every penalty.

        Parameters
        ----------
        pages : Pages
        queries : int array
            Rows of the queries.
        training : CSR array
            The training pairs, as returned by `Pages.relevance`.
        alphas : sequence of float
        """
        unchanged = self.unchanged(pages, queries)
        if training.nnz == 0:
            return [unchanged] * len(alphas)
        with single_threaded_blas():
            path = relevance_path(training, pages.Q, pages.P, self.initial.W)
            projected = path.project(pages.Q[queries])
            return [unchanged + path.predict(projected, alpha) for alpha in alphas]

    def plda(
        self, pages: Pages, queries: np.ndarray, training: Any, split: int, ranks: Sequence[int]
    ) -> list[np.ndarray]:
        """Return queries mapped by PLDA in so many principal directions.

        Where no direction separates kinds, they are mapped by the initial form. `training` is
        without `split`.
        """
        unchanged = self.unchanged(pages, queries)
        if training.nnz == 0 or not ranks:
            return [unchanged] * len(ranks)
        maps = self.spaces.maps(pages, training, split, ranks)
        Q = pages.Q[queries]
        with single_threaded_blas():
            return [(Q @ B) @ B.T if B.shape[1] else unchanged for B in maps]

    def of_recipe(
        self, pages: Pages, queries: np.ndarray, training: Any, split: int, recipe: Recipe
    ) -> np.ndarray:
        """Return queries mapped by the form of a recipe."""
        if recipe.learner == "plda":
            return self.plda(pages, queries, training, split, [recipe.rank])[0]
        return self.ridge(pages, queries, training, [recipe.alpha])[0]

    def scores(
        self,
        pages: Pages,
        held_out: HeldOutPages,
        training: Any,
        mapped: Sequence[np.ndarray],
        gammas: Sequence[float],
    ) -> np.ndarray:
        """Return the scores of the items shown, for every form and every step of the offsets.

        Returns
        -------
        array of shape (n_forms, n_gammas, n_shown)
        """
        directions = None
        if any(gamma > 0 for gamma in gammas) and training.nnz:
            directions = offset_directions(training, pages.Q, self.initial.W)
        items = ItemScores(pages.P, directions)
        steps = gammas if directions is not None else [0.0]
        queries, columns = held_out.pairs
        scores = np.empty((len(mapped), len(gammas), len(columns)))
        with single_threaded_blas():
            for row, of_form in enumerate(mapped):
                for batch in slices(len(columns), _BATCH_SIZE):
                    by_step = items.pairs(of_form[queries[batch]], columns[batch], steps)
                    for column, values in enumerate(by_step):
                        scores[row, column if len(steps) > 1 else slice(None), batch] = values
        return held_out.expand(scores)

    def ranks(self, pages: Pages, judged: JudgedItems, mapped: Iterable[np.ndarray]) -> np.ndarray:
        """Return the rank of every judged item for its query, among a sample of all items.

        Parameters
        ----------
        pages : Pages
        judged : JudgedItems
        mapped : iterable of arrays
            `judged.queries` mapped by each form.

        Returns
        -------
        int array of shape (n_forms, n_judged)
        """
        sample = self.spaces.sample(pages)
        found = []
        with single_threaded_blas():
            for of_form in mapped:
                own = paired_products(of_form[judged.query], pages.P[judged.item])
                others = of_form @ sample.T
                found.append(1 + (others[judged.query] > own[:, None]).sum(axis=1))
        return np.array(found)
