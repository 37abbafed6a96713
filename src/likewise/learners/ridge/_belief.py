"""RidgeBelief: the posterior of a bilinear form learned by ridge regression."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._threads import single_threaded_blas
from likewise._validation import Rows, check_bool, check_number
from likewise.learners._uncertainty import least_certain, probability, triplet_margins
from likewise.similarities import frozen_map, paired_products


@dataclass(frozen=True, eq=False, repr=False)
class RidgeBelief:
    """W, and the variance σ² qᵀAq |p⁺ − p⁻|² of the margin qᵀW(p⁺ − p⁻) of a triplet.

    It is the posterior of ridge regression: every column of W has the covariance σ²A.

    Parameters
    ----------
    W : array of shape (n_query_features, n_item_features)
    A : array of shape (n_query_features, n_query_features)
        (QᵀQ + λI)⁻¹ over the training queries.
    variance : float
        σ², the noise variance of a coordinate of the targets.
    normalize : bool, default=True
        Whether rows are compared at unit length.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.learners import RidgeBelief
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> belief = RidgeBelief.learned(rows[:1], rows[1:2], np.eye(2), alpha=1.0)
    >>> belief.confidence([[0, 1, 2], [2, 1, 0]], rows).round(2)
    array([0.95, 0.95])
    """

    W: np.ndarray
    A: np.ndarray
    variance: float
    normalize: bool = True

    def __post_init__(self) -> None:
        W, A = frozen_map(self.W, "W"), frozen_map(self.A, "A")
        if W.ndim != 2:
            raise ValueError(f"W must be a matrix, but has shape {W.shape}.")
        if A.shape != (W.shape[0], W.shape[0]):
            raise ValueError(f"A must have shape {(W.shape[0],) * 2}, but has shape {A.shape}.")
        variance = check_number(self.variance, "variance", minimum=0)
        check_bool(self.normalize, "normalize")
        for name, value in (("W", W), ("A", A), ("variance", float(variance))):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"RidgeBelief({self.W.shape[0]}×{self.W.shape[1]} {self.W.dtype})"

    @classmethod
    def learned(
        cls,
        queries: np.ndarray,
        targets: np.ndarray,
        start: np.ndarray,
        *,
        alpha: float,
        normalize: bool = True,
    ) -> "RidgeBelief":
        """Return the belief after learning to map queries to targets.

        The variance is the mean square of the residuals and of one more residual of unit length.

        Parameters
        ----------
        queries : array of shape (n_queries, n_query_features), of unit length with `normalize`
        targets : array of shape (n_queries, n_item_features)
        start : array of shape (n_query_features, n_item_features)
        alpha : float
            Weight of the start, in queries.
        normalize : bool, default=True
            As in the class.
        """
        with single_threaded_blas():
            A = _inverse(queries, alpha)
            W = start + A @ (queries.T @ (targets - queries @ start))
            residuals = targets - queries @ W
        variance = (1 + np.sum(residuals**2)) / ((1 + len(queries)) * start.shape[1])
        return cls(W.astype(np.float32), A.astype(np.float32), float(variance), normalize)

    def confidence(self, triplets: Any, queries: Any, items: Any = None) -> np.ndarray:
        """Return the probability that each closer item is closer.

        Parameters
        ----------
        triplets : int array of shape (n_triplets, 3)
            Row numbers (query, closer item, farther item).
        queries : array or CSR of shape (n_queries, n_query_features)
        items : array or CSR of shape (n_items, n_item_features), optional
            The queries themselves by default.
        """
        return probability(*self._margins(triplets, queries, items))

    def most_informative(
        self, candidates: Any, queries: Any, items: Any = None, n: int = 10
    ) -> np.ndarray:
        """Return the comparisons with the least certain answers; see `AROMA.most_informative`."""
        return least_certain(candidates, n, lambda some: self._margins(some, queries, items))

    def _margins(self, triplets: Any, queries: Any, items: Any) -> tuple[np.ndarray, np.ndarray]:
        return triplet_margins(
            triplets, queries, items, self.W, self._variances, normalize=self.normalize
        )

    def _variances(self, q: Rows, p: Rows) -> np.ndarray:
        return self.variance * (paired_products(q @ self.A, q) * paired_products(p, p))


def _inverse(Q: np.ndarray, alpha: float) -> np.ndarray:
    """Return (QᵀQ + αI)⁻¹, computed from QQᵀ if there are fewer queries than features."""
    n, m = Q.shape
    if n >= m:
        return np.linalg.inv(Q.T @ Q + alpha * np.eye(m))
    inner = np.linalg.inv(Q @ Q.T + alpha * np.eye(n))
    return (np.eye(m) - Q.T @ inner @ Q) / alpha
