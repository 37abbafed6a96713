"""A bilinear form between queries and items, plain or normalized as cosine, Dice or Jaccard."""

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from likewise._validation import (
    Rows,
    check_choice,
    check_rows,
    check_same_length,
    is_sparse,
)
from likewise.exceptions import NotFoldableError
from likewise.similarities._base import Foldable, Metric, PreparedItems
from likewise.similarities._explanation import Explanation, Names, strongest
from likewise.similarities._products import (
    ProductItems,
    ProductScorer,
    steady_map,
    steady_products,
)
from likewise.similarities._rows import (
    column_names,
    common_dtype,
    described,
    frozen_map,
    inverse_lengths,
    lengths,
    map_rows,
    one_row_each,
    paired_products,
    products,
    ratio,
    sums,
    to_dense,
    to_unit_length,
)
from likewise.similarities._search import BlockScorer, Scorer

Norm = Literal["none", "cosine", "dice", "jaccard"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Bilinear(Foldable):
    """s(q, p) = qᵀ W p / N(q, p), for queries and items that may differ in kind and width.

    Parameters
    ----------
    W : array of shape (n_query_features, n_item_features), (n_features,) or ()
        The form; 1-D for a diagonal, a number for that multiple of the identity, of any width.
    norm : {"none", "cosine", "dice", "jaccard"}, default="none"
        N is 1; ‖q‖‖p‖; ‖q‖₁ + ‖p‖₁, for non-negative rows; or ‖q‖₁ + ‖p‖₁ − qᵀp, for rows in
        [0, 1]. If N = 0, the score is 0.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Bilinear([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]])
    >>> s
    Bilinear(W=2×3 float64, norm='none')
    >>> s.score([[1.0, 1.0]], [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    array([[1., 4.]])

    Only queries are folded; stored items do not change:

    >>> s.fold_queries([[1.0, 1.0]]), s.folded_metric
    (array([[1., 1., 2.]]), 'inner_product')
    """

    W: np.ndarray
    norm: Norm

    def __init__(self, W: ArrayLike, norm: Norm = "none") -> None:
        object.__setattr__(self, "W", frozen_map(W, "W"))
        object.__setattr__(self, "norm", check_choice(norm, "norm", get_args(Norm)))
        if self.norm == "jaccard" and self.W.ndim == 2 and self.W.shape[0] != self.W.shape[1]:
            raise ValueError(
                f"norm 'jaccard' compares query and item feature by feature and needs a square W, "
                f"but W is {described(self.W)}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.W, self.norm)

    def __repr__(self) -> str:
        return f"Bilinear(W={described(self.W)}, norm={self.norm!r})"

    @property
    def n_query_features(self) -> int | None:
        """Width of the queries; None for any width."""
        return self.W.shape[0] if self.W.ndim else None

    @property
    def n_item_features(self) -> int | None:
        """Width of the items; None for any width."""
        return self.W.shape[-1] if self.W.ndim else None

    @property
    def is_symmetric(self) -> bool:
        """Whether W equals its transpose."""
        return self.W.ndim < 2 or bool(
            self.W.shape[0] == self.W.shape[1] and np.array_equal(self.W, self.W.T)
        )

    def score(self, Q: Any, P: Any) -> np.ndarray:
        Q, P = self._check(Q, P)
        return self._normalized(products(self._fold(Q), P), Q, P, products)

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        Q, P = self._check(Q, P)
        check_same_length(Q, "Q", P, "P")
        return self._normalized(paired_products(self._fold(Q), P), Q, P, paired_products)

    def _normalized(self, values: np.ndarray, Q: Rows, P: Rows, product: Any) -> np.ndarray:
        """Divide qᵀWp of all pairs, or of paired rows, by N; `product` multiplies likewise."""
        if self.norm == "none":
            return values
        size = lengths if self.norm == "cosine" else sums
        left, right = size(Q), size(P)
        if values.ndim == 2:
            left = left[:, None]
        if self.norm == "cosine":
            return ratio(values, left * right)
        total = left + right
        return ratio(values, total - product(Q, P) if self.norm == "jaccard" else total)

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Break the score into feature pairs: qᵢ Wᵢⱼ pⱼ / N, for nonzero values.

        Parameters as in `Similarity.explain`.
        """
        query_names = column_names(q) if query_names is None else query_names
        item_names = column_names(p) if item_names is None else item_names
        q, p = self._check(*one_row_each(q, p))
        names = (
            Names(query_names, "query_names", q.shape[1]),
            Names(item_names, "item_names", p.shape[1]),
        )
        query, item = to_dense(q)[0].astype(np.float64), to_dense(p)[0].astype(np.float64)
        if self.W.ndim == 2:
            rows, columns = np.flatnonzero(query), np.flatnonzero(item)
            first, second = (axis.ravel() for axis in np.meshgrid(rows, columns, indexing="ij"))
            weights = self.W[first, second]
        else:
            first = second = np.flatnonzero(query * item)
            weights = np.broadcast_to(self.W, query.shape)[first]
        values = query[first] * weights * item[second]
        # N is the same for every term; 1/N handles N = 0.
        values *= self._normalized(np.ones(1), q, p, paired_products)
        return strongest(self.score_pairs(q, p)[0], values, first, second, names, top)

    @property
    def folded_metric(self) -> Metric:
        """Inner product without a norm, cosine with the cosine norm."""
        self._check_foldable()
        return "cosine" if self.norm == "cosine" else "inner_product"

    def fold_queries(self, Q: Any, metric: Metric | None = None) -> Rows:
        """Return Wᵀq, which has the width of the items."""
        return self._fold_queries(self.check_queries(Q), self._served_by(metric))

    def fold_items(self, P: Any, metric: Metric | None = None) -> Rows:
        """Return the items, unchanged if that is exact, otherwise scaled to unit length.

        An index metric is exact for any items only if it depends on their lengths as the
        similarity does. Otherwise items need unit length: with ``norm="cosine"`` they are scaled,
        with ``norm="none"`` items of other lengths are refused.
        """
        metric = self._served_by(metric)
        P = self.check_items(P)
        if metric == self.folded_metric:
            return P
        if self.norm == "cosine":
            if metric == "euclidean" and not lengths(P).all():
                raise NotFoldableError(
                    f"metric 'euclidean' cannot serve row {int(lengths(P).argmin())} of P, which "
                    "is zero and has no unit length: use 'cosine' or 'inner_product'."
                )
            return to_unit_length(P)
        deviations = np.abs(lengths(P) - 1)
        worst = int(deviations.argmax())
        if deviations[worst] > 1e-3:
            raise NotFoldableError(
                f"metric {metric!r} is exact for norm='none' only where items have unit length, "
                f"but row {worst} of P is {deviations[worst]:.3g} off: use 'inner_product', or "
                "norm='cosine'."
            )
        return P

    def unfold_scores(self, values: Any, Q: Any, metric: Metric | None = None) -> np.ndarray:
        """Convert values returned by the index to the scale of the similarity."""
        metric = self._served_by(metric)
        return self._unfold_scores(np.asarray(values), self.check_queries(Q), metric)

    def _fold_queries(self, Q: Rows, metric: Metric) -> Rows:
        return self._fold(Q)

    def _unfold_scores(self, values: np.ndarray, Q: Rows, metric: Metric) -> np.ndarray:
        if metric != "inner_product":
            query_lengths = lengths(self._fold(Q))[:, None]
            if metric == "cosine":
                values = values * query_lengths
            else:  # |q' − p|² = |q'|² + 1 − 2 q'·p for items of unit length
                values = (query_lengths**2 + 1 - values**2) / 2
        return ratio(values, lengths(Q)[:, None]) if self.norm == "cosine" else values

    def _served_by(self, metric: Metric | None) -> Metric:
        self._check_foldable()
        if metric is None:
            return self.folded_metric
        return cast(Metric, check_choice(metric, "metric", get_args(Metric)))

    def _check_foldable(self) -> None:
        if self.norm in ("dice", "jaccard"):
            raise NotFoldableError(
                f"norm {self.norm!r} does not fold into an index: use score or neighbors, or an "
                "index for candidates that are scored again."
            )

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return finite rows of the right width and range, as an array or CSR."""
        return self._check_side(Q, name, self.n_query_features)

    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Return finite rows of the right width and range, as an array or CSR."""
        return self._check_side(P, name, self.n_item_features)

    def _check_side(self, rows: Any, name: str, n_features: int | None) -> Rows:
        checked = check_rows(rows, name, n_features=n_features)
        _check_range(checked, name, self.norm)
        return checked

    def _check(self, Q: Any, P: Any) -> tuple[Rows, Rows]:
        Q = self.check_queries(Q)
        P = self._check_side(P, "P", Q.shape[1] if self.W.ndim == 0 else self.n_item_features)
        dtype = common_dtype(Q, P)
        return Q.astype(dtype, copy=False), P.astype(dtype, copy=False)

    def _fold(self, Q: Rows) -> Rows:
        return map_rows(Q, self.W.astype(Q.dtype, copy=False))

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        if isinstance(P, PreparedItems):
            items, rows = P.product, P.rows
            Q = self._check_side(Q, "Q", self.n_query_features or rows.shape[1])
        else:
            Q, rows = self._check(Q, P)
            items = self._product_items(rows)
        folded, dtype = steady_map(Q, self.W), common_dtype(Q, rows)
        if items is not None and not is_sparse(folded):
            if self.norm == "cosine":
                folded = folded * inverse_lengths(Q.astype(np.float64, copy=False))
            return ProductScorer(folded, items), dtype
        rows = rows.astype(dtype, copy=False)
        return BlockScorer(
            Q.shape[0],
            rows.shape[0],
            ready=lambda items: rows[items],
            score_block=lambda block, items: self._normalized(
                steady_products(folded[block], items), Q[block], items, steady_products
            ),
        ), dtype

    def _product_items(self, P: Rows, *, keep: bool = False) -> ProductItems | None:
        if is_sparse(P) or self.norm in ("dice", "jaccard"):
            return None

        def unit_rows(items: Any) -> np.ndarray:
            return np.asarray(to_unit_length(P[items].astype(np.float64, copy=False)))

        rows = unit_rows if self.norm == "cosine" else P.__getitem__
        return ProductItems(len(P), rows, is_distance=False, dtype=P.dtype, keep=keep)


def _check_range(rows: Rows, name: str, norm: Norm) -> None:
    """Raise an error for values for which the norm is not defined."""
    if norm not in ("dice", "jaccard"):
        return
    values = rows.data if is_sparse(rows) else rows
    if values.size == 0:
        return
    minimum, maximum = values.min(), values.max()
    if minimum < 0:
        raise ValueError(
            f"Negative values in data: {name} holds {minimum:.4g}, but norm {norm!r} needs values "
            "that are not negative."
        )
    if norm == "jaccard" and maximum > 1:
        raise ValueError(f"{name} holds {maximum:.4g}, but norm 'jaccard' needs values in [0, 1].")
