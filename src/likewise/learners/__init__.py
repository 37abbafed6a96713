"""Estimators whose `fit` leaves a similarity."""

from likewise.learners.itml import ITML, LEGO
from likewise.learners.lmnn import LMNN
from likewise.learners.mcml import MCML
from likewise.learners.mmc import MMC
from likewise.learners.nca import MLKR, NCA
from likewise.learners.online import (
    AROMA,
    OASIS,
    DiagonalState,
    FactoredState,
    FullState,
    OasisState,
)
from likewise.learners.pola import POLA
from likewise.learners.rca import RCA
from likewise.learners.ridge import RidgeBelief, RidgeSimilarity
from likewise.learners.sila import SiLA
from likewise.learners.validation._gate import MIN_GAIN_IN_ERRORS, MIN_QUERIES, Outcome, judge
from likewise.learners.validation._held_out import HeldOutRelevance, HeldOutTriplets

__all__ = [
    "AROMA",
    "ITML",
    "LEGO",
    "LMNN",
    "MCML",
    "MIN_GAIN_IN_ERRORS",
    "MIN_QUERIES",
    "MLKR",
    "MMC",
    "NCA",
    "OASIS",
    "POLA",
    "RCA",
    "DiagonalState",
    "FactoredState",
    "FullState",
    "HeldOutRelevance",
    "HeldOutTriplets",
    "OasisState",
    "Outcome",
    "RidgeBelief",
    "RidgeSimilarity",
    "SiLA",
    "judge",
]
