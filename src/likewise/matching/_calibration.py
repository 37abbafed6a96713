"""Calibrated probabilities, the share of matches among candidates, and thresholds."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise._files import fields

_EDGE = 1e-6  # probabilities stay this far from 0 and 1
_LEARNED_EDGE = 0.005  # of a forest of 100 trees
_GUESSED_LIMIT = 6.9  # log odds of a guess that count in older files
_SLOPE_PENALTY = 100.0  # towards the learner's own log odds
_INTERCEPT_PENALTY = 0.01
_MIN_CONTRAST = 0.05  # between the mean probabilities of labeled matches and non-matches
_ITERATIONS = 200
_TOLERANCE = 1e-9
_LARGEST = 30.0  # offset of log odds
_Z = 1.959963984540054  # of a 95 % interval
_NO_SIZES = fields.Sizes(None, {})


def log_odds(p: np.ndarray, edge: float = _EDGE) -> np.ndarray:
    """Return log p/(1 − p), with p kept away from 0 and 1."""
    p = np.clip(p, edge, 1 - edge)
    return np.log(p) - np.log1p(-p)


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return the probability of log odds, kept away from 0 and 1."""
    from scipy.special import expit

    return np.clip(expit(log_odds), _EDGE, 1 - _EDGE)


@dataclass(frozen=True)
class Calibration:
    """Log odds of matches from those of the learner.

    Attributes
    ----------
    learned, guessed, intercept : float
        Weights of the log odds of the learner and of the guess, which is 0 but in older files.
    share : float
        Share of matches among the labeled pairs.
    matches, others : arrays or None
        Calibrated out-of-fold log odds of the labeled matches and non-matches; None where labels
        are too few.
    """

    learned: float
    guessed: float
    intercept: float
    share: float
    matches: np.ndarray | None = None
    others: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("learned", "guessed", "intercept"):
            fields.Number(minimum=None, whole=False).check(getattr(self, name), name, _NO_SIZES)
        fields.Number(whole=False, maximum=1).check(self.share, "share", _NO_SIZES)
        if (self.matches is None) != (self.others is None):
            raise ValueError("a calibration needs the log odds of matches and of others, or none.")
        for odds in (self.matches, self.others):
            if odds is not None and not _is_finite_vector(odds):
                raise ValueError("the log odds of labeled pairs must be finite numbers.")

    def log_odds(self, p: np.ndarray, guessed: np.ndarray) -> np.ndarray:
        """Return calibrated log odds.

        Parameters
        ----------
        p : probabilities by the learner
        guessed : log odds by the guess
        """
        odds = self.learned * log_odds(p, _LEARNED_EDGE) + self.intercept
        if self.guessed:
            odds = odds + self.guessed * np.clip(guessed, -_GUESSED_LIMIT, _GUESSED_LIMIT)
        return odds

    def share_among(self, log_odds_: np.ndarray) -> float:
        """Return the share of matches among pairs with these calibrated log odds.

        The share by EM is corrected by what the same offset makes of labeled matches and
        non-matches, which were not learned from: the mean probability m of a mixture is
        s·m₁ + (1 − s)·m₀, where m₁ and m₀ are their mean probabilities.
        """
        offset = offset_by_em(log_odds_, self.share)
        mean = float(probability(log_odds_ + offset).mean())
        if self.matches is None or self.others is None:
            return mean
        of_matches, of_others = (
            float(probability(odds + offset).mean()) for odds in (self.matches, self.others)
        )
        if of_matches - of_others < _MIN_CONTRAST:
            return mean
        return float(np.clip((mean - of_others) / (of_matches - of_others), _EDGE, 1 - _EDGE))


def _is_finite_vector(values: Any) -> bool:
    """Tell whether values are an array of one finite number or more."""
    is_vector = isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.ndim == 1
    return is_vector and len(values) > 0 and bool(np.isfinite(values).all())


def fit_calibration(p: np.ndarray | None, labels: np.ndarray) -> Calibration:
    """Fit a logistic regression of labels on log odds, with Platt's smoothed targets.

    The penalty pulls it to the learner's own log odds: answers to questions are uncertain pairs,
    and a few of them would make all probabilities too flat. Without probabilities, where labels
    are too few, nothing is calibrated.

    Parameters
    ----------
    p : out-of-fold probabilities of the labeled pairs, or None
    labels : bool array
    """
    n_matches = int(labels.sum())
    share = n_matches / len(labels)
    solution = start = np.array([1.0, 0.0])
    penalty = np.array([_SLOPE_PENALTY, _INTERCEPT_PENALTY])
    if p is None:
        return Calibration(1.0, 0.0, 0.0, share)
    n_others = len(labels) - n_matches
    target = np.where(labels, (n_matches + 1) / (n_matches + 2), 1 / (n_others + 2))
    design = np.stack([log_odds(p, _LEARNED_EDGE), np.ones(len(p))], axis=1)
    for _ in range(_ITERATIONS):  # Newton's method
        q = probability(design @ solution)
        gradient = design.T @ (q - target) + penalty * (solution - start)
        hessian = (design.T * (q * (1 - q))) @ design + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        step *= 2.0 / max(2.0, np.abs(step).max())
        solution = solution - step
        if np.abs(step).max() <= _TOLERANCE:
            break
    learned, intercept = solution.tolist()
    odds = design @ solution
    return Calibration(learned, 0.0, intercept, share, odds[labels], odds[~labels])


def offset_by_em(log_odds_: np.ndarray, share: float) -> float:
    """Return the offset of log odds for candidates whose share of matches differs from the labels'.

    Estimated by EM: matches and non-matches each look as labeled ones do.

    Parameters
    ----------
    log_odds_ : calibrated log odds of the candidates
    share : share of matches among the labels
    """
    start = float(log_odds(np.array(share)))
    found, offset = share, 0.0
    for _ in range(_ITERATIONS):
        before, found = found, float(probability(log_odds_ + offset).mean())
        offset = float(log_odds(np.array(found))) - start
        if abs(found - before) <= _TOLERANCE:
            break
    return offset


def offset_for_share(log_odds_: np.ndarray, share: float) -> float:
    """Return the offset of log odds with which their mean probability is a given share."""
    from scipy.optimize import brentq

    def excess(offset: float) -> float:
        return float(probability(log_odds_ + offset).mean()) - share

    if len(log_odds_) == 0 or not excess(-_LARGEST) < 0 < excess(_LARGEST):
        return 0.0
    return float(brentq(excess, -_LARGEST, _LARGEST))


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
