"""From what people know to row numbers: which rows should be close to which."""

from likewise.supervision._targets import target_neighbors

__all__ = ["target_neighbors"]
