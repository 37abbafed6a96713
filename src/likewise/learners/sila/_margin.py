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
    """Margins of rows under a matrix A of Frobenius norm 1.

    Attributes
    ----------
    margins : ndarray of shape (n_rows,)
        Σ s_A(x, y) over the targets minus Σ s_A(x, z) over the k most similar rows of other
        classes.
    radius : float
        R, an upper bound of the norm of an update.
    """

    margins: np.ndarray
    radius: float

    @property
    def margin(self) -> float:
        """γ, the smallest margin; the rows are separated if it is positive."""
        return float(self.margins.min())

    def deviation(self, gamma: float) -> float:
        """Return D_A,γ, the norm of what the margins lack to `gamma`."""
        return float(np.linalg.norm(np.maximum(0, gamma - self.margins)))

    def mistake_bound(self, gamma: float | None = None) -> float:
        """Return ((R + D_A,γ) / γ)², a bound of the mistakes in one epoch from A = 0.

        Parameters
        ----------
        gamma : float above 0, optional
            By default the γ with the smallest bound.
        """
        if gamma is not None:
            if not gamma > 0:
                raise ValueError(f"gamma must be above 0, but {gamma} was given.")
            return ((self.radius + self.deviation(gamma)) / gamma) ** 2
        # D is a norm of max(0, γ − margin): between two margins the bound is smooth in γ
        largest = max(float(np.abs(self.margins).max()), self.radius)
        candidates = np.concatenate(
            [self.margins[self.margins > 0], largest * np.geomspace(1e-3, 1e3, 200)]
        )
        return min(self.mistake_bound(float(gamma)) for gamma in candidates)

    def error_bound(self, gamma: float | None = None) -> float:
        """Return 2 / (n + 1) times the bound of mistakes.

        Its expectation over samples of n + 1 rows bounds the probability that the voted perceptron,
        trained for one epoch, errs on a new row.
        """
        return 2 / (len(self.margins) + 1) * self.mistake_bound(gamma)

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
    # ⟨A, f(x, y)⟩ is s_A(x, y), and twice that for the symmetric form, whose f has both orders
    scale = (2.0 if form == "symmetric" else 1.0) / norm
    has_target = targets >= 0
    margins, radii = np.empty(n), np.empty(n)
    for block in slices(n, max(1, _SCORES_PER_BLOCK // n)):
        of_targets, present = targets[block], has_target[block]
        is_other = labels[block, None] != labels
        for values, out, sign in (
            (scale * similarity.score(X[block], X), margins, -1),
            (_feature_norms(X[block], X, form, similarity.norm), radii, 1),
        ):
            near = np.where(present, np.take_along_axis(values, of_targets, axis=1), 0)
            others = np.sort(np.where(is_other, values, -np.inf), axis=1)[:, ::-1][:, :k]
            far = np.where(np.isfinite(others), others, 0)
            out[block] = near.sum(axis=1) + sign * far.sum(axis=1)
    return SiLAMargin(margins, float(radii.max()))


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
