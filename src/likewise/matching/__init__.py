"""Matching of records: pairs of two tables, or of one, that mean the same thing."""

from likewise.matching._calibration import Calibration
from likewise.matching._candidates import Candidates
from likewise.matching._decision import LINKS
from likewise.matching._explanation import FieldTerm, PairExplanation
from likewise.matching._guess import Guess
from likewise.matching._learner import PairLearner
from likewise.matching._matcher import Matcher
from likewise.matching._model import PairModel
from likewise.matching._report import MatchReport, Reliability

__all__ = [
    "LINKS",
    "Calibration",
    "Candidates",
    "FieldTerm",
    "Guess",
    "MatchReport",
    "Matcher",
    "PairExplanation",
    "PairLearner",
    "PairModel",
    "Reliability",
]
