"""The objectives of NCA and MLKR: value and gradient, in blocks of anchors × references.

A row i, the anchor, chooses each other row j, the reference, as its neighbor with the probability
p_ij = v_j exp(−|z_i − z_j|²) / Σ_l v_l exp(−|z_i − z_l|²), where z = Lx and v are weights. For
every objective f here, df = Σ W_ij (−d|z_i − z_j|²) with rows of W that sum to zero, and therefore
∂f/∂Z = 2 (W Z + Wᵀ Z − diag(1ᵀ W) Z).
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from likewise._threads import for_each, single_threaded_blas, slices
from likewise.learners.nca._rows import StandardizedRows

_ELEMENTS_IN_BLOCK = 2**18  # one megabyte in single precision: within the cache of a core
_MIN_ANCHORS_IN_BLOCK = 32
# Anchors are divided into at most this many shares, each with its own sum of the gradient. The
# division does not depend on the number of threads, and so neither does the sum.
_MAX_SHARES, _MIN_ANCHORS_IN_SHARE = 4, 64
# The products that distances consist of lose this much times 1e-7 in single precision.
_MAX_SQUARE_IN_SINGLE = 1e5


class Objective(Protocol):
    """A sum over anchors. It knows the targets of the references."""

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Replace the log-odds of p_ij by W_ij, and return the term of each anchor.

        Parameters
        ----------
        logits : (n_anchors, n_references) array
            log(v_j) − |z_i − z_j|² up to a constant of each row; −∞ for the anchor itself.
        anchors : int array of shape (n_anchors,)
            Ascending positions among the references.
        weights : (n_anchors,) array
        """


class ClassLikelihood:
    """Σ v_i log p_i, with p_i the probability of a neighbor of the same class.

    Parameters
    ----------
    labels : int array of shape (n_references,)
        Ascending. Each anchor's class must have another row.
    """

    def __init__(self, labels: np.ndarray) -> None:
        self._ranges = ClassRanges(labels)

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Replace the log-odds by W_ij = v_i p_ij (m_ij / p_i − 1), where m_ij marks the class."""
        log_own = np.empty(len(anchors), logits.dtype)
        shares = []
        for rows, columns in self._ranges.of(anchors):
            # relative to the own class's maximum: finite, however far the class is
            own = logits[rows, columns]
            top = own.max(axis=1)
            own = np.exp(own - top[:, None])
            sums = own.sum(axis=1)
            log_own[rows] = top + np.log(sums)
            own *= (weights[rows] / sums)[:, None]
            shares.append((rows, columns, own))
        top, totals = _exponentials(logits)
        logits *= (-weights / totals)[:, None]
        for rows, columns, own in shares:
            logits[rows, columns] += own
        return np.asarray(weights * (log_own - top - np.log(totals)))


class ClassAccuracy:
    """Σ v_i p_i: the expected number of anchors with a neighbor of the same class.

    Parameters
    ----------
    labels : int array of shape (n_references,)
        Ascending.
    """

    def __init__(self, labels: np.ndarray) -> None:
        self._ranges = ClassRanges(labels)

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Replace the log-odds by W_ij = v_i p_ij (m_ij − p_i), where m_ij marks the class."""
        logits *= (weights / _exponentials(logits)[1])[:, None]
        terms = np.empty(len(anchors), logits.dtype)
        for rows, columns in self._ranges.of(anchors):
            own = logits[rows, columns].copy()
            terms[rows] = own.sum(axis=1)
            logits[rows] *= -(terms[rows] / weights[rows])[:, None]
            logits[rows, columns] += own
        return terms


