"""How an index serves a similarity: what is done to queries, to items, and to what comes back."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from likewise import kernels
from likewise._validation import check_choice, is_sparse
from likewise.exceptions import NotFoldableError
from likewise.similarities import (
    Bilinear,
    Foldable,
    Mahalanobis,
    Metric,
    Similarity,
    inverse_lengths,
    steady_map,
    to_unit_length,
)

Fold = Literal["auto", "query", "both", "rerank"]
Stored = Literal["given", "unit", "folded"]


@dataclass(frozen=True, eq=False)
class Serving:
    """A plan to serve `similarity` by an engine that computes `metric`.

    Attributes
    ----------
    similarity : Similarity
        What scores are of.
    by : Foldable or None
        What the engine computes: the similarity itself, its two halves, or, where candidates are
        scored again, something near it. With None nothing is folded: every item is scored.
    metric : {"inner_product", "cosine", "euclidean"}
    stored : {"given", "unit", "folded"}
        What the engine holds: the items as they are, at unit length, or mapped by what was
        learned; only the last must be rewritten when something else is learned.
    halves : pair of arrays or None
        A and B with W = ABᵀ, where both sides are folded by them.
    reranks : bool
        Whether what the engine finds are candidates, to be scored again.
    """

    similarity: Similarity
    by: Foldable | None
    metric: Metric
    stored: Stored
    halves: tuple[np.ndarray, np.ndarray] | None = None
    reranks: bool = False

    def fold_queries(self, Q: Any) -> Any:
        """Return the queries that the engine is asked."""
        assert self.by is not None
        if self.halves is not None:
            return _times(Q, self.halves[0])
        return self.by.fold_queries(Q, self.metric)

    def fold_items(self, P: Any) -> Any:
        """Return the items that the engine holds."""
        if self.by is None:
            return P
        if self.halves is not None:
            unit = self.by.norm == "cosine" if isinstance(self.by, Bilinear) else False
            return _times(
                Bilinear(1.0, "cosine").fold_items(P, "inner_product") if unit else P,
                self.halves[1],
            )
        return self.by.fold_items(P, self.metric)

    def folded(self, P: Any) -> Any:
        """Return the items that the engine holds, in double precision where they are mapped.

        What a map rounds away, no engine could know of. None where nothing is folded.
        """
        if self.by is None:
            return None
        return self.fold_items(P.astype(np.float64) if self.stored == "folded" else P)

    @property
    def minds_items(self) -> bool:
        """Whether there are items that it cannot serve: see `Bilinear.fold_items`."""
        return isinstance(self.by, Bilinear) and self.metric != self.by.folded_metric

    def unfold(self, values: Any, Q: Any) -> np.ndarray:
        """Put the engine's values on the similarity's own scale."""
        assert self.by is not None
        return self.by.unfold_scores(values, Q, self.metric)

    def same_items(self, other: "Serving") -> bool:
        """Tell whether an engine filled for this plan serves the other as it is."""
        return (
            self.stored == other.stored != "folded"
            and self.metric == other.metric
            and (self.by is None) == (other.by is None)
        )

    def rescored(
        self, Q: np.ndarray, rows: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Return the scores of pairs of queries and items, in double precision.

        Equal items have equal scores to the last bit, so that ties are ties.

        Parameters
        ----------
        Q, rows : arrays of queries and of items
        left, right : arrays of int
            Which query and which item make a pair.
        """
        similarity = self.similarity
        is_distance = isinstance(similarity, Mahalanobis)
        if isinstance(similarity, Mahalanobis):
            queries, items = steady_map(Q, similarity.L.T), steady_map(rows, similarity.L.T)
        elif isinstance(similarity, Bilinear) and similarity.norm in ("none", "cosine"):
            queries, items = _times(Q.astype(np.float64), similarity.W), rows
            if similarity.norm == "cosine":
                queries = queries * inverse_lengths(Q.astype(np.float64))
                items = to_unit_length(rows.astype(np.float64))
        else:
            return similarity.score_pairs(Q[left], rows[right])
        scores = np.empty(len(left))
        sides = (np.ascontiguousarray(side, dtype=np.float64) for side in (queries, items))
        pairs = (which.astype(np.int32) for which in (left, right))
        kernels.pair_scores(*sides, *pairs, is_distance, scores)
        return scores


