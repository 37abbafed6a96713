"""Choose a learner: learners beside baselines and references, on rows they did not see."""

from likewise.selection._families import FAMILIES, Family
from likewise.selection._regression_families import (
    REGRESSION_FAMILIES,
    default_families,
    families_of,
    family_named,
)
from likewise.selection._scoring import REGRESSION_SCORINGS, SCORINGS, Scoring
from likewise.selection._select import check_target, select
from likewise.selection._selection import Selection
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
    "REGRESSION_FAMILIES",
    "REGRESSION_SCORINGS",
    "SCORINGS",
    "TRIPLET_LEARNERS",
    "Family",
    "Scoring",
    "Selection",
    "TripletLearner",
    "TripletSelection",
    "check_target",
    "default_families",
    "families_of",
    "family_named",
    "judge_triplets",
    "replace_nan",
    "select",
    "select_triplets",
    "share_text",
]
