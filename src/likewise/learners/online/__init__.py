"""Online learners of bilinear similarities: AROMA and OASIS."""

from likewise.learners.online._aroma import AROMA
from likewise.learners.online._beliefs import (
    DiagonalState,
    Evidence,
    OasisState,
    State,
    Weighted,
    copy_state,
    prepare_arrays,
    sum_evidence,
    weighted_blocks,
)
from likewise.learners.online._covariances import FactoredState, FullState
from likewise.learners.online._early_stopping import Progress
from likewise.learners.online._oasis import OASIS
from likewise.learners.online._training import (
    DrawnTriplets,
    Step,
    UpdateRule,
    apply_triplets,
)
from likewise.learners.online._triplet_batches import TripletBatches

__all__ = [
    "AROMA",
    "OASIS",
    "DiagonalState",
    "DrawnTriplets",
    "Evidence",
    "FactoredState",
    "FullState",
    "OasisState",
    "Progress",
    "State",
    "Step",
    "TripletBatches",
    "UpdateRule",
    "Weighted",
    "apply_triplets",
    "copy_state",
    "prepare_arrays",
    "sum_evidence",
    "weighted_blocks",
]
