"""Pure functions of arrays: ranking measures and voting rules."""

from likewise.metrics._ranking import (
    average_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from likewise.metrics._sampling import sampling_error
from likewise.metrics._seen_new import ndcg_seen_new, random_order_ndcg
from likewise.metrics._voting import majority_votes

__all__ = [
    "average_precision",
    "majority_votes",
    "ndcg_at",
    "ndcg_seen_new",
    "precision_at",
    "random_order_ndcg",
    "recall_at",
    "reciprocal_rank",
    "sampling_error",
]
