"""Estimators whose `fit` leaves a similarity."""

from likewise.learners._aroma import AROMA
from likewise.learners._lmnn import LMNN
from likewise.learners._oasis import OASIS
from likewise.learners._sila import SiLA
from likewise.learners._states import DiagonalState, FactoredState, OasisState
from likewise.learners.ridge import RidgeBelief, RidgeSimilarity

__all__ = [
    "AROMA",
    "LMNN",
    "OASIS",
    "DiagonalState",
    "FactoredState",
    "OasisState",
    "RidgeBelief",
    "RidgeSimilarity",
    "SiLA",
]
