"""Why scikit-learn's check that a weight of 2 is a row given twice does not apply."""

import sklearn
from sklearn.utils.fixes import parse_version

# Before 1.7, scikit-learn ran the check of sparse rows for every estimator, and let it pass where
# an estimator refuses its input.
_REFUSAL_PASSES = parse_version(sklearn.__version__) < parse_version("1.7")


def weight_is_not_repetition(reason):
    """Return the failures that scikit-learn's checks are to expect."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")
    }


def sparse_check_refused(failures):
    """Return the failures of an estimator that refuses the input of the check of sparse rows."""
    if not _REFUSAL_PASSES:
        return failures
    return {check: reason for check, reason in failures.items() if "sparse" not in check}


NEIGHBORS_ARE_COUNTED = weight_is_not_repetition(
    "neighbors are counted: a row given twice is two of them, with a weight of 2 it is one"
)
EQUAL_ROWS_ARE_NEIGHBORS = weight_is_not_repetition(
    "each row is predicted from the others: a row given twice is its own neighbor"
)
PAIRS_ARE_DRAWN = weight_is_not_repetition(
    "pairs are drawn in proportion to weights: repeated rows lead to other random pairs"
)
