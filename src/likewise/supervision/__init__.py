"""From what people know to row numbers: which rows should be close to which."""

from likewise.supervision._sampling import (
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    check_relevance,
    click_triplets,
    position_weights,
)
from likewise.supervision._targets import check_targets, target_neighbors
from likewise.supervision._triplets import (
    TripletStream,
    check_triplets,
    check_weights,
    triplets_of,
)

__all__ = [
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
    "target_neighbors",
    "triplets_of",
]
