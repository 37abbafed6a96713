"""Which comparisons are certain, from the mean and the deviation of their margins."""

import numpy as np


def probability(margins: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the probability that each margin is above 0, if it is normal."""
    from scipy.special import ndtr

    known = np.where(margins == 0, 0.0, np.copysign(np.inf, margins))
    return np.asarray(ndtr(np.divide(margins, deviations, out=known, where=deviations > 0)))


def least_certain(margins: np.ndarray, deviations: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the `n` margins that are smallest beside their deviation, in order.

    Where there is no deviation, as of a zero row, an answer would change nothing: these come last.
    """
    certainty = np.full(len(margins), np.inf)
    np.divide(np.abs(margins), deviations, out=certainty, where=deviations > 0)
    return np.argsort(certainty, kind="stable")[:n]