def plan(
    similarity: Similarity, fold: str, metric: str | None, metrics: tuple[Metric, ...], engine: str
) -> Serving:
    """Decide how `similarity` is served by an engine that computes `metrics`.

    A combination that would give a wrong order is refused with the way out.
    """
    check_choice(fold, "fold", get_args(Fold))
    if metric is not None and check_choice(metric, "metric", get_args(Metric)) not in metrics:
        raise ValueError(
            f"metric {metric!r} is not one that the engine {engine!r} computes; it has "
            f"{', '.join(metrics)}."
        )
    if similarity.takes != "rows":
        return _scored(similarity, engine, f"it takes {similarity.takes}, not rows of numbers")
    if fold == "rerank":
        return _reranked(similarity, _near(similarity), metric, metrics)
    if not isinstance(similarity, Foldable) or _has_no_metric(similarity):
        if engine == "exact":
            return _scored(similarity, engine, "")
        if fold != "auto":
            raise NotFoldableError(
                f"fold is {fold!r}, but {similarity!r} does not fold: use fold='rerank', which "
                "scores an engine's candidates again, or engine='exact'."
            )
        return _reranked(similarity, _near(similarity), metric, metrics)
    if isinstance(similarity, Mahalanobis):
        return _mahalanobis(similarity, fold, metric, metrics)
    return _bilinear(similarity, fold, metric, metrics)


def _scored(similarity: Similarity, engine: str, why: str) -> Serving:
    if engine != "exact":
        raise NotFoldableError(
            f"{similarity!r} cannot be served by the engine {engine!r}: {why}; use engine='exact'."
        )
    return Serving(similarity, None, "inner_product", "given")


def _reranked(
    similarity: Similarity, near: Foldable, metric: str | None, metrics: tuple[Metric, ...]
) -> Serving:
    found = plan(near, "auto", metric, metrics, "candidates")
    return Serving(similarity, found.by, found.metric, found.stored, found.halves, reranks=True)


def _near(similarity: Similarity) -> Foldable:
    """Return what finds candidates for a similarity: something near it that folds."""
    if isinstance(similarity, Mahalanobis):
        return Mahalanobis(1.0)
    if isinstance(similarity, Bilinear):
        if similarity.norm in ("dice", "jaccard"):
            return Bilinear(similarity.W, "cosine")
        if similarity.W.ndim == 2 and similarity.W.shape[0] != similarity.W.shape[1]:
            raise NotFoldableError(
                f"fold is 'rerank', but queries of {similarity.W.shape[0]} and items of "
                f"{similarity.W.shape[1]} columns cannot be compared without what was learned: use "
                "fold='query'."
            )
        return Bilinear(1.0, similarity.norm)
    return Mahalanobis(1.0)


def _has_no_metric(similarity: Foldable) -> bool:
    return isinstance(similarity, Bilinear) and similarity.norm in ("dice", "jaccard")


def _mahalanobis(
    similarity: Mahalanobis, fold: str, metric: str | None, metrics: tuple[Metric, ...]
) -> Serving:
    if fold == "query":
        raise NotFoldableError(
            "fold is 'query', but a Mahalanobis distance cannot be folded into the query alone: "
            "the length of each mapped item counts too. Use fold='both', with which items are "
            "mapped as well, or add metric='inner_product', for one more coordinate."
        )
    chosen = metric or "euclidean"
    if chosen == "cosine":
        similarity.fold_queries(np.zeros((1, similarity.n_features or 1)), "cosine")  # refuses
    return Serving(similarity, similarity, chosen, "folded")  # type: ignore[arg-type]


def _bilinear(
    similarity: Foldable, fold: str, metric: str | None, metrics: tuple[Metric, ...]
) -> Serving:
    if fold == "both":
        if metric not in (None, "inner_product"):
            raise NotFoldableError(
                f"metric is {metric!r}, but two halves of a bilinear form are exact only by "
                "'inner_product'."
            )
        halves = balanced_halves(similarity.W) if isinstance(similarity, Bilinear) else None
        return Serving(similarity, similarity, "inner_product", "folded", halves)
    own = similarity.folded_metric
    chosen = metric or (own if own in metrics else "inner_product")
    # A metric that sees lengths where the similarity does not wants items of unit length.
    stored: Stored = "given" if chosen == own or own == "inner_product" else "unit"
    return Serving(similarity, similarity, chosen, stored)  # type: ignore[arg-type]


def balanced_halves(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B with W = ABᵀ, which share the spread of W between them.

    Each half stretches by the square root, so that folded queries and folded items lie nearer to
    each other than a query folded by all of W does to items as they are.
    """
    W = W.astype(np.float64)
    if W.ndim < 2:
        root = np.sqrt(np.abs(W))
        return np.sign(W) * root, root
    U, spread, V = np.linalg.svd(W, full_matrices=False)
    root = np.sqrt(spread)
    return U * root, V.T * root


def _times(rows: Any, linear: np.ndarray) -> Any:
    linear = linear.astype(rows.dtype, copy=False)
    if linear.ndim == 2:
        return rows @ linear
    return rows.multiply(linear).tocsr() if is_sparse(rows) else rows * linear
