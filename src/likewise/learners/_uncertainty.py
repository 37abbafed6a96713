"""Uncertainty of comparisons, from the mean and standard deviation of their margins."""

import numpy as np


def probability(margins: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the probability that each margin is positive, if margins are normal."""
    from scipy.special import ndtr

    certain = np.where(margins == 0, 0.0, np.copysign(np.inf, margins))
    return np.asarray(ndtr(np.divide(margins, deviations, out=certain, where=deviations > 0)))


def least_certain(margins: np.ndarray, deviations: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of the `n` margins smallest in standard deviations, in order.

    Margins without deviation, as of a zero row, come last: their answers change nothing.
    """
    certainty = np.full(len(margins), np.inf)
    np.divide(np.abs(margins), deviations, out=certainty, where=deviations > 0)
    return np.argsort(certainty, kind="stable")[:n]
