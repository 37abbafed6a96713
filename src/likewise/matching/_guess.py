"""Probabilities without labels: the model of Fellegi and Sunter, by EM over levels of agreement."""

from dataclasses import dataclass

import numpy as np

from likewise._files import fields
from likewise.matching._records import WHOLE

_CUTS = (0.55, 0.8)  # of similarities; below: differs; "same" is one level more
_LEAD_CUTS = (-0.2, 0.0, 0.2)
_ITERATIONS = 200
_TOLERANCE = 1e-7
_SMOOTHING = 1.0  # pseudo-counts of each level
_START = (0.05, 0.9)  # probabilities of pairs with a negative lead, and of others
_N_PRIOR = 10.0  # pairs that keep their probabilities of the start
_COMPARED = {"string": "edits", "number": "edits", "text": "words"}
_LEAD = (WHOLE, "lead by letters")
_N_LEVELS = 4
_MAX_FIELDS_IN_KEY = 26  # levels of more do not fit into 64 bits
_FIELDS: fields.Declaration = {
    "weights": fields.Array(("float64",), "fields", _N_LEVELS),
    "share": fields.Number(whole=False, maximum=1),
}


@dataclass(frozen=True, eq=False)
class Guess:
    """Weights of the levels of agreement of each field, learned without labels.

    Attributes
    ----------
    weights : (n_fields + 1, 4) array
        log m/u of each level: differs, similar, very similar, same; the lead's come last.
    share : float
        Share of matches among the candidates.
    """

    weights: np.ndarray
    share: float

    def __post_init__(self) -> None:
        fields.check_fields(vars(self), _FIELDS, fields.Sizes(self, {}), "")
        if not (len(self.weights) and 0 < self.share < 1):
            raise ValueError("the guess must have weights, and a share in (0, 1).")

    @property
    def n_fields(self) -> int:
        """Number of fields, without the lead."""
        return len(self.weights) - 1

    def field_weights(self, levels: np.ndarray) -> np.ndarray:
        """Return the weight of each field and the lead; a missing value has none."""
        if levels.shape[1] != len(self.weights):
            raise ValueError(
                f"the guess has weights of {self.n_fields} fields, but "
                f"{levels.shape[1] - 1} are compared."
            )
        return np.where(levels < 0, 0.0, self.weights[np.arange(levels.shape[1]), levels])

    def agreement(self, levels: np.ndarray) -> np.ndarray:
        """Return the sum of the weights of each pair, field by field."""
        total = np.zeros(len(levels))
        for field, weights in enumerate(self.weights):
            total += np.append(weights, 0.0)[levels[:, field]]  # level −1 is the last
        return total

    @property
    def lowest(self) -> float:
        """The lowest agreement that a pair can have."""
        return float(np.minimum(self.weights.min(axis=1), 0.0).sum())

    def log_odds(self, levels: np.ndarray) -> np.ndarray:
        """Return the log odds of matches."""
        return self.agreement(levels) + np.log(self.share / (1 - self.share))

    def probabilities(self, levels: np.ndarray) -> np.ndarray:
        """Return the probabilities of matches."""
        from scipy.special import expit

        return expit(self.log_odds(levels))


class LevelColumns:
    """The features that levels of agreement are read from.

    Parameters
    ----------
    names : list of (field, title), of all features
    kinds : dict of field to kind
    """

    def __init__(self, names: list[tuple[str, str]], kinds: dict[str, str]) -> None:
        column = {name: place for place, name in enumerate(names)}
        self._similar = [column[field, _COMPARED[kind]] for field, kind in kinds.items()]
        self._same = [column[field, "same"] for field in kinds]
        self._lead = column[_LEAD]

    def levels(self, vectors: np.ndarray) -> np.ndarray:
        """Return the level of agreement of each field and the lead; −1 for a missing value."""
        values = vectors[:, self._similar]
        levels = np.digitize(values, _CUTS)
        levels[vectors[:, self._same] == 1] = _N_LEVELS - 1
        levels[np.isnan(values)] = -1
        lead = np.digitize(np.nan_to_num(vectors[:, self._lead]), _LEAD_CUTS)
        return np.column_stack([levels, lead]).astype(np.int8)


def fit_guess(levels: np.ndarray) -> Guess:
    """Estimate weights and the share of matches by EM, which starts from the leads.

    Pairs with the same levels are counted together. Some pairs keep the probabilities of the
    start: of a few candidates, EM alone would soon take all for non-matches.
    """
    patterns, n_pairs = _patterns(levels)
    p = np.where(patterns[:, -1] >= np.searchsorted(_LEAD_CUTS, 0.0, "right"), *_START[::-1])
    start, kept = p, _N_PRIOR / (_N_PRIOR + n_pairs.sum())
    n_columns = patterns.shape[1]
    guess = Guess(np.zeros((n_columns, _N_LEVELS)), 0.5)
    for _ in range(_ITERATIONS):
        matches = (kept * start + (1 - kept) * p) * n_pairs
        columns = (patterns[:, column] for column in range(n_columns))
        weights = np.stack([_rising_weights(column, matches, n_pairs) for column in columns])
        share = float(np.clip(matches.sum() / max(1, n_pairs.sum()), 1e-6, 1 - 1e-6))
        guess = Guess(weights, share)
        before, p = p, guess.probabilities(patterns)
        if np.abs(p - before).max(initial=0.0) <= _TOLERANCE:
            break
    return guess


def _patterns(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows of levels, and how often each occurs."""
    if levels.shape[1] > _MAX_FIELDS_IN_KEY:
        return np.unique(levels, axis=0, return_counts=True)
    keys = np.zeros(len(levels), dtype=np.int64)
    for field in range(levels.shape[1]):
        keys = keys * (_N_LEVELS + 1) + (levels[:, field] + 1)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return levels[first], counts


def _rising_weights(levels: np.ndarray, matches: np.ndarray, n_pairs: np.ndarray) -> np.ndarray:
    """Return log m/u of the levels of one field, which do not fall from level to level."""
    from sklearn.isotonic import isotonic_regression

    known = levels >= 0
    n = np.bincount(levels[known], weights=n_pairs[known], minlength=_N_LEVELS)
    m = np.bincount(levels[known], weights=matches[known], minlength=_N_LEVELS)
    of_matches, of_others = m + _SMOOTHING, n - m + _SMOOTHING
    weights = np.log(of_matches / of_matches.sum()) - np.log(of_others / of_others.sum())
    sizes = of_matches + of_others
    rising: np.ndarray = isotonic_regression(weights, sample_weight=sizes)
    return rising
