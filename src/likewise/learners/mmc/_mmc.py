"""MMC: dissimilar pairs far apart, while similar pairs have a given sum of squared distances."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from likewise._files import fields
from likewise._validation import Rows, check_bool, check_number, check_whole_number
from likewise.learners.linear_map import PairwiseLearner, descend, differing, inverse_root


class MMC(PairwiseLearner):
    """Mahalanobis distance with the largest sum of distances between dissimilar pairs.

    Maximizes Σ d(i,j) over dissimilar pairs subject to Σ d(i,j)² = 1 over similar pairs (Xing, Ng,
    Jordan and Russell, 2002). The problem is convex in M, and `optimality_gap_` bounds the distance
    to its global optimum.

    Parameters
    ----------
    n_pairs : int, default=10_000
        Number of pairs that `fit` draws.
    diagonal : bool, default=False
        Learn only a weight for each column.
    max_iter : int, default=200
    tol : float, default=1e-4
        Stop when `optimality_gap_` is at most this.
    random_state : int, RandomState or None
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_features, n_features)
        The map L; M = LᵀL.
    objective_ : float
        Σ d(i,j) over the dissimilar pairs.
    optimality_gap_ : float
        Bound on the share of the objective that the global maximum can be above it.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    The paper alternates steps of gradient ascent with projections. Here rows are mapped so that the
    constraint is tr M = 1, and a map of Frobenius norm 1 is optimized; the maximum is the same. The
    paper's constraint is Σ d² ≤ 1, which holds with equality at the maximum. A direction in which
    no similar pair differs is treated as if they differed by the smallest amount of the others.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> mmc = lw.MMC(random_state=0).fit(data.X, data.y)
    >>> mmc.similarity_
    Mahalanobis(L=4×4 float64)
    >>> mmc.optimality_gap_ < 1e-3
    True
    """

    _file_fields: ClassVar[fields.Declaration] = PairwiseLearner._file_fields | {
        "optimality_gap_": fields.Number(whole=False, finite=False),
    }

    def __init__(
        self,
        n_pairs: int = 10_000,
        *,
        diagonal: bool = False,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_pairs = n_pairs
        self.diagonal = diagonal
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_bool(self.diagonal, "diagonal")
        check_whole_number(self.max_iter, "max_iter")
        check_number(self.tol, "tol", minimum=0)

    def _learn(self, X: Rows, Z: np.ndarray, similar: np.ndarray) -> np.ndarray:
        for kind, of_kind in (("similar", similar), ("dissimilar", ~similar)):
            if not of_kind.any():
                raise ValueError(f"y has no {kind} pair, and MMC needs both kinds.")
        Z, similar = differing(Z, similar)
        if similar.all():
            raise ValueError("dissimilar pairs are of equal rows only; at least one must differ.")
        C = Z[similar].T @ Z[similar]
        whitening = inverse_root(
            np.diag(np.diag(C)) if self.diagonal else C,
            "similar pairs are of equal rows only; at least one must differ.",
        )
        far = Z[~similar] @ whitening.T
        start = np.ones(len(C)) if self.diagonal else np.eye(len(C))
        minimum = descend(
            objective(far),
            start,
            self.max_iter,
            lambda solver: relative_gap(solver.x, far) <= self.tol,
            "MMC",
        )
        L = minimum.L / np.linalg.norm(minimum.L)
        self.objective_ = float(np.exp(-minimum.value))
        self.optimality_gap_ = relative_gap(L, far)
        self.n_iter_ = minimum.n_iter
        return np.asarray((np.diag(L) if self.diagonal else L) @ whitening)


def objective(far: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return −log(Σ ‖Lz‖ / ‖L‖) as a function of L, with its gradient.

    L is a matrix, or a vector for a diagonal one.
    """

    def function(L: np.ndarray) -> tuple[float, np.ndarray]:
        mapped = _mapped(far, L)
        lengths = np.linalg.norm(mapped, axis=1)
        total, square = float(lengths.sum()), float(np.vdot(L, L))
        directions = mapped / np.where(lengths > 0, lengths, 1)[:, None]
        pull = (directions * far).sum(axis=0) if L.ndim == 1 else directions.T @ far
        return 0.5 * np.log(square) - np.log(total), L / square - pull / total

    return function


def relative_gap(L: np.ndarray, far: np.ndarray) -> float:
    """Return a bound on the share of Σ ‖Lz‖ / ‖L‖ that the global maximum can be above it.

    The sum is concave in M = LᵀL/‖L‖², so its maximum over tr M = 1 is at most that of its tangent:
    the largest eigenvalue of its gradient, or the largest entry for a diagonal M.
    """
    lengths = np.linalg.norm(_mapped(far, L), axis=1) / np.linalg.norm(L)
    if not lengths.all():  # the tangent is vertical
        return float(np.inf)
    weighted = far / (2 * lengths)[:, None]
    if L.ndim == 1:
        steepest = float((weighted * far).sum(axis=0).max())
    else:
        steepest = float(np.linalg.eigvalsh(weighted.T @ far)[-1])
    total = float(lengths.sum())
    return max(0.0, steepest / total - 0.5)


def _mapped(rows: np.ndarray, L: np.ndarray) -> np.ndarray:
    return np.asarray(rows * L if L.ndim == 1 else rows @ L.T)
