"""A model of pairs: the guess, the learner of labeled pairs, and their calibration."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likewise.matching._agreement import Agreement
from likewise.matching._calibration import (
    Calibration,
    fit_calibration,
    offset_for_share,
    probability,
)
from likewise.matching._guess import Guess
from likewise.matching._labels import Labels
from likewise.matching._learner import LabeledVectors, PairLearner, fit_learner, out_of_fold
from likewise.matching._tables import ComparedTables
from likewise.matching._vectors import ComparedPairs

_N_PRIOR = 200  # likely matches, and as many likely non-matches
_PRIOR_WEIGHT = 20.0  # labels that the guess counts for
_PRIOR_SHARE = 0.25  # of matches among them
_MAX_FACTOR = 2.0  # between the shares of matches by labels and by the guess
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class PairModel:
    """Calibrated probabilities of matches.

    Attributes
    ----------
    guess : Guess
        Weights of agreement, learned without labels.
    learner : PairLearner or None
        Of labeled pairs; None without labels.
    calibration : Calibration or None
        None without labels.
    asked : bool
        Whether the labels are answers to questions. These were chosen by what pairs look like, so
        the probabilities hold for all candidates. Other labels were chosen by what they are.
    """

    guess: Guess
    learner: PairLearner | None = None
    calibration: Calibration | None = None
    asked: bool = False

    def __post_init__(self) -> None:
        parts = (
            isinstance(self.guess, Guess),
            isinstance(self.learner, PairLearner | None),
            isinstance(self.calibration, Calibration | None),
            (self.learner is None) == (self.calibration is None),
        )
        if not all(parts) or not isinstance(self.asked, bool):
            raise TypeError("a PairModel needs a guess, and a learner with a calibration or none.")

    @property
    def n_fields(self) -> int:
        """Number of fields that it compares."""
        return self.guess.n_fields

    @property
    def is_guess(self) -> bool:
        """Whether it was made without labels."""
        return self.learner is None

    def scores(self, tables: ComparedTables, compared: ComparedPairs) -> "PairScores":
        """Return the scores of compared pairs of tables."""
        guessed = self.guess.log_odds(compared.levels)
        if self.learner is None:
            return PairScores(guessed, None)
        features = agreement_of(self.guess, tables).features(compared.pairs, compared.levels)
        shared = features.astype(np.float32), self.learner
        if compared.vectors is not None:
            return PairScores(guessed, _learned(compared.vectors, slice(None), *shared))
        parts = list(tables.comparison.map(_learned, compared.pairs, *shared))
        return PairScores(guessed, np.concatenate(parts))

    def log_odds(self, scores: "PairScores") -> np.ndarray:
        """Return calibrated log odds, for the share of matches among the labels."""
        if self.calibration is None or scores.learned is None:
            return scores.guessed
        return self.calibration.log_odds(scores.learned, scores.guessed)

    def offset(self, scores: "PairScores") -> float:
        """Return the offset of log odds for candidates with these scores.

        Answers to questions need none. For other labels, the share of matches is estimated, as
        long as it is within a factor of the share by the guess.
        """
        if self.asked or self.calibration is None or len(scores.guessed) == 0:
            return 0.0
        log_odds = self.log_odds(scores)
        share = self.calibration.share_among(log_odds)
        guessed = float(probability(scores.guessed).mean())
        plausible = float(np.clip(share, guessed / _MAX_FACTOR, guessed * _MAX_FACTOR))
        return offset_for_share(log_odds, plausible)


class PairScores(NamedTuple):
    """Log odds of pairs by the guess, and their probabilities by the learner."""

    guessed: np.ndarray
    learned: np.ndarray | None

    @property
    def uncertainty(self) -> np.ndarray:
        """How near the uncalibrated probabilities are to 1/2; the most uncertain is largest."""
        p = probability(self.guessed) if self.learned is None else self.learned
        return -np.abs(p - 0.5)


def agreement_of(guess: Guess, tables: ComparedTables) -> Agreement:
    """Return the agreement of the candidates of tables."""
    compared, comparison = tables.compared, tables.comparison
    return Agreement(
        guess,
        compared.pairs,
        compared.levels,
        len(comparison.left),
        len(comparison.right),
        one_table=comparison.one_table,
    )


def _learned(
    vectors: np.ndarray, block: slice, features: np.ndarray, learner: PairLearner
) -> np.ndarray:
    """Return the probabilities of a block of pairs by the learner."""
    return learner.probabilities(np.column_stack([vectors, features[block]]))


def learned_model(
    guess: Guess,
    tables: ComparedTables,
    labels: Labels,
    learner: str,
    random_state: int,
) -> PairModel:
    """Learn from labeled pairs and, as a prior, from likely pairs of the guess.

    The calibration is that of out-of-fold probabilities of the labeled pairs.
    """
    agreement = agreement_of(guess, tables)
    compared = tables.comparison.compare(labels.pairs)
    vectors = with_agreement(compared, tables, np.arange(len(labels)), agreement)
    prior = _prior(guess, tables, agreement, random_state)
    y, settings = labels.is_match, (learner, random_state)
    calibration = fit_calibration(out_of_fold(vectors, y, prior, *settings), y)
    fitted = fit_learner(*prior.after(vectors, y), *settings)
    return PairModel(guess, fitted, calibration, labels.were_asked)


def _prior(
    guess: Guess, tables: ComparedTables, agreement: Agreement, random_state: int
) -> LabeledVectors:
    """Return likely matches and non-matches among the candidates, drawn by the guess.

    None where the guess allows for no match, or for matches alone.
    """
    rng = np.random.default_rng(random_state)
    p = guess.probabilities(tables.compared.levels)
    n = min(_N_PRIOR, len(p)) if p.any() and (p < 1).any() else 0
    draws = [rng.choice(len(p), n, p=q / q.sum()) if n else _NO_ROWS for q in (p, 1 - p)]
    vectors = with_agreement(tables.compared, tables, np.concatenate(draws), agreement)
    labels = np.repeat([True, False], n)
    share = np.where(labels, _PRIOR_SHARE, 1 - _PRIOR_SHARE)
    return LabeledVectors(vectors, labels, _PRIOR_WEIGHT * share / max(1, n))


def with_agreement(
    compared: ComparedPairs, tables: ComparedTables, which: np.ndarray, agreement: Agreement
) -> np.ndarray:
    """Return the vectors of some compared pairs, followed by their agreement and its leads."""
    vectors = compared.vectors_of(tables.comparison, which)
    features = agreement.features(compared.pairs[which], compared.levels[which])
    return np.column_stack([vectors, features.astype(np.float32)])
