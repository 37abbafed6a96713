"""LEGO: ITML's divergence, one pair at a time."""

from typing import Any, ClassVar

import numpy as np

from likewise._files import fields
from likewise._validation import Rows, check_number
from likewise.learners.itml._itml import check_bounds
from likewise.learners.linear_map import OnlinePairwiseLearner, distance_percentiles


class LEGO(OnlinePairwiseLearner):
    """Mahalanobis distance that follows similar and dissimilar pairs one at a time.

    For each pair that violates its bound, M becomes argmin D(M, M_t) + η/2 (d_M − ξ)², with D the
    LogDet divergence, d the squared distance and ξ the bound (Jain, Kulis, Dhillon and Grauman,
    2008). The update has a closed form and keeps M positive definite without a projection.

    Parameters
    ----------
    eta : float, default=1.0
        Size of a step, relative to the squared upper bound: η = eta / ξ², so that it does not
        depend on the scale of the rows.
    bounds : (float, float), optional
        Squared distances below which similar pairs, and above which dissimilar pairs, should lie.
        By default the 5th and 95th percentiles between the rows of the first call.
    n_pairs : int, default=10_000
        Number of pairs that `fit` and `partial_fit` draw.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_features, n_features)
        The map L; M = LᵀL.
    matrix_ : ndarray of shape (n_features, n_features)
        M, in double precision.
    bounds_ : ndarray of shape (2,)
    n_pairs_seen_, n_updates_ : int
        Number of pairs, and of those that violated their bound.
    n_features_in_ : int

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> lego = lw.LEGO(random_state=0).fit_pairs([[0, 1], [0, 100]], [1, 0], data.X)
    >>> lego.partial_fit_pairs([[50, 60], [50, 120]], [1, 0], data.X).n_pairs_seen_
    4
    """

    _file_fields: ClassVar[fields.Declaration] = OnlinePairwiseLearner._file_fields | {
        "bounds_": fields.Array(fields.FLOATS, 2, minimum=0),
    }

    def __init__(
        self,
        eta: float = 1.0,
        *,
        bounds: Any = None,
        n_pairs: int = 10_000,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.eta = eta
        self.bounds = bounds
        self.n_pairs = n_pairs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.eta, "eta", minimum=0, exclusive=True)
        if self.bounds is not None:
            check_bounds(self.bounds)

    def _begin(self, X: Rows) -> None:
        bounds = self.bounds
        if bounds is None:
            bounds = distance_percentiles(X, self._seed())
        self.bounds_ = np.array(bounds, dtype=np.float64)
        self.matrix_ = np.eye(X.shape[1])

    def _follow(self, Z: np.ndarray, similar: np.ndarray) -> int:
        eta = self.eta / float(self.bounds_.max()) ** 2
        return follow_pairs(self.matrix_, Z, similar, self.bounds_, eta)


def follow_pairs(
    M: np.ndarray, Z: np.ndarray, similar: np.ndarray, bounds: np.ndarray, eta: float
) -> int:
    """Update M, in place, by each pair in order; return the number of updates.

    The new squared distance d̄ of a pair solves d̄ = d / (1 + η (d̄ − ξ) d), and the update is
    M ← M − η (d̄ − ξ) M z zᵀ M / (1 + η (d̄ − ξ) d).
    """
    n_updates = 0
    for z, is_similar in zip(Z, similar, strict=True):
        bound = bounds[0 if is_similar else 1]
        v = M @ z
        d = float(z @ v)
        if d <= 0 or (d <= bound if is_similar else d >= bound):
            continue
        half = (eta * bound * d - 1) / 2
        new = (half + np.sqrt(half**2 + eta * d**2)) / (eta * d)
        step = eta * (new - bound)
        M -= step / (1 + step * d) * np.outer(v, v)
        n_updates += 1
    return n_updates
