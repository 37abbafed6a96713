"""The margin of labeled rows under a matrix of SiLA, and the bounds that follow from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, is_sparse
from likewise.learners.sila._averaging import Form
from likewise.similarities import Bilinear, sums, to_dense

_SCORES_PER_BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class SiLAMargin:
    """Margins of rows under a matrix A of Frobenius norm 1, as in Definitions 1 and 2 of the paper.

    Attributes
    ----------
    margins : ndarray of shape (n_rows,)
        m: Σ s_A(x, y) over the targets of a row minus the largest Σ s_A(x, z) over k rows of other
        classes.
    radius : float
        R: an upper bound on ‖Σ φ(x, y) − Σ φ(x, z)‖, the norm of an update. φ is the matrix f of
        the form, by which s_A(x, y) = ⟨α, φ(x, y)⟩.
    alpha_norm : float
        ‖α‖: 1, and 1/2 for the symmetric form, whose φ has both orders of x and y.
    """

    margins: np.ndarray
    radius: float
    alpha_norm: float = 1.0

    @property
    def margin(self) -> float:
        """γ, the smallest margin; the rows are separated if it is positive."""
        return float(self.margins.min())

    def deviation(self, gamma: float) -> float:
        """Return D_A,γ = √Σ max(0, γ − m)², by how much A fails to separate with margin γ."""
        return float(np.linalg.norm(np.maximum(0, gamma - self.margins)))

    def mistake_bound(self, gamma: float | None = None) -> float:
        """Return ((R‖α‖ + D_A,γ) / γ)², a bound on the mistakes in one epoch from A = 0.

        This is Theorem 2, and for ``gamma=margin`` Theorem 1; the paper states them for ‖α‖ = 1.

        Parameters
        ----------
        gamma : float above 0, optional
            By default the γ with the smallest bound, which is at most the number of rows: the limit
            for a large γ.
        """
        if gamma is not None:
            if not gamma > 0:
                raise ValueError(f"gamma must be above 0, but {gamma} was given.")
            return ((self.radius * self.alpha_norm + self.deviation(gamma)) / gamma) ** 2
        bounds = [self.mistake_bound(float(gamma)) for gamma in self._stationary()]
        return min([float(len(self.margins)), *bounds])

    def _stationary(self) -> np.ndarray:
        """Return the γ at which the bound can have its minimum: few, or none.

        Between two margins D² = aγ² − 2bγ + c, where a, b and c are sums over the margins below γ,
        and (R + D)/γ is stationary where bγ − c = R D. Squared, that is (b² − aR²)γ² −
        2b(c − R²)γ + c(c − R²) = 0. Below all margins the bound is R/γ, which falls.
        """
        m = np.sort(self.margins)
        a, b, c = np.arange(1.0, len(m) + 1), np.cumsum(m), np.cumsum(m**2)
        R2 = (self.radius * self.alpha_norm) ** 2
        square, linear, constant = b**2 - a * R2, -b * (c - R2), c * (c - R2)
        root = np.sqrt(np.maximum(linear**2 - square * constant, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.array([(-linear + sign * root) / square for sign in (1, -1)])
            at_margins = (np.sqrt(R2) + np.sqrt(np.maximum(a * m**2 - 2 * b * m + c, 0))) / m
        upper = np.append(m[1:], np.inf)
        inside = np.isfinite(roots) & (roots >= m) & (roots <= upper)
        # the best margin too: there a root can be lost to rounding, and the first is a kink
        best = np.argmin(np.where(m > 0, at_margins, np.inf))
        found = np.append(roots[inside], m[best])
        return found[found > 0]

    def error_bound(self, gamma: float | None = None) -> float:
        """Return 2 / n times the bound on mistakes, for n rows.

        Theorem 3: let E be the expected number of mistakes in one epoch over n random rows. Trained
        on n − 1 of them, the voted sum errs on a new row with a probability of at most 2E/n. The
        returned value has the bound on mistakes for these rows in place of E.
        """
        return 2 / len(self.margins) * self.mistake_bound(gamma)

    def __repr__(self) -> str:
        return (
            f"SiLAMargin({len(self.margins)} rows, {100 * np.mean(self.margins > 0):.0f} % with a "
            f"positive margin, smallest {self.margin:.3g}, R={self.radius:.3g})"
        )


def margin_of(
    similarity: Bilinear, form: Form, X: Rows, labels: np.ndarray, targets: np.ndarray
) -> SiLAMargin:
    """Return the margins of rows under a similarity, with A scaled to norm 1.

    Parameters
    ----------
    similarity : Bilinear
        W may have one axis, for the diagonal form.
    targets : (n_rows, k) int64, −1 for none
    """
    n, k = targets.shape
    norm = float(np.linalg.norm(similarity.W)) or 1.0
    has_target = targets >= 0
    margins, radii = np.empty(n), np.empty(n)
    for block in slices(n, max(1, _SCORES_PER_BLOCK // n)):
        of_targets, present = targets[block], has_target[block]
        is_other = labels[block, None] != labels
        for values, out, sign in (
            (similarity.score(X[block], X) / norm, margins, -1),
            (_feature_norms(X[block], X, form, similarity.norm), radii, 1),
        ):
            near = np.where(present, np.take_along_axis(values, of_targets, axis=1), 0)
            others = np.sort(np.where(is_other, values, -np.inf), axis=1)[:, ::-1][:, :k]
            far = np.where(np.isfinite(others), others, 0)
            out[block] = near.sum(axis=1) + sign * far.sum(axis=1)
    return SiLAMargin(margins, float(radii.max()), 0.5 if form == "symmetric" else 1.0)


def _feature_norms(Q: Rows, X: Rows, form: Form, norm: Any) -> np.ndarray:
    """Return the Frobenius norm of f(q, x) for each pair."""
    inner = to_dense(Q @ X.T)
    squares = [(rows.multiply(rows) if is_sparse(rows) else rows * rows) for rows in (Q, X)]
    lengths = [np.asarray(square.sum(axis=1)).ravel() for square in squares]
    product = lengths[0][:, None] * lengths[1]
    if form == "diagonal":
        size = np.sqrt(to_dense(squares[0] @ squares[1].T))
    elif form == "symmetric":
        size = np.sqrt(2 * (product + inner**2))
    else:
        size = np.sqrt(product)
    if norm == "none":
        return size
    if norm == "cosine":
        N = np.sqrt(product)
    else:
        N = sums(Q)[:, None] + sums(X) - (inner if norm == "jaccard" else 0)
    return np.divide(size, N, out=np.zeros_like(size), where=N > 0)
