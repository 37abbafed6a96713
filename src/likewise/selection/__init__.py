"""Which similarity suits this table? Learners beside baselines and outsiders, nested, in time."""

from likewise.selection._families import FAMILIES, Family, family_named
from likewise.selection._fold import take_rows
from likewise.selection._select import check_classes, select
from likewise.selection._selection import Selection, described
from likewise.selection._triplet_selection import TripletSelection, without_nan
from likewise.selection._triplets import (
    TRIPLET_LEARNERS,
    TripletLearner,
    judge_triplets,
    select_triplets,
)

__all__ = [
    "FAMILIES",
    "TRIPLET_LEARNERS",
    "Family",
    "Selection",
    "TripletLearner",
    "TripletSelection",
    "check_classes",
    "described",
    "family_named",
    "judge_triplets",
    "select",
    "select_triplets",
    "take_rows",
    "without_nan",
]
