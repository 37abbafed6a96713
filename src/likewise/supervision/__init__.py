"""From what people know to row numbers: which rows should be close to which."""

from likewise.supervision._holdout import N_SPLITS, HoldOut, relevant_items
from likewise.supervision._sampling import (
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    check_relevance,
    click_triplets,
    position_weights,
    weights_at,
)
from likewise.supervision._targets import check_targets, target_neighbors
from likewise.supervision._triplets import (
    TripletStream,
    check_triplets,
    check_weights,
    triplets_of,
)

__all__ = [
    "N_SPLITS",
    "HoldOut",
    "LabelTriplets",
    "RelevanceTriplets",
    "TripletSource",
    "TripletStream",
    "check_relevance",
    "check_targets",
    "check_triplets",
    "check_weights",
    "click_triplets",
    "position_weights",
    "relevant_items",
    "target_neighbors",
    "triplets_of",
    "weights_at",
]
