"""Rows of numbers by the distances that scipy knows."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import Rows, check_choice, check_rows, is_sparse
from likewise.similarities.distances._base import Dissimilarity, NamePair

# Not among them: "mahalanobis" and "seuclidean", which change with the rows that are compared.
NAMES = (
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
_FOR_SPARSE = ("euclidean", "cityblock", "cosine")


@dataclass(frozen=True, eq=False)
class VectorDistance(Dissimilarity):
    """A distance of scipy between rows of numbers; some of them take CSR too.

    Parameters
    ----------
    metric : str, default="euclidean"
        A name that `scipy.spatial.distance.cdist` knows.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.distances.as_dissimilarity("cityblock").pairwise([[0.0, 0.0]], [[1.0, 2.0]])
    array([[3.]])
    """

    metric: str = "euclidean"

    def __post_init__(self) -> None:
        check_choice(self.metric, "metric", NAMES)

    @property
    def takes(self) -> Literal["rows"]:
        """Rows of numbers."""
        return "rows"

    def check(self, X: Any, name: str = "X") -> Rows:
        """Return rows of numbers; CSR where the distance allows it."""
        if is_sparse(X) and self.metric not in _FOR_SPARSE:
            raise TypeError(
                f"{name} is sparse, but {self.metric!r} takes dense rows ({name}.toarray()); "
                f"{', '.join(map(repr, _FOR_SPARSE))} take sparse ones."
            )
        rows = check_rows(X, name)
        if is_sparse(rows) and rows.indices.dtype != np.int32:
            # scikit-learn's loop over sparse rows takes no others
            parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
            rows = type(rows)(parts, shape=rows.shape)
        return rows

    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Ask scipy, or scikit-learn where rows are sparse."""
        if is_sparse(left) or is_sparse(right):
            from sklearn.metrics import pairwise_distances

            return np.asarray(pairwise_distances(left, right, metric=self.metric))
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(left, right, metric=self.metric))
