"""Choose a learner: learners beside baselines and references, on rows they did not see."""

from likewise.selection._families import FAMILIES, Family, family_named
from likewise.selection._select import check_class_sizes, select
from likewise.selection._selection import Selection, percent_text
from likewise.selection._triplet_selection import (
    KINDS,
    TripletSelection,
    replace_nan,
    share_text,
)
from likewise.selection._triplets import (
    TRIPLET_LEARNERS,
    TripletLearner,
    judge_triplets,
    select_triplets,
)

__all__ = [
    "FAMILIES",
    "KINDS",
    "TRIPLET_LEARNERS",
    "Family",
    "Selection",
    "TripletLearner",
    "TripletSelection",
    "check_class_sizes",
    "family_named",
    "judge_triplets",
    "percent_text",
    "replace_nan",
    "select",
    "select_triplets",
    "share_text",
]
