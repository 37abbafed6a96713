"""Choose a learner: learners beside baselines and references, on rows they did not see."""

from likewise.selection._families import FAMILIES, Family, family_named
from likewise.selection._select import check_class_sizes, select
from likewise.selection._selection import Selection
from likewise.selection._triplet_selection import TripletSelection, replace_nan
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
    "check_class_sizes",
    "family_named",
    "judge_triplets",
    "replace_nan",
    "select",
    "select_triplets",
]
