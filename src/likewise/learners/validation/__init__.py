"""Validation on held-out queries and items, and the gate that decides about publication."""

from likewise.learners.validation._gate import (
    KINDS,
    MIN_GAIN_IN_ERRORS,
    MIN_QUERIES,
    NEW_ITEMS,
    Outcome,
    Verdict,
    judge,
    start_kept_message,
)
from likewise.learners.validation._held_out import (
    HeldOut,
    HeldOutLabels,
    HeldOutRelevance,
    HeldOutTriplets,
    all_new,
    average_precisions,
    can_validate_labels,
    held_out_queries,
    held_out_rows,
    mean_average_precision,
)

__all__ = [
    "KINDS",
    "MIN_GAIN_IN_ERRORS",
    "MIN_QUERIES",
    "NEW_ITEMS",
    "HeldOut",
    "HeldOutLabels",
    "HeldOutRelevance",
    "HeldOutTriplets",
    "Outcome",
    "Verdict",
    "all_new",
    "average_precisions",
    "can_validate_labels",
    "held_out_queries",
    "held_out_rows",
    "judge",
    "mean_average_precision",
    "start_kept_message",
]
