"""Distances derived from others: in a few levels, or by rank."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._validation import check_whole_number, n_rows, take
from likewise.similarities._base import Similarity
from likewise.similarities._convert import as_similarity
from likewise.similarities._ranked import Ranked, evenly_spaced
from likewise.similarities._search import exact_scores
from likewise.similarities._transformed import Transformed

_SAMPLE_SIZE = 1_000


def quantize(distance: Any, levels: Any) -> "QuantizedDistance":
    """Reduce a distance to a few levels.

    Parameters
    ----------
    distance : str, Similarity, callable or fitted estimator
        As in `DBoost`: a callable is a distance, and a similarity without one counts as −score.
    levels : int or array
        The number of levels, into which the training objects' distances to each other fall equally
        often; or the inner bounds of the levels, ascending.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.quantize("euclidean", [1.0, 2.0]).distance([[0.0]], [[0.5], [1.5], [9.0]])
    array([[0., 1., 2.]])
    """
    base = as_similarity(distance, is_distance=True, argument="distance")
    if np.ndim(levels) == 0:
        return QuantizedDistance(base, check_whole_number(levels, "levels", minimum=2))
    bounds = np.asarray(levels)
    return QuantizedDistance(base, bounds.size + 1, bounds)


def ranked(distance: Any) -> Ranked:
    """Reduce a distance to the order in which it puts objects.

    d(x, p) becomes the share of a sample of training objects that are nearer to x than p is, ties
    counting half. It is invariant under any increasing transform of d, even a different one for
    each x.

    Parameters
    ----------
    distance : as in `quantize`

    Examples
    --------
    >>> import likewise as lw
    >>> near = lw.distances.ranked("euclidean").fitted([[0.0], [1.0], [2.0], [3.0]])
    >>> near.closer([[0.0]], [[1.0], [2.5]])
    array([[0.375, 0.75 ]])
    """
    base = as_similarity(distance, is_distance=True, argument="distance")
    return Ranked(None, base, ties="average")


@dataclass(frozen=True, eq=False, repr=False)
class QuantizedDistance(Transformed):
    """A distance in levels, returned by `quantize`.

    Parameters
    ----------
    similarity : Similarity
    n_levels : int
    bounds : array of shape (n_levels - 1,), optional
        Set by `fitted` if not given.
    """

    has_distance = True
    similarity: Similarity
    n_levels: int
    bounds: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.similarity, Similarity):
            raise TypeError(f"similarity must be a Similarity, but {self.similarity!r} was given.")
        check_whole_number(self.n_levels, "levels", minimum=2)
        if self.bounds is None:
            return
        bounds = np.array(self.bounds, dtype=np.float64)
        if bounds.shape != (self.n_levels - 1,) or not (np.diff(bounds) >= 0).all():
            raise ValueError(
                f"levels must be a whole number or ascending bounds, but {self.bounds} was given."
            )
        bounds.flags.writeable = False
        object.__setattr__(self, "bounds", bounds)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.similarity, self.n_levels, self.bounds)

    def __repr__(self) -> str:
        return f"QuantizedDistance({self.similarity!r}, {self.n_levels} levels)"

    def fitted(self, X: Any) -> "QuantizedDistance":
        """Return this with equally full levels, from up to 1,000 of the training objects."""
        base = self.similarity.fitted(X)
        if self.bounds is not None:
            return replace(self, similarity=base)
        X = base.check_queries(X, "X")
        chosen = evenly_spaced(n_rows(X), _SAMPLE_SIZE)
        rows = take(X, chosen)
        scorer = base._scorer(rows, chosen if base.takes == "matrix" else rows)[0]
        values = base._dissimilarity(exact_scores(scorer))
        others = values[~np.eye(len(chosen), dtype=bool)] if len(chosen) > 1 else values
        bounds = np.quantile(others, np.arange(1, self.n_levels) / self.n_levels)
        return replace(self, similarity=base, bounds=bounds)

    def _transformation(self) -> Callable[[np.ndarray], np.ndarray]:
        bounds = self.bounds
        if bounds is None:
            raise ValueError(
                f"the bounds of the {self.n_levels} levels are unknown: give them to quantize, or "
                "call fitted(X) with training objects."
            )

        def negated_levels(scores: np.ndarray) -> np.ndarray:
            values = self.similarity._dissimilarity(scores)
            return -np.searchsorted(bounds, values, side="right").astype(scores.dtype)

        return negated_levels
