"""POLA: a pseudo-metric and a threshold, by one projection for each pair."""

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from likewise._files import fields
from likewise._validation import Rows
from likewise.learners.linear_map import OnlinePairwiseLearner


class POLA(OnlinePairwiseLearner):
    """Pseudo-metric and threshold that separate similar from dissimilar pairs, with a margin.

    A pair (x, x′) with y = 1 if it is similar and −1 if not has the loss [y (d_M(x, x′) − b) + 1]₊,
    where d is the squared distance. For each pair with a loss, (M, b) is projected onto the
    half-space in which the loss is zero, and then onto M ⪰ 0, b ≥ 1 (Shalev-Shwartz, Singer and Ng,
    2004).

    Parameters
    ----------
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
    threshold_ : float
        b: pairs at a smaller squared distance are predicted to be similar.
    loss_ : float
        Σ loss² over all pairs, each before its update.
    n_pairs_seen_, n_updates_ : int
        Number of pairs, and of those with a loss.
    n_features_in_ : int

    Notes
    -----
    The steps are those of the paper, from M = 0 and b = 0. If no M separates the pairs, the result
    depends on the last pairs. Scale the rows: the margin of 1 is in their squared units.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> pola = lw.POLA(random_state=0).fit(data.X, data.y)
    >>> pola.similarity_
    Mahalanobis(L=4×4 float64)
    >>> pola.threshold_ >= 1
    True
    """

    _file_fields: ClassVar[fields.Declaration] = OnlinePairwiseLearner._file_fields | {
        "threshold_": fields.Number(whole=False),
        "loss_": fields.Number(whole=False),
    }

    def __init__(
        self, n_pairs: int = 10_000, *, random_state: Any = None, verbose: bool = False
    ) -> None:
        self.n_pairs = n_pairs
        self.random_state = random_state
        self.verbose = verbose

    def _begin(self, X: Rows) -> None:
        self.matrix_ = np.zeros((X.shape[1], X.shape[1]))
        self.threshold_ = 0.0
        self.loss_ = 0.0

    def _follow(self, Z: np.ndarray, similar: np.ndarray) -> int:
        self.threshold_, losses = follow_pairs(self.matrix_, self.threshold_, Z, similar)
        self.loss_ += float(losses @ losses)
        return int(np.count_nonzero(losses))


def follow_pairs(
    M: np.ndarray, b: float, Z: np.ndarray, similar: np.ndarray
) -> tuple[float, np.ndarray]:
    """Update M, in place, and b by each pair in order; return b and the losses."""
    losses = np.zeros(len(Z))
    for number, (z, is_similar) in enumerate(zip(Z, similar, strict=True)):
        y = 1.0 if is_similar else -1.0
        loss = y * (float(z @ M @ z) - b) + 1
        if loss <= 0:
            continue
        step = loss / (float(z @ z) ** 2 + 1)
        M -= y * step * np.outer(z, z)
        b = max(b + y * step, 1.0)
        if is_similar:
            project_semidefinite(M)
        losses[number] = loss
    return b, losses


def project_semidefinite(M: np.ndarray) -> None:
    """Remove the negative eigenvalue of M, in place.

    There is at most one, because M was positive semidefinite before a matrix of rank one was
    subtracted.
    """
    (smallest,), vectors = eigh(M, subset_by_index=[0, 0], check_finite=False)
    if smallest < 0:
        M -= smallest * np.outer(vectors[:, 0], vectors[:, 0])
