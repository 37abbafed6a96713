"""ITML: the Mahalanobis distance nearest to a given one that keeps pairs within bounds."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from likewise._files import fields
from likewise._validation import Rows, check_choice, check_number, check_whole_number
from likewise.learners.linear_map import (
    PairwiseLearner,
    descend,
    differing,
    distance_percentiles,
    inverse_covariance_root,
)

_PAIRS_PER_CLASS_PAIR = 40  # of the paper's 20 c² constraints, as many of each kind
_MAX_PAIRS = 20_000


class ITML(PairwiseLearner):
    """Mahalanobis distance near a given one under which similar pairs are close, others far.

    Minimizes D(M, M₀) + γ Σ D(ξ, ξ₀) subject to d(i,j) ≤ ξ for similar pairs and d(i,j) ≥ ξ for
    dissimilar ones, where d is the squared distance, D the LogDet divergence, and ξ₀ one bound for
    each kind of pair (Davis, Kulis, Jain, Sra and Dhillon, 2007). The problem is convex, and
    `optimality_gap_` bounds the distance to its global optimum.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the bounds against the distance to M₀.
    init : {"identity", "covariance"}, default="identity"
        M₀: the identity, or the inverse of the covariance of the rows.
    bounds : (float, float), optional
        Squared distances under M₀ below which similar pairs, and above which dissimilar pairs,
        should lie. By default the 5th and 95th percentiles between rows.
    n_pairs : int, optional
        Number of pairs that `fit` draws; by default 40 c² for c classes, at most 20,000.
    max_iter : int, default=200
    tol : float, default=1e-4
        Stop when `optimality_gap_` is at most this.
    random_state : int, RandomState or None
        Seed of the pairs, and of the rows for the percentiles.
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_features, n_features)
        The map L; M = LᵀL.
    bounds_ : ndarray of shape (2,)
    objective_ : float
    optimality_gap_ : float
        Bound on the share of the objective by which it exceeds its global minimum.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    The paper projects onto one constraint after another. Here the slack is eliminated first: the
    best ξ of a pair is known for each M, which leaves a smooth convex function of M. The minimum is
    the same. Pairs of equal rows are left out.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("wine")
    >>> itml = lw.ITML(init="covariance", random_state=0).fit(data.X[::2], data.y[::2])
    >>> itml.similarity_
    Mahalanobis(L=13×13 float64)
    >>> itml.optimality_gap_ < 1e-3
    True
    """

    _file_fields: ClassVar[fields.Declaration] = PairwiseLearner._file_fields | {
        "bounds_": fields.Array(fields.FLOATS, 2, minimum=0),
        "optimality_gap_": fields.Number(whole=False, finite=False),
    }

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        init: str = "identity",
        bounds: Any = None,
        n_pairs: int | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.gamma = gamma
        self.init = init
        self.bounds = bounds
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.gamma, "gamma", minimum=0, exclusive=True)
        check_choice(self.init, "init", ("identity", "covariance"))
        check_whole_number(self.max_iter, "max_iter")
        check_number(self.tol, "tol", minimum=0)
        if self.bounds is not None:
            check_bounds(self.bounds)

    def _n_drawn_pairs(self, n_classes: int) -> int:
        if self.n_pairs is not None:
            return self.n_pairs
        return min(_PAIRS_PER_CLASS_PAIR * n_classes**2, _MAX_PAIRS)

    def _learn(self, X: Rows, Z: np.ndarray, similar: np.ndarray) -> np.ndarray:
        Z, similar = differing(Z, similar)
        start = None if self.init == "identity" else inverse_covariance_root(X)
        Z = Z if start is None else Z @ start.T
        bounds = self.bounds
        if bounds is None:
            bounds = distance_percentiles(X, self._seed(), start)
        targets = np.where(similar, *bounds)
        function = objective(Z, similar, targets, self.gamma)
        minimum = descend(
            function,
            np.eye(Z.shape[1]),
            self.max_iter,
            lambda solver: relative_gap(solver.x, solver.value, solver.gradient) <= self.tol,
            "ITML",
        )
        self.bounds_ = np.array(bounds, dtype=np.float64)
        self.objective_ = float(minimum.value)
        self.optimality_gap_ = relative_gap(minimum.L, *function(minimum.L))
        self.n_iter_ = minimum.n_iter
        return minimum.L if start is None else minimum.L @ start


def check_bounds(bounds: Any) -> None:
    """Refuse bounds that are not two positive numbers."""
    if not isinstance(bounds, tuple | list | np.ndarray) or len(bounds) != 2:
        raise ValueError(
            f"bounds must be two squared distances (similar, dissimilar), but {bounds!r} was given."
        )
    for number, bound in enumerate(bounds):
        check_number(bound, f"bounds[{number}]", minimum=0, exclusive=True)


def objective(
    Z: np.ndarray, similar: np.ndarray, targets: np.ndarray, gamma: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return D(LᵀL, I) + γ Σ h(d) as a function of L, with its gradient.

    For a pair at the squared distance d, h(d) is the divergence of the best ξ from ξ₀: that of d
    itself, d/ξ₀ − log(d/ξ₀) − 1, if the pair violates its bound, else 0.

    Parameters
    ----------
    Z : (n_pairs, n_features) array of differences, none of them zero
    similar : (n_pairs,) bool
    targets : (n_pairs,) array
        ξ₀ of each pair.
    """

    def function(L: np.ndarray) -> tuple[float, np.ndarray]:
        sign, log_det = np.linalg.slogdet(L)
        if sign == 0:
            return np.inf, np.zeros_like(L)
        mapped = Z @ L.T
        d = np.einsum("ij,ij->i", mapped, mapped)
        ratio = d / targets
        violated = np.where(similar, ratio > 1, ratio < 1) & (d > 0)
        mapped, d, ratio = mapped[violated], d[violated], ratio[violated]
        slack = float((ratio - np.log(ratio) - 1).sum())
        pull = gamma * (1 / targets[violated] - 1 / d)
        value = float(np.vdot(L, L)) - 2 * float(log_det) - len(L) + gamma * slack
        push = (mapped * pull[:, None]).T @ Z[violated]
        return value, 2 * (L - np.linalg.inv(L).T + push)

    return function


def relative_gap(L: np.ndarray, value: float, gradient: np.ndarray) -> float:
    """Return a bound on the share of the objective by which it exceeds its minimum.

    The objective minus −log det M is convex, so it lies above a self-concordant function with the
    same gradient G at M. With δ = ‖L G Lᵀ‖ < 1 it exceeds its minimum by at most −δ − log(1 − δ).
    """
    delta = float(np.linalg.norm(gradient @ L.T)) / 2  # the gradient by L is 2 L G
    if delta == 0:
        return 0.0
    if delta >= 1 or value <= 0:
        return float(np.inf)
    return float((-delta - np.log1p(-delta)) / value)
