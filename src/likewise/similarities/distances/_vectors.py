"""Distances of scipy between rows of numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import Rows, check_choice, check_rows, is_sparse
from likewise.similarities._blocks import Distance, NamePair

# Without "mahalanobis" and "seuclidean", which depend on the other rows in the comparison.
VECTOR_METRICS = (
    "euclidean",
    "cityblock",
    "cosine",
    "hamming",
    "sqeuclidean",
    "chebyshev",
    "canberra",
    "braycurtis",
    "correlation",
    "jensenshannon",
    "jaccard",
    "dice",
    "rogerstanimoto",
    "russellrao",
    "sokalsneath",
    "yule",
)
_SPARSE_METRICS = ("euclidean", "cityblock", "cosine")


@dataclass(frozen=True, eq=False)
class VectorDistance(Distance):
    """A distance of scipy between rows of numbers; some also take CSR rows.

    Parameters
    ----------
    metric : str, default="euclidean"
        A metric of `scipy.spatial.distance.cdist`.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.as_similarity("cityblock").distance([[0.0, 0.0]], [[1.0, 2.0]])
    array([[3.]])
    """

    takes = "rows"
    metric: str = "euclidean"

    def __post_init__(self) -> None:
        check_choice(self.metric, "metric", VECTOR_METRICS)

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Return rows of numbers; CSR if the distance supports it."""
        if is_sparse(Q) and self.metric not in _SPARSE_METRICS:
            raise TypeError(
                f"{name} is sparse, but {self.metric!r} takes dense rows ({name}.toarray()); "
                f"{', '.join(map(repr, _SPARSE_METRICS))} take sparse ones."
            )
        rows = check_rows(Q, name)
        if is_sparse(rows) and rows.indices.dtype != np.int32:
            # scikit-learn's loop over sparse rows takes only these
            parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
            rows = type(rows)(parts, shape=rows.shape)
        return rows

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Compare every pair, with scikit-learn if rows are sparse."""
        if is_sparse(left) or is_sparse(right):
            from sklearn.metrics import pairwise_distances

            return np.asarray(pairwise_distances(left, right, metric=self.metric))
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right, metric=self.metric))
