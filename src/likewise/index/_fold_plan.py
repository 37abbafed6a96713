"""How an engine serves a similarity: maps of queries and items, and scores from its values."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from likewise import kernels
from likewise._validation import check_choice
from likewise.exceptions import NotFoldableError
from likewise.similarities import (
    Bilinear,
    Foldable,
    Mahalanobis,
    Metric,
    Similarity,
    inverse_lengths,
    map_rows,
    steady_map,
    to_unit_length,
)

Fold = Literal["auto", "query", "both", "rerank"]
FOLDS: tuple[str, ...] = get_args(Fold)
Stored = Literal["given", "unit", "folded"]


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """How an engine that computes `metric` serves `similarity`.

    Attributes
    ----------
    similarity : Similarity
        The similarity whose scores are returned.
    folded : Foldable or None
        The similarity that the engine computes: the same one or, where candidates are scored again,
        a related one that folds. With None nothing is folded and every item is scored.
    metric : {"inner_product", "cosine", "euclidean"}
    stored : {"given", "unit", "folded"}
        The vectors that the engine stores: the items as given, scaled to unit length, or mapped by
        the learned matrix. Only the last depend on the similarity.
    factors : pair of arrays or None
        A and B with W = ABᵀ, where they fold queries and items.
    reranks : bool
        Whether the engine only finds candidates, which are scored again.
    """

    similarity: Similarity
    folded: Foldable | None
    metric: Metric
    stored: Stored
    factors: tuple[np.ndarray, np.ndarray] | None = None
    reranks: bool = False

    def fold_queries(self, Q: Any) -> Any:
        """Return the vectors to search the engine with, from checked queries."""
        assert self.folded is not None
        if self.factors is not None:
            return _times(Q, self.factors[0])
        return self.folded._fold_queries(Q, self.metric)

    def fold_items(self, P: Any) -> Any:
        """Return the vectors to store in the engine."""
        if self.folded is None:
            return P
        if self.factors is None:
            return self.folded.fold_items(P, self.metric)
        if isinstance(self.folded, Bilinear) and self.folded.norm == "cosine":
            P = Bilinear(1.0, "cosine").fold_items(P, "inner_product")
        return _times(P, self.factors[1])

    def stored_vectors(self, P: Any) -> Any:
        """Return `fold_items(P)`, in double precision where items are mapped.

        The engine's error bounds do not include the rounding of a map. None if nothing is folded.
        """
        if self.folded is None:
            return None
        return self.fold_items(P.astype(np.float64) if self.stored == "folded" else P)

    @property
    def restricts_items(self) -> bool:
        """Whether some items cannot be served: see `Bilinear.fold_items`."""
        return isinstance(self.folded, Bilinear) and self.metric != self.folded.folded_metric

    def unfold(self, values: Any, Q: Any) -> np.ndarray:
        """Convert the engine's values for checked queries to the scale of the similarity."""
        assert self.folded is not None
        return self.folded._unfold_scores(values, Q, self.metric)

    def stores_same_vectors(self, other: "FoldPlan") -> bool:
        """Return whether an engine filled for this plan can serve the other without a change."""
        return (
            self.stored == other.stored != "folded"
            and self.metric == other.metric
            and (self.folded is None) == (other.folded is None)
        )

    def score_pairs(
        self, Q: np.ndarray, rows: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Return the scores of pairs of queries and items, in double precision.

        Equal items have exactly equal scores.

        Parameters
        ----------
        Q, rows : arrays of queries and of items
        left, right : arrays of int
            Row numbers of the query and of the item of each pair.
        """
        similarity = self.similarity
        is_distance = isinstance(similarity, Mahalanobis)
        if isinstance(similarity, Mahalanobis):
            # One map for both sides: a small one takes as long as one of some hundred rows.
            mapped = steady_map(np.concatenate([Q, rows]), similarity.L.T)
            queries, items = mapped[: len(Q)], mapped[len(Q) :]
        elif isinstance(similarity, Bilinear) and similarity.norm in ("none", "cosine"):
            queries, items = _times(Q.astype(np.float64), similarity.W), rows
            if similarity.norm == "cosine":
                queries = queries * inverse_lengths(Q.astype(np.float64))
                items = to_unit_length(rows.astype(np.float64))
        else:
            return similarity.score_pairs(Q[left], rows[right])
        scores = np.empty(len(left))
        sides = (np.ascontiguousarray(side, dtype=np.float64) for side in (queries, items))
        pairs = (numbers.astype(np.int32) for numbers in (left, right))
        kernels.pair_scores(*sides, *pairs, is_distance, scores)
        return scores


def fold_plan(
    similarity: Similarity, fold: str, metric: str | None, metrics: tuple[Metric, ...], engine: str
) -> FoldPlan:
    """Return how an engine that computes `metrics` serves `similarity`.

    A combination that would give a wrong order is refused with an alternative.
    """
    check_choice(fold, "fold", FOLDS)
    if metric is not None and check_choice(metric, "metric", get_args(Metric)) not in metrics:
        raise ValueError(
            f"metric must be one that the engine {engine!r} computes ({', '.join(metrics)}), but "
            f"{metric!r} was given."
        )
    if similarity.takes != "rows":
        return _scored(similarity, engine, f"it takes {similarity.takes}, not rows of numbers")
    if fold == "rerank":
        return _reranked(similarity, _candidate_similarity(similarity), metric, metrics)
    if not isinstance(similarity, Foldable) or _has_no_metric(similarity):
        if engine == "exact":
            return _scored(similarity, engine, "")
        if fold != "auto":
            raise NotFoldableError(
                f"fold is {fold!r}, but {similarity!r} does not fold: use fold='rerank', which "
                "scores an engine's candidates again, or engine='exact'."
            )
        return _reranked(similarity, _candidate_similarity(similarity), metric, metrics)
    if isinstance(similarity, Mahalanobis):
        return _mahalanobis(similarity, fold, metric, metrics)
    return _bilinear(similarity, fold, metric, metrics)


def _scored(similarity: Similarity, engine: str, why: str) -> FoldPlan:
    if engine != "exact":
        raise NotFoldableError(
            f"{similarity!r} cannot be served by the engine {engine!r}: {why}; use engine='exact'."
        )
    return FoldPlan(similarity, None, "inner_product", "given")


def _reranked(
    similarity: Similarity, near: Foldable, metric: str | None, metrics: tuple[Metric, ...]
) -> FoldPlan:
    candidates = fold_plan(near, "auto", metric, metrics, "candidates")
    return replace(candidates, similarity=similarity, reranks=True)


def _candidate_similarity(similarity: Similarity) -> Foldable:
    """Return a related similarity that folds, to find candidates by."""
    if isinstance(similarity, Mahalanobis):
        return Mahalanobis(1.0)
    if isinstance(similarity, Bilinear):
        if similarity.norm in ("dice", "jaccard"):
            return Bilinear(similarity.W, "cosine")
        if similarity.W.ndim == 2 and similarity.W.shape[0] != similarity.W.shape[1]:
            raise NotFoldableError(
                f"fold is 'rerank', but queries of {similarity.W.shape[0]} and items of "
                f"{similarity.W.shape[1]} columns cannot be compared without the learned matrix: "
                "use fold='query'."
            )
        return Bilinear(1.0, similarity.norm)
    return Mahalanobis(1.0)


def _has_no_metric(similarity: Foldable) -> bool:
    return isinstance(similarity, Bilinear) and similarity.norm in ("dice", "jaccard")


def _mahalanobis(
    similarity: Mahalanobis, fold: str, metric: str | None, metrics: tuple[Metric, ...]
) -> FoldPlan:
    if fold == "query":
        raise NotFoldableError(
            "fold is 'query', but a Mahalanobis distance cannot be folded into the query alone: "
            "the length of each mapped item counts too. Use fold='both', which maps the items as "
            "well, or metric='inner_product', which adds one coordinate."
        )
    chosen = metric or "euclidean"
    if chosen == "cosine":
        similarity.fold_queries(np.zeros((1, similarity.n_features or 1)), "cosine")  # refuses
    return FoldPlan(similarity, similarity, chosen, "folded")  # type: ignore[arg-type]


def _bilinear(
    similarity: Foldable, fold: str, metric: str | None, metrics: tuple[Metric, ...]
) -> FoldPlan:
    if fold == "both":
        if metric not in (None, "inner_product"):
            raise NotFoldableError(
                f"metric is {metric!r}, but fold='both' of a bilinear similarity is exact only "
                "with 'inner_product'."
            )
        factors = balanced_factors(similarity.W) if isinstance(similarity, Bilinear) else None
        return FoldPlan(similarity, similarity, "inner_product", "folded", factors)
    own = similarity.folded_metric
    chosen = metric or (own if own in metrics else "inner_product")
    # A metric that depends on lengths, for a similarity that does not, needs unit length.
    stored: Stored = "given" if chosen == own or own == "inner_product" else "unit"
    return FoldPlan(similarity, similarity, chosen, stored)  # type: ignore[arg-type]


def balanced_factors(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B with W = ABᵀ and equal singular values.

    Each factor has the square roots of the singular values of W, so folded queries lie closer to
    the distribution of the folded items than queries folded by all of W lie to the plain items.
    """
    W = W.astype(np.float64)
    if W.ndim < 2:
        root = np.sqrt(np.abs(W))
        return np.sign(W) * root, root
    U, singular_values, V = np.linalg.svd(W, full_matrices=False)
    root = np.sqrt(singular_values)
    return U * root, V.T * root


def _times(rows: Any, linear: np.ndarray) -> Any:
    return map_rows(rows, linear.astype(rows.dtype, copy=False))
