"""Probabilities without labels: the model of Fellegi and Sunter, by EM over levels of agreement."""

from dataclasses import dataclass

import numpy as np

_CUTS = (0.55, 0.8)  # of similarities; below: differs; "same" is one level more
_LEAD_CUTS = (-0.2, 0.0, 0.2)
_ITERATIONS = 200
_TOLERANCE = 1e-7
_SMOOTHING = 1.0  # pseudo-counts of each level
_START = (0.05, 0.9)  # probabilities of pairs without and with a lead
_COMPARED = {"string": "edits", "number": "edits", "text": "words"}
_LEAD = ("*", "lead by letters")


@dataclass(frozen=True, eq=False)
class Guess:
    """Weights of the levels of agreement of each field, learned without labels.

    Attributes
    ----------
    similar, same : (n_fields,) int64 arrays
        Columns of comparison vectors: a similarity, and whether both values are the same.
    lead : int
        Column of the lead.
    weights : (n_fields + 1, 4) array
        log m/u of each level: differs, similar, very similar, same; the lead's come last.
    share : float
        Share of matches among the candidates.
    """

    similar: np.ndarray
    same: np.ndarray
    lead: int
    weights: np.ndarray
    share: float

    def __post_init__(self) -> None:
        for columns in (self.similar, self.same, np.array([self.lead])):
            if columns.dtype.kind not in "iu" or columns.min(initial=0) < 0:
                raise ValueError("the columns of the guess must be numbers from 0.")
        if self.weights.shape != (len(self.similar) + 1, 4) or len(self.similar) != len(self.same):
            raise ValueError("the arrays of the guess must belong together.")

    def log_odds(self, vectors: np.ndarray) -> np.ndarray:
        """Return the weight of each field and the lead; a missing value has none."""
        if max(*self.similar, *self.same, self.lead) >= vectors.shape[1]:
            raise ValueError("the guess compares columns that the comparison vectors do not have.")
        levels = _levels(vectors, self.similar, self.same, self.lead)
        fields = np.arange(levels.shape[1])
        return np.where(levels < 0, 0.0, self.weights[fields, levels])

    def probabilities(self, vectors: np.ndarray) -> np.ndarray:
        """Return the probabilities of matches."""
        from scipy.special import expit, logit

        return expit(logit(self.share) + self.log_odds(vectors).sum(axis=1))


def fit_guess(vectors: np.ndarray, names: list[tuple[str, str]], kinds: dict[str, str]) -> Guess:
    """Estimate weights and the share of matches by EM, which starts from leads."""
    column = {name: place for place, name in enumerate(names)}
    similar = np.array([column[field, _COMPARED[kind]] for field, kind in kinds.items()])
    same = np.array([column[field, "same"] for field in kinds])
    lead = column[_LEAD]
    levels = _levels(vectors, similar, same, lead)
    p = np.where(vectors[:, lead] > 0, _START[1], _START[0])
    fields = np.arange(levels.shape[1])
    weights, share = np.zeros((len(fields), 4)), 0.5
    for _ in range(_ITERATIONS):
        weights = np.stack([_rising_weights(levels[:, f], p) for f in fields])
        share = float(np.clip(p.mean(), 1e-6, 1 - 1e-6))
        guess = Guess(similar, same, lead, weights, share)
        before, p = p, guess.probabilities(vectors)
        if np.abs(p - before).max(initial=0.0) <= _TOLERANCE:
            break
    return Guess(similar, same, lead, weights, share)


def _levels(vectors: np.ndarray, similar: np.ndarray, same: np.ndarray, lead: int) -> np.ndarray:
    """Return the level of agreement of each field and the lead; −1 where a value is missing."""
    values = vectors[:, similar]
    levels = np.digitize(values, _CUTS)
    levels[vectors[:, same] == 1] = 3
    levels[np.isnan(values)] = -1
    return np.column_stack([levels, np.digitize(vectors[:, lead], _LEAD_CUTS)])


def _rising_weights(levels: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return log m/u of the levels of one field, which do not fall from level to level."""
    from sklearn.isotonic import IsotonicRegression

    known = levels >= 0
    m = np.bincount(levels[known], weights=p[known], minlength=4) + _SMOOTHING
    u = np.bincount(levels[known], weights=1 - p[known], minlength=4) + _SMOOTHING
    weights = np.log(m / m.sum()) - np.log(u / u.sum())
    return IsotonicRegression().fit_transform(np.arange(4), weights, sample_weight=m + u)