class KernelRegression:
    """Σ v_i ‖ŷ_i − y_i‖² with ŷ_i = Σ_j p_ij y_j.

    Parameters
    ----------
    targets : (n_references, n_targets) array
    """

    def __init__(self, targets: np.ndarray) -> None:
        self._targets = targets

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Replace the log-odds by W_ij = 2 v_i p_ij (ŷ_i − y_i)·(y_j − ŷ_i)."""
        targets = self._targets.astype(logits.dtype, copy=False)
        logits /= _exponentials(logits)[1][:, None]
        predicted = logits @ targets
        errors = predicted - targets[anchors]
        slopes = errors @ targets.T
        slopes -= np.einsum("ij,ij->i", errors, predicted)[:, None]
        logits *= slopes
        logits *= (2 * weights)[:, None]
        return np.asarray(weights * np.einsum("ij,ij->i", errors, errors))


class ClassRanges:
    """The columns of each class among references in order of their classes."""

    def __init__(self, labels: np.ndarray) -> None:
        self._starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
        self._stops = np.append(self._starts[1:], len(labels))

    def of(self, anchors: np.ndarray) -> Iterator[tuple[slice, slice]]:
        """Yield the rows and columns of each class among ascending anchors."""
        classes = np.searchsorted(self._starts, anchors, side="right") - 1
        first = np.flatnonzero(np.diff(classes, prepend=-1))
        for start, stop in zip(first, np.append(first[1:], len(anchors)), strict=True):
            label = classes[start]
            yield slice(start, stop), slice(self._starts[label], self._stops[label])


def has_mate(labels: np.ndarray) -> np.ndarray:
    """Return whether another row has the same label, for ascending labels."""
    same = labels[1:] == labels[:-1]
    return np.append(same, False) | np.append(False, same)


def evaluate(
    objective: Objective,
    rows: StandardizedRows,
    weights: np.ndarray,
    anchors: np.ndarray,
    L: np.ndarray,
    *,
    gradient: bool = True,
) -> tuple[float, np.ndarray]:
    """Return the mean of an objective over anchors, and its gradient by the map.

    Parameters
    ----------
    objective : Objective
    rows : StandardizedRows
        The references.
    weights : (n_references,) array
        Positive.
    anchors : int array
        Ascending positions among the references; all of them may choose all others.
    L : (n_components, n_features) array
    gradient : bool, default=True
        Whether the gradient is needed; zeros otherwise.
    """
    with single_threaded_blas():
        Z = rows.mapped(L)
    squares = np.einsum("ij,ij->i", Z, Z)
    if squares.max() > _MAX_SQUARE_IN_SINGLE:
        Z = Z.astype(np.float64)
        squares = np.einsum("ij,ij->i", Z, Z)
    weights = weights.astype(Z.dtype, copy=False)
    offsets = squares - np.log(weights)
    n_shares = int(np.clip(len(anchors) // _MIN_ANCHORS_IN_SHARE, 1, _MAX_SHARES))
    shares = np.array_split(anchors, n_shares)
    values = [0.0] * n_shares
    slopes: list[np.ndarray] = [np.empty(0)] * n_shares

    def work(share: int) -> None:
        values[share], slopes[share] = _sum_blocks(
            objective, Z, offsets, weights, shares[share], gradient
        )

    for_each(work, range(n_shares))
    total = float(weights[anchors].sum(dtype=np.float64))
    if not gradient:
        return sum(values) / total, np.zeros_like(L)
    by_Z = slopes[0]
    for other in slopes[1:]:
        by_Z += other
    with single_threaded_blas():
        return sum(values) / total, rows.pulled_back(by_Z) / total


def _sum_blocks(
    objective: Objective,
    Z: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    anchors: np.ndarray,
    gradient: bool,
) -> tuple[float, np.ndarray]:
    """Return the sum of the objective over anchors, and its gradient by the mapped rows."""
    value = 0.0
    by_Z = np.zeros_like(Z)
    columns = np.zeros(len(Z), Z.dtype)
    size = max(_MIN_ANCHORS_IN_BLOCK, _ELEMENTS_IN_BLOCK // len(Z))
    block = np.empty((min(size, len(anchors)), len(Z)), Z.dtype)
    for part in slices(len(anchors), size):
        of_block = anchors[part]
        logits, Z_block = block[: len(of_block)], Z[of_block]
        np.matmul(2 * Z_block, Z.T, out=logits)
        logits -= offsets
        logits[np.arange(len(of_block)), of_block] = -np.inf
        value += float(objective.weigh(logits, of_block, weights[of_block]).sum(dtype=np.float64))
        if gradient:  # `logits` are now the weights W
            by_Z += logits.T @ Z_block
            by_Z[of_block] += logits @ Z
            columns += logits.sum(axis=0)
    by_Z -= columns[:, None] * Z
    by_Z *= 2
    return value, by_Z


def _exponentials(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace the log-odds by exponentials relative to the maximum; return maxima and sums."""
    top = logits.max(axis=1)
    logits -= top[:, None]
    np.exp(logits, out=logits)
    return top, logits.sum(axis=1)
