"""MCML: the Mahalanobis distance that comes closest to collapsing each class to a point."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from likewise._progress import show_progress
from likewise._threads import single_threaded_blas, slices
from likewise._validation import (
    FLOATS,
    check_class_targets,
    check_classes,
    check_number,
    check_run_parameters,
    check_whole_number,
    validate_data,
)
from likewise.learners.linear_map import (
    LBFGS,
    MahalanobisTransformer,
    dense_rows,
    descend,
    inverse_covariance_root,
)
from likewise.supervision import weighted_rows

_MAX_ROWS = 10_000
_ELEMENTS_IN_BLOCK = 2**18
_SMALL_STEPS = 2  # in turn, after which the descent ends


class MCML(MahalanobisTransformer, BaseEstimator):
    """Mahalanobis distance under which rows of a class come as close as possible to one point.

    Row i chooses each other row j as its neighbor with the probability p_ij ∝ exp(−d(i,j)), where d
    is the squared distance. Minimizes the sum over rows of the Kullback–Leibler divergence of p_i
    from the ideal distribution, which has equal shares for the other rows of the class and zero for
    the rest (Globerson and Roweis, 2005). The problem is convex in M = LᵀL.

    Parameters
    ----------
    max_iter : int, default=200
    tol : float, default=1e-5
        Stop when two steps in turn lower the objective by less than this share.
    verbose : bool, default=False

    Attributes
    ----------
    similarity_ : Mahalanobis
    components_ : ndarray of shape (n_features, n_features)
        The map L.
    objective_ : float
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    Every step compares all rows with all rows; the limit is 10,000 rows. `NCA` learns from the same
    probabilities at any size, and does not ask that a class collapses. The paper takes steps in M
    and projects them; here L is optimized, which has the same minimum.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> mcml = lw.MCML().fit(data.X, data.y)
    >>> mcml.similarity_
    Mahalanobis(L=4×4 float64)
    """

    def __init__(self, *, max_iter: int = 200, tol: float = 1e-5, verbose: bool = False) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map from labeled rows.

        Parameters
        ----------
        X : array or CSR of shape (n_rows, n_features)
            At most 10,000 rows; CSR of up to 2,000 features is made dense.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Factor of the term of a row, and of its probability as a neighbor of other rows. A row
            of weight zero is left out.
        """
        check_whole_number(self.max_iter, "max_iter")
        check_number(self.tol, "tol", minimum=0)
        check_run_parameters(self)
        X, y = validate_data(self, dense_rows(X, self), y, dtype=FLOATS, ensure_min_samples=2)
        check_class_targets(y, self)
        rows, weights = weighted_rows(sample_weight, y)
        X, y = X[rows], y[rows]
        if len(X) > _MAX_ROWS:
            raise ValueError(
                f"X has {len(X)} rows, but MCML compares all rows with all rows, for which the "
                f"limit is {_MAX_ROWS}: use NCA, or a sample of the rows."
            )
        labels = check_classes(y)[1]
        if np.bincount(labels).max() < 2:
            raise ValueError("y has a single row of each class; one class must have two.")
        weights = np.ones(len(y)) if weights is None else weights
        with show_progress(self.verbose), single_threaded_blas():
            # On whitened rows the descent takes a tenth of the steps. They are at the mean squared
            # distance 2 × n_features from each other, so at 1 after the first map.
            whitening = inverse_covariance_root(X)
            collapse = Collapse(X @ whitening.T, labels, weights)
            start = np.eye(X.shape[1]) / np.sqrt(2 * X.shape[1])
            minimum = descend(collapse, start, self.max_iter, SmallSteps(self.tol), "MCML")
        self._publish_map(minimum.L @ whitening, X.dtype)
        self.objective_ = float(minimum.value)
        self.n_iter_ = minimum.n_iter
        return self


class SmallSteps:
    """Tells that several steps in turn lowered a function by less than a share of its value."""

    def __init__(self, tol: float) -> None:
        self._tol, self._last, self._n_small = tol, np.inf, 0

    def __call__(self, solver: LBFGS) -> bool:
        small = self._last - solver.value <= self._tol * abs(solver.value)
        self._n_small = self._n_small + 1 if small else 0
        self._last = solver.value
        return self._n_small >= _SMALL_STEPS


class Collapse:
    """Σ v_i KL(p₀(·|i) ‖ p(·|i)) as a function of L, with its gradient.

    Rows whose class has no other row have no term.

    Parameters
    ----------
    X : (n_rows, n_features) array
    labels : (n_rows,) int64
    weights : (n_rows,) array
        v, of mean 1.
    """

    def __init__(self, X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        self._X, self._labels = X.astype(np.float64), labels
        counts = np.bincount(labels)
        self._shares = np.bincount(labels, weights)[labels] - weights  # of the others of its class
        self._anchors = np.flatnonzero(counts[labels] > 1)
        self._weights, self._log_weights = weights, np.log(weights)

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        mapped = self._X @ L.T
        squares = np.einsum("ij,ij->i", mapped, mapped)
        value, columns = 0.0, np.zeros(len(mapped))
        products = np.zeros((self._X.shape[1], self._X.shape[1]))
        size = max(1, _ELEMENTS_IN_BLOCK // len(mapped))
        for block in slices(len(self._anchors), size):
            anchors = self._anchors[block]
            term, W = self._block(anchors, mapped, squares)
            value += term
            columns += W.sum(axis=0)
            products += self._X[anchors].T @ (W @ self._X)
        # Σ W_ij (x_i − x_j)(x_i − x_j)ᵀ, where each row of W sums to zero
        G = (self._X * columns[:, None]).T @ self._X - products - products.T
        return value, 2 * L @ G

    def _block(
        self, anchors: np.ndarray, mapped: np.ndarray, squares: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return the sum over anchors, and v_i (p₀(j|i) − p(j|i))."""
        d = squares[anchors, None] + squares - 2 * mapped[anchors] @ mapped.T
        np.maximum(d, 0, out=d)
        each = np.arange(len(anchors))
        ideal = np.where(self._labels[anchors, None] == self._labels, self._weights, 0.0)
        ideal[each, anchors] = 0.0
        ideal /= self._shares[anchors, None]
        logits = self._log_weights - d
        logits[each, anchors] = -np.inf
        top = logits.max(axis=1, keepdims=True)
        p = np.exp(logits - top)
        totals = p.sum(axis=1, keepdims=True)
        p /= totals
        log_total = (top + np.log(totals)).ravel()
        terms = (ideal * d).sum(axis=1) + log_total - np.log(self._shares[anchors])
        weights = self._weights[anchors]
        return float(weights @ terms), weights[:, None] * (ideal - p)
