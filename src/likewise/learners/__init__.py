"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._gate import ERRORS_TO_PASS, FEWEST_QUERIES, Outcome, judge
from likewise.learners._held_out import HeldOutTriplets
from likewise.learners.lmnn._lmnn import LMNN
from likewise.learners.online._aroma import AROMA
from likewise.learners.online._beliefs import DiagonalState, FactoredState, OasisState
from likewise.learners.online._oasis import OASIS
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
