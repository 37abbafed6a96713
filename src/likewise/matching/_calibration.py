"""Calibrated probabilities, the share of matches among candidates, and thresholds."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_EDGE = 1e-6  # probabilities stay this far from 0 and 1
_ITERATIONS = 200
_TOLERANCE = 1e-9
_RIDGE = 1e-6
_LARGEST = 30.0  # offset of log odds
_Z = 1.959963984540054  # of a 95 % interval


def log_odds(p: np.ndarray) -> np.ndarray:
    """Return log p/(1 − p), with p kept away from 0 and 1."""
    p = np.clip(p, _EDGE, 1 - _EDGE)
    return np.log(p) - np.log1p(-p)


def _probability(log_odds: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return np.clip(expit(log_odds), _EDGE, 1 - _EDGE)


@dataclass(frozen=True)
class Calibration:
    """Platt scaling of log odds, and the share of matches for which it holds.

    Attributes
    ----------
    slope, intercept : float
    share : float
        Share of matches among the labeled pairs.
    """

    slope: float
    intercept: float
    share: float

    def __post_init__(self) -> None:
        if not np.isfinite([self.slope, self.intercept, self.share]).all():
            raise ValueError("slope, intercept and share must be finite.")

    def probabilities(self, p: np.ndarray, offset: float = 0.0) -> np.ndarray:
        """Return calibrated probabilities, with an offset added to their log odds."""
        return _probability(self.slope * log_odds(p) + self.intercept + offset)

    def offset_by_em(self, p: np.ndarray) -> float:
        """Return the offset for candidates whose share of matches differs from the labels'.

        Estimated by EM: matches and non-matches each look as labeled ones do.
        """
        share, offset = self.share, 0.0
        for _ in range(_ITERATIONS):
            before, share = share, float(self.probabilities(p, offset).mean())
            offset = float(log_odds(np.array(share)) - log_odds(np.array(self.share)))
            if abs(share - before) <= _TOLERANCE:
                break
        return offset

    def offset_for_share(self, p: np.ndarray, share: float) -> float:
        """Return the offset with which the mean probability of candidates is a given share."""
        from scipy.optimize import brentq

        def excess(offset: float) -> float:
            return float(self.probabilities(p, offset).mean()) - share

        if len(p) == 0 or not excess(-_LARGEST) < 0 < excess(_LARGEST):
            return 0.0
        return float(brentq(excess, -_LARGEST, _LARGEST))


def fit_calibration(p: np.ndarray | None, labels: np.ndarray) -> Calibration:
    """Fit Platt's two numbers to out-of-fold probabilities, with his smoothed targets.

    Without probabilities, where labels are too few, nothing is scaled.
    """
    n_matches = int(labels.sum())
    share = n_matches / len(labels)
    if p is None:
        return Calibration(1.0, 0.0, share)
    n_others = len(labels) - n_matches
    target = np.where(labels, (n_matches + 1) / (n_matches + 2), 1 / (n_others + 2))
    design = np.stack([log_odds(p), np.ones(len(p))], axis=1)
    start = np.array([1.0, 0.0])
    solution = start.copy()
    for _ in range(_ITERATIONS):  # Newton's method
        q = _probability(design @ solution)
        gradient = design.T @ (q - target) + _RIDGE * (solution - start)
        hessian = (design.T * (q * (1 - q))) @ design + _RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 2.0 / np.abs(step).max())
        solution -= step
        if np.abs(step).max() <= _TOLERANCE:
            break
    return Calibration(max(0.0, float(solution[0])), float(solution[1]), share)


class Forecast(NamedTuple):
    """Expected precision, recall and F1 of the decided candidates."""

    precision: float
    recall: float
    f1: float


def forecast(p: np.ndarray, threshold: float) -> Forecast:
    """Return what the probabilities expect of the pairs at or above a threshold."""
    decided = p >= threshold
    found, total = float(p[decided].sum()), float(p.sum())
    n = int(decided.sum())
    return Forecast(
        found / n if n else 1.0,
        found / total if total else 0.0,
        2 * found / (n + total) if n + total else 0.0,
    )


def choose_threshold(p: np.ndarray, precision: float | None) -> float:
    """Return the threshold of the largest expected F1, or the lowest of an expected precision.

    1.0, at which nothing is decided, if no threshold is expected to reach the precision.
    """
    if len(p) == 0:
        return 1.0
    falling = np.sort(p)[::-1]
    last = np.append(falling[1:] < falling[:-1], True)  # equal probabilities are decided alike
    found, n = np.cumsum(falling)[last], np.flatnonzero(last) + 1
    thresholds = falling[last]
    if precision is None:
        return float(thresholds[np.argmax(2 * found / (n + falling.sum()))])
    reached = np.flatnonzero(found / n >= precision)
    return float(thresholds[reached[-1]]) if len(reached) else 1.0


def interval(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    >>> [round(end, 3) for end in interval(8, 10)]
    [0.49, 0.943]
    """
    if n == 0:
        return 0.0, 1.0
    share, z = successes / n, _Z**2 / n
    middle = (share + z / 2) / (1 + z)
    half = _Z * np.sqrt(share * (1 - share) / n + z / (4 * n)) / (1 + z)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
