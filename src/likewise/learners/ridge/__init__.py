"""Ridge regression toward an initial form, and offsets of judged items."""

from likewise.learners.ridge._belief import RidgeBelief
from likewise.learners.ridge._closed_form import (
    Directions,
    ItemScores,
    RidgePath,
    offset_directions,
    relevance_path,
)
from likewise.learners.ridge._ridge import RidgeSimilarity

__all__ = [
    "Directions",
    "ItemScores",
    "RidgeBelief",
    "RidgePath",
    "RidgeSimilarity",
    "offset_directions",
    "relevance_path",
]
