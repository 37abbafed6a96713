"""From what people know to row numbers: which rows should be close to which."""

from likewise.supervision._targets import check_targets, target_neighbors
from likewise.supervision._triplets import check_triplets

__all__ = ["check_targets", "check_triplets", "target_neighbors"]
