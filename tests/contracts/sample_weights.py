"""Why scikit-learn's check that a weight of 2 is a row given twice does not apply."""


def weight_is_not_repetition(reason):
    """Return the failures that scikit-learn's checks are to expect."""
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")
    }


NEIGHBORS_ARE_COUNTED = weight_is_not_repetition(
    "neighbors are counted: a row given twice is two of them, with a weight of 2 it is one"
)
EQUAL_ROWS_ARE_NEIGHBORS = weight_is_not_repetition(
    "each row is predicted from the others: a row given twice is its own neighbor"
)
