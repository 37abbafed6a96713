"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._aroma import AROMA
from likewise.learners._gate import ERRORS_TO_PASS, FEWEST_QUERIES, Outcome, judge
from likewise.learners._held_out import HeldOutTriplets
from likewise.learners._lmnn import LMNN
from likewise.learners._oasis import OASIS
from likewise.learners._sila import SiLA
from likewise.learners._states import DiagonalState, FactoredState, OasisState
from likewise.learners.ridge import RidgeBelief, RidgeSimilarity

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
