"""Large margin nearest neighbors (Weinberger, Blitzer and Saul, 2005)."""

from likewise.learners.lmnn._impostors import (
    IMPOSTORS_FOR_SCALE,
    ImpostorSearch,
    Lists,
    impostor_lists,
    impostor_pairs,
    joined_lists,
    lists_of,
    nearest_others,
    reach_of,
    rows_for_scale,
    sampled_impostors,
    scale_of,
    typical_distance,
)
from likewise.learners.lmnn._lmnn import LMNN, LargeMarginProblem, column_scale, standardize
from likewise.learners.lmnn._objective import Margins

__all__ = [
    "IMPOSTORS_FOR_SCALE",
    "LMNN",
    "ImpostorSearch",
    "LargeMarginProblem",
    "Lists",
    "Margins",
    "column_scale",
    "impostor_lists",
    "impostor_pairs",
    "joined_lists",
    "lists_of",
    "nearest_others",
    "reach_of",
    "rows_for_scale",
    "sampled_impostors",
    "scale_of",
    "standardize",
    "typical_distance",
]
