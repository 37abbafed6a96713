"""Cross-validation of ridge candidates: every split holds out both queries and items.

A candidate is a penalty α, with offsets of step γ. Values of the start and of all candidates come
as `judge` of `likewise.learners.validation` takes them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from likewise._progress import LongWork
from likewise._validation import Rows
from likewise.learners.ridge._closed_form import (
    ItemScores,
    RidgePath,
    label_path,
    offset_directions,
    relevance_path,
)
from likewise.learners.validation._held_out import (
    HeldOutRelevance,
    HeldOutTriplets,
    all_new,
    average_precisions,
    can_validate_labels,
    held_out_queries,
    held_out_rows,
)
from likewise.similarities import map_rows, products
from likewise.supervision import N_SPLITS, HoldOut, relevant_items, weights_at

_MIN_QUERIES, _MAX_SCORES = 500, 200_000_000  # validation queries; their scores with all items

Values: TypeAlias = tuple[np.ndarray, np.ndarray]  # of the start and of the candidates


@dataclass(frozen=True)
class Grid:
    """Candidate penalties and steps of the offsets, and whether these have local centers."""

    alphas: tuple[float, ...]
    gammas: tuple[float, ...]
    local: bool = False


class Judgments(Protocol):
    """Supervision that ridge regression learns from."""

    measure: str
    grades: Any  # CSR of shape (n_queries, n_items): weighted relevance for training

    def held_out(
        self, splits: HoldOut, split: int, training: Any, same: bool, rng: np.random.Generator
    ) -> Any:
        """Return the evaluation of a split; None if it has no query."""

    def values(self, held_out: Any, mapped: Any, scores: ItemScores, gammas: Any) -> np.ndarray:
        """Return the values of the mapped queries, for each step of the offsets."""


class RelevanceJudgments:
    """Graded relevance; `weights` has a weight for each grade, or is None. See `Judgments`."""

    measure = HeldOutRelevance.measure

    def __init__(self, relevance: Any, weights: Any = None) -> None:
        self._relevance = relevance
        self.grades = relevance.copy()
        if weights is not None:
            self.grades.data = self.grades.data * weights_at(weights, relevance)

    def held_out(
        self, splits: HoldOut, split: int, training: Any, same: bool, rng: np.random.Generator
    ) -> HeldOutRelevance | None:
        relevance = self._relevance
        rows = np.repeat(np.arange(relevance.shape[0]), np.diff(relevance.indptr))
        has_relevant = np.zeros(relevance.shape[0], dtype=bool)
        has_relevant[rows[(relevance.data > 0) & ~(same & (relevance.indices == rows))]] = True
        max_queries = max(_MIN_QUERIES, _MAX_SCORES // relevance.shape[1]) // N_SPLITS
        queries = held_out_queries(
            np.flatnonzero(has_relevant), splits.queries, split, max_queries, rng
        )
        if len(queries) == 0:
            return None
        return HeldOutRelevance(relevance, queries, relevant_items(training), same=same)

    @staticmethod
    def values(
        held_out: HeldOutRelevance, mapped: Any, scores: ItemScores, gammas: Any
    ) -> np.ndarray:
        values = [
            [held_out.values_of(s, block) for s in scores.all(mapped[block], gammas)]
            for block in held_out.blocks()
        ]
        return np.concatenate(values, axis=-1)


class TripletJudgments:
    """Triplets, and the relevance of their closer items with the mean weight of their triplets."""

    measure = HeldOutTriplets.measure

    def __init__(self, triplets: np.ndarray, weights: np.ndarray, shape: tuple[int, int]) -> None:
        from scipy.sparse import csr_array

        pairs, pair_of = np.unique(triplets[:, :2], axis=0, return_inverse=True)
        mean_weights = np.bincount(pair_of.ravel(), weights) / np.bincount(pair_of.ravel())
        self.grades = csr_array((mean_weights, tuple(pairs.T)), shape=shape)
        self._triplets = triplets

    def held_out(
        self, splits: HoldOut, split: int, training: Any, same: bool, rng: np.random.Generator
    ) -> HeldOutTriplets | None:
        triplets = self._triplets[splits.queries[self._triplets[:, 0]] == split]
        return HeldOutTriplets(triplets, relevant_items(training)) if len(triplets) else None

    @staticmethod
    def values(
        held_out: HeldOutTriplets, mapped: Any, scores: ItemScores, gammas: Any
    ) -> np.ndarray:
        query, closer, farther = held_out.triplets.T
        pairs = zip(
            scores.pairs(mapped[query], closer, gammas),
            scores.pairs(mapped[query], farther, gammas),
            strict=True,
        )
        return np.array([held_out.values_of(near - far) for near, far in pairs])


def validate_judgments(
    judgments: Judgments,
    Q: Rows,
    P: Rows,
    start: np.ndarray,
    grid: Grid,
    rng: np.random.Generator,
) -> Values:
    """Return the values of the start and of all candidates on the held-out part of each split."""
    same = P is Q
    splits = HoldOut.random(Q.shape[0], P.shape[0], rng, same=same)
    start_values, values = [], []
    for split in _splits():
        training = splits.training(judgments.grades, split)
        held_out = judgments.held_out(splits, split, training, same, rng)
        if held_out is None or not training.data.any():
            continue
        path = relevance_path(training, Q, P, start)
        offsets = None
        if len(grid.gammas) > 1:
            offsets = offset_directions(training, Q, start, P if grid.local else None)
        scores = ItemScores(P, offsets)
        queries = Q[held_out.held]
        at_start, projected = map_rows(queries, start), path.project(queries)
        values.append(
            np.array(
                [
                    judgments.values(
                        held_out, at_start + path.predict(projected, alpha), scores, grid.gammas
                    )
                    for alpha in grid.alphas
                ]
            )
        )
        start_values.append(
            judgments.values(held_out, at_start, scores, (0.0,))[0]
            if start.any()
            else held_out.without_ranking()
        )
    return _concatenated(start_values, values, (len(grid.alphas), len(grid.gammas)))


def validate_labels(
    X: Rows,
    classes: np.ndarray,
    weights: np.ndarray,
    start: np.ndarray,
    alphas: Sequence[float],
    rng: np.random.Generator,
) -> Values:
    """Return average precisions of the held-out rows of each split among themselves."""
    splits = HoldOut.random(len(classes), 0, rng).queries
    start_values, values = [], []
    for split in _splits():
        held_out, rest = held_out_rows(splits, split, rng), np.flatnonzero(splits != split)
        if not can_validate_labels(classes, held_out, rest):
            continue
        path = label_path(X[rest], classes[rest], weights[rest])
        scores: list[Callable[[Any, Any], np.ndarray]] = [
            lambda queries, items: products(map_rows(queries, start), items),
            *(_scores_by_classes(path, alpha) for alpha in alphas),
        ]
        rows, labels = X[held_out], classes[held_out]
        first, *others = (all_new(average_precisions(score, rows, labels)) for score in scores)
        start_values.append(first)
        values.append(np.array(others)[:, None])
    return _concatenated(start_values, values, (len(alphas), 1))


def _scores_by_classes(path: RidgePath, alpha: float) -> Callable[[Any, Any], np.ndarray]:
    """Return the scores of W = BBᵀ, without computing W."""
    B = path.solution(alpha)
    return lambda queries, items: products(queries @ B, items @ B)


def _splits() -> Iterator[int]:
    """Yield the split numbers, with progress; Ctrl-C ends after the current split."""
    with LongWork(
        "validating", total=N_SPLITS, unit="splits", partial_result="the finished splits"
    ) as work:
        for split in range(N_SPLITS):
            yield split
            work.advance()
            if work.interrupted:
                return


def _concatenated(start_values: list[Any], values: list[Any], shape: tuple[int, int]) -> Values:
    if not start_values:
        return np.zeros((3, 0)), np.zeros((*shape, 3, 0))
    return np.concatenate(start_values, axis=-1), np.concatenate(values, axis=-1)
