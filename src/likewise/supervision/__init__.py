"""Supervision as row numbers: targets, triplets and relevance from labels, clicks and pairs."""

from likewise.supervision._holdout import N_SPLITS, HoldOut, relevant_items
from likewise.supervision._pairs import LabelPairs, check_pairs
from likewise.supervision._sampling import (
    LabelTriplets,
    RelevanceTriplets,
    TripletSource,
    check_relevance,
    click_triplets,
    position_weights,
    relevance_from_pairs,
    weights_at,
)
from likewise.supervision._targets import best_of_class, check_targets, target_neighbors, targets_of
from likewise.supervision._triplets import (
    COLUMNS,
    WEIGHT,
    TripletStream,
    check_sample_weight,
    check_triplet_rows,
    check_triplets,
    check_weights,
    read_file,
    triplets_of,
    weighted_rows,
)

__all__ = [
    "COLUMNS",
    "N_SPLITS",
    "WEIGHT",
    "HoldOut",
    "LabelPairs",
    "LabelTriplets",
    "RelevanceTriplets",
    "TripletSource",
    "TripletStream",
    "best_of_class",
    "check_pairs",
    "check_relevance",
    "check_sample_weight",
    "check_targets",
    "check_triplet_rows",
    "check_triplets",
    "check_weights",
    "click_triplets",
    "position_weights",
    "read_file",
    "relevance_from_pairs",
    "relevant_items",
    "target_neighbors",
    "targets_of",
    "triplets_of",
    "weighted_rows",
    "weights_at",
]
