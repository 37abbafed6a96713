"""A Mahalanobis distance, as the similarity −d²."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._validation import Rows, check_rows, check_same_length, is_sparse
from likewise.exceptions import NotFoldableError
from likewise.similarities._base import Foldable, Metric, PreparedItems
from likewise.similarities._explanation import Explanation, Names, strongest
from likewise.similarities._products import ProductItems, ProductScorer, steady_map
from likewise.similarities._rows import (
    column_names,
    common_dtype,
    described,
    frozen_map,
    join_columns,
    map_rows,
    one_row_each,
    paired_products,
    squared_distances,
    to_dense,
)
from likewise.similarities._search import BlockScorer, Scorer


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Mahalanobis(Foldable):
    """s(q, p) = −‖Lq − Lp‖²: the Euclidean distance after a linear map, negated and squared.

    Parameters
    ----------
    L : array of shape (n_components, n_features), (n_features,) or ()
        The map; 1-D for a diagonal, a number for that multiple of the identity, of any width.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Mahalanobis([[2.0, 0.0], [0.0, 1.0]])
    >>> s.score([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    array([[-4., -1.]])
    >>> s.distance([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    array([[2., 1.]])
    >>> s.neighbors([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], k=1).ids
    array([[1]])
    """

    has_distance = True
    is_symmetric = True
    L: np.ndarray

    def __init__(self, L: ArrayLike) -> None:
        object.__setattr__(self, "L", frozen_map(L, "L"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.L,)

    def __repr__(self) -> str:
        return f"Mahalanobis(L={described(self.L)})"

    @property
    def n_features(self) -> int | None:
        """Width of the rows; None for any width."""
        return self.L.shape[-1] if self.L.ndim else None

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return −d² of every query with every item, as an (n_queries, n_items) array."""
        Q, P = self._check(Q, P)
        dtype = common_dtype(Q, P)
        if not (is_sparse(Q) or is_sparse(P)):
            # Distances are invariant to a common shift; rounding is smallest around the mean.
            shift = P.mean(axis=0, dtype=np.float64).astype(dtype)
            Q, P = Q - shift, P - shift
        squares = squared_distances(self._mapped(Q, dtype), self._mapped(P, dtype))
        return np.negative(squares, out=squares)

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return −d² of query i with item i, as an (n_queries,) array."""
        Q, P = self._check(Q, P)
        check_same_length(Q, "Q", P, "P")
        gap = self._mapped(_difference(Q, P), common_dtype(Q, P))
        return -paired_products(gap, gap)

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Break the score into pairs of feature differences: −δᵢ Mᵢⱼ δⱼ with M = LᵀL.

        Both orders of a pair form one term. Parameters as in `Similarity.explain`.
        """
        query_names = column_names(q) if query_names is None else query_names
        q, p = self._check(*one_row_each(q, p))
        names = Names(query_names, "query_names", q.shape[1])
        item_side = names if item_names is None else Names(item_names, "item_names", p.shape[1])
        gap = to_dense(q)[0].astype(np.float64) - to_dense(p)[0]
        differing = np.flatnonzero(gap)
        if self.L.ndim < 2:
            first = second = differing
            values = -((np.broadcast_to(self.L, gap.shape)[differing] * gap[differing]) ** 2)
        else:
            scaled = self.L[:, differing] * gap[differing]
            terms = -(scaled.T @ scaled)
            i, j = np.triu_indices(len(differing))
            values = np.where(i == j, 1, 2) * terms[i, j]
            first, second = differing[i], differing[j]
        score = self.score_pairs(q, p)[0]
        return strongest(score, values, first, second, (names, item_side), top)

    def _dissimilarity(self, scores: Any) -> Any:
        squares = np.asarray(-scores)
        return np.sqrt(squares, out=squares)

    @property
    def folded_metric(self) -> Metric:
        """Euclidean: both sides are mapped."""
        return "euclidean"

    def fold_queries(self, Q: Any, metric: Metric | None = None) -> Rows:
        """Return Lq; for an inner-product index (Lq, 1)."""
        return self._fold_queries(self.check_queries(Q), self._served_by(metric))

    def fold_items(self, P: Any, metric: Metric | None = None) -> Rows:
        """Return Lp; for an inner-product index (Lp, −|Lp|²/2)."""
        P = self.check_items(P)
        mapped = self._mapped(P, P.dtype)
        if self._served_by(metric) == "euclidean":
            return mapped
        return join_columns(mapped, -paired_products(mapped, mapped)[:, None] / 2)

    def unfold_scores(self, values: Any, Q: Any, metric: Metric | None = None) -> np.ndarray:
        """Convert Euclidean distances, or inner products, of folded rows to −d²."""
        metric = self._served_by(metric)
        return self._unfold_scores(np.asarray(values), self.check_queries(Q), metric)

    def _fold_queries(self, Q: Rows, metric: Metric) -> Rows:
        mapped = self._mapped(Q, Q.dtype)
        if metric == "euclidean":
            return mapped
        return join_columns(mapped, np.ones((mapped.shape[0], 1), mapped.dtype))

    def _unfold_scores(self, values: np.ndarray, Q: Rows, metric: Metric) -> np.ndarray:
        if metric == "euclidean":
            return -(values**2)
        mapped = self._mapped(Q, Q.dtype)
        return np.minimum(2 * values - paired_products(mapped, mapped)[:, None], 0)

    def _served_by(self, metric: Metric | None) -> Metric:
        if metric is None or metric in ("euclidean", "inner_product"):
            return metric or self.folded_metric
        raise NotFoldableError(
            f"a Mahalanobis distance cannot be served exactly by metric {metric!r}: "
            "use 'euclidean', or 'inner_product', which adds one coordinate."
        )

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return finite rows of the right width, as an array or CSR."""
        return check_rows(Q, name, n_features=self.n_features)

    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Return finite rows of the right width, as an array or CSR."""
        return self.check_queries(P, name)

    def _check(self, Q: Any, P: Any) -> tuple[Rows, Rows]:
        Q = self.check_queries(Q)
        return Q, check_rows(P, "P", n_features=Q.shape[1])

    def _mapped(self, rows: Rows, dtype: np.dtype) -> Rows:
        linear = self.L.T.astype(dtype, copy=False)
        return map_rows(rows.astype(dtype, copy=False), linear)

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        if isinstance(P, PreparedItems):
            items, rows = P.product, P.rows
            Q = check_rows(Q, "Q", n_features=rows.shape[1])
        else:
            Q, rows = self._check(Q, P)
            items = self._product_items(rows)
        dtype = common_dtype(Q, rows)
        if items is not None and not (self.L.ndim < 2 and is_sparse(Q)):
            return ProductScorer(steady_map(Q, self.L.T), items), dtype
        queries = self._mapped(Q, dtype)
        return BlockScorer(
            Q.shape[0],
            rows.shape[0],
            ready=lambda items: self._mapped(rows[items], dtype),
            score_block=lambda block, items: -squared_distances(queries[block], items),
        ), dtype

    def _product_items(self, P: Rows, *, keep: bool = False) -> ProductItems | None:
        if self.L.ndim < 2 and is_sparse(P):
            return None

        def mapped_rows(items: Any) -> np.ndarray:
            return np.asarray(steady_map(P[items], self.L.T))

        return ProductItems(P.shape[0], mapped_rows, is_distance=True, dtype=P.dtype, keep=keep)


def _difference(Q: Rows, P: Rows) -> Rows:
    if is_sparse(Q) and is_sparse(P):
        return (Q - P).tocsr()
    return np.asarray(to_dense(Q) - to_dense(P))
