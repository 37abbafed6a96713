"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._gate import ERRORS_TO_PASS, FEWEST_QUERIES, Outcome, judge
from likewise.learners._held_out import HeldOutTriplets
from likewise.learners.lmnn import LMNN
from likewise.learners.online import AROMA, OASIS, DiagonalState, FactoredState, OasisState
from likewise.learners.ridge import RidgeBelief, RidgeSimilarity
from likewise.learners.sila._sila import SiLA

__all__ = [
    "AROMA",
    "ERRORS_TO_PASS",
    "FEWEST_QUERIES",
    "LMNN",
    "OASIS",
    "DiagonalState",
    "FactoredState",
    "HeldOutTriplets",
    "OasisState",
    "Outcome",
    "RidgeBelief",
    "RidgeSimilarity",
    "SiLA",
    "judge",
]
