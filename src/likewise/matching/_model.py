"""A learned model of pairs: learner or guess, with its calibration."""

from dataclasses import dataclass

import numpy as np

from likewise.matching._calibration import Calibration, fit_calibration
from likewise.matching._guess import Guess, fit_guess
from likewise.matching._labels import Labels
from likewise.matching._learner import PairLearner, fit_learner, out_of_fold


@dataclass(frozen=True, eq=False)
class PairModel:
    """Calibrated probabilities of matches from comparison vectors.

    Attributes
    ----------
    learner : PairLearner or Guess
    calibration : Calibration
    asked : bool
        Whether the labels are answers to questions. These were chosen by what pairs look like, so
        the probabilities hold for all candidates. Other labels were chosen by what they are.
    assumed_share : float or None
        Share of matches among candidates, where labels are too few to estimate it.
    """

    learner: PairLearner | Guess
    calibration: Calibration
    asked: bool = False
    assumed_share: float | None = None

    def __post_init__(self) -> None:
        parts = (
            isinstance(self.learner, PairLearner | Guess),
            isinstance(self.calibration, Calibration),
        )
        if not all(parts) or not isinstance(self.asked, bool):
            raise TypeError("a PairModel needs a learner, a Calibration and whether it asked.")
        if self.assumed_share is not None and not 0 <= self.assumed_share <= 1:
            raise ValueError(
                f"assumed_share must be in [0, 1], but {self.assumed_share} was given."
            )

    @property
    def is_guess(self) -> bool:
        """Whether it was made without labels."""
        return isinstance(self.learner, Guess)

    def probabilities(self, vectors: np.ndarray, offset: float = 0.0) -> np.ndarray:
        """Return probabilities, with an offset added to their log odds."""
        return self.calibration.probabilities(self.learner.probabilities(vectors), offset)

    def offset(self, vectors: np.ndarray, share: float | None = None) -> float:
        """Return the offset for candidates, or for a share of matches among them."""
        raw = self.learner.probabilities(vectors)
        share = self.assumed_share if share is None else share
        if share is not None:
            return self.calibration.offset_for_share(raw, share)
        return 0.0 if self.asked else self.calibration.offset_by_em(raw)


def learned_model(
    vectors: np.ndarray,
    labels: Labels,
    learner: str,
    random_state: int,
    assumed_share: float | None = None,
) -> PairModel:
    """Learn from labeled pairs, and calibrate by their out-of-fold probabilities."""
    settings = (vectors, labels.is_match, learner, random_state)
    calibration = fit_calibration(out_of_fold(*settings), labels.is_match)
    return PairModel(fit_learner(*settings), calibration, labels.were_asked, assumed_share)


def guessed_model(
    vectors: np.ndarray, names: list[tuple[str, str]], kinds: dict[str, str]
) -> PairModel:
    """Estimate a model without labels, from all candidates."""
    guess = fit_guess(vectors, names, kinds)
    return PairModel(guess, Calibration(1.0, 0.0, guess.share))
