"""The objectives of NCA and MLKR: their terms, and the weights of pairs in their gradients.

A row i, the anchor, chooses each other row j, the reference, as its neighbor with the probability
p_ij = v_j exp(−|z_i − z_j|²) / Σ_l v_l exp(−|z_i − z_l|²), where z = Lx and v are weights. For
every objective f here, df = Σ W_ij (−d|z_i − z_j|²) with rows of W that sum to zero.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

_MAX_GAP = 60.0  # of log-odds in a row: exp(−60) and its inverse are far from the limits of floats
_TINY = 1e-30  # less than exp(−60)


class Weighed(NamedTuple):
    """The terms of anchors, and W as factors of the rows of an array.

    Attributes
    ----------
    terms : (n_anchors,) array
        Their sum is the objective.
    factors : (n_anchors,) array
        W_ij is the factor of anchor i times the entry that replaced its log-odds.
    """

    terms: np.ndarray
    factors: np.ndarray


class Objective(Protocol):
    """A sum over anchors. It knows the targets of the references."""

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> Weighed:
        """Replace the log-odds of p_ij by W_ij, up to a factor of each anchor.

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

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> Weighed:
        """Replace the log-odds by W_ij = v_i p_ij (m_ij / p_i − 1), where m_ij marks the class."""
        ranges = list(self._ranges.of(anchors))
        top, own_top, sums = (np.empty(len(anchors), logits.dtype) for _ in range(3))
        logits.max(axis=1, out=top)
        for rows, columns in ranges:
            logits[rows, columns].max(axis=1, out=own_top[rows])
        gaps = top - own_top
        far = [
            (i, columns, logits[i, columns] - own_top[i])
            for rows, columns in (ranges if gaps.max() > _MAX_GAP else ())
            for i in range(rows.start, rows.stop)
            if gaps[i] > _MAX_GAP
        ]
        totals = _exponentials(logits, top)
        for rows, columns in ranges:
            logits[rows, columns].sum(axis=1, out=sums[rows])
        p = np.maximum(sums, _TINY) / totals
        log_p, own_factors = np.log(p), 1 - 1 / p
        for rows, columns in ranges:
            logits[rows, columns] *= own_factors[rows, None]
        for i, columns, own in far:  # finite relative to the maximum of the own class
            np.exp(own, out=own)
            log_p[i] = -gaps[i] + np.log(own.sum() / totals[i])
            logits[i, columns] = own * (-totals[i] / own.sum())
        return Weighed(weights * log_p, -weights / totals)


class ClassAccuracy:
    """Σ v_i p_i: the expected number of anchors with a neighbor of the same class.

    Parameters
    ----------
    labels : int array of shape (n_references,)
        Ascending.
    """

    def __init__(self, labels: np.ndarray) -> None:
        self._ranges = ClassRanges(labels)

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> Weighed:
        """Replace the log-odds by W_ij = v_i p_ij (m_ij − p_i), where m_ij marks the class."""
        totals = _exponentials(logits, logits.max(axis=1))
        p = np.empty_like(totals)
        for rows, columns in self._ranges.of(anchors):
            own = logits[rows, columns]
            p[rows] = own.sum(axis=1) / totals[rows]
            own *= (1 - 1 / np.maximum(p[rows], _TINY))[:, None]
        return Weighed(weights * p, -weights * p / totals)


class KernelRegression:
    """Σ v_i ‖ŷ_i − y_i‖² with ŷ_i = Σ_j p_ij y_j.

    Parameters
    ----------
    targets : (n_references, n_targets) array
    """

    def __init__(self, targets: np.ndarray) -> None:
        self._targets = np.hstack([targets, np.ones((len(targets), 1), targets.dtype)])

    def weigh(self, logits: np.ndarray, anchors: np.ndarray, weights: np.ndarray) -> Weighed:
        """Replace the log-odds by W_ij = 2 v_i p_ij (ŷ_i − y_i)·(y_j − ŷ_i)."""
        targets = self._targets.astype(logits.dtype, copy=False)
        logits -= logits.max(axis=1)[:, None]
        np.exp(logits, out=logits)
        sums = logits @ targets
        totals = sums[:, -1]
        predicted = sums[:, :-1] / totals[:, None]
        errors = predicted - targets[anchors, :-1]
        along = np.einsum("ij,ij->i", errors, predicted)
        logits *= np.hstack([errors, -along[:, None]]) @ targets.T
        return Weighed(weights * np.einsum("ij,ij->i", errors, errors), 2 * weights / totals)


class ClassRanges:
    """The columns of each class among references in order of their classes."""

    def __init__(self, labels: np.ndarray) -> None:
        self._starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
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


def _exponentials(logits: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Replace the log-odds by exponentials relative to the maxima, and return their sums."""
    logits -= top[:, None]
    np.exp(logits, out=logits)
    return np.asarray(logits @ np.ones(logits.shape[1], logits.dtype))
