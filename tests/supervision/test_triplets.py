"""Triplets are row numbers; whatever else comes is refused with a sentence."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from likewise.supervision import check_triplets

ROWS = np.zeros((4, 2))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64])
def test_row_numbers_of_any_kind_are_taken(dtype):
    given = np.array([[0, 1, 2], [3, 3, 0]], dtype)
    found = check_triplets(given, ROWS, csr_array(ROWS))
    assert found.dtype == np.int64
    assert_array_equal(found, given)
    assert not np.shares_memory(found, given)


def test_queries_and_items_are_counted_apart():
    assert len(check_triplets([[0, 8, 2]], ROWS[:1], ["a"] * 9)) == 1
    with pytest.raises(ValueError, match="points at row 8, but queries has 4 rows"):
        check_triplets([[8, 0, 2]], ROWS, ["a"] * 9)


@pytest.mark.parametrize(
    ("triplets", "error", "message"),
    [
        ([[0, 1]], ValueError, r"three columns .* but has shape \(1, 2\)"),
        ([0, 1, 2], ValueError, r"three columns .* but has shape \(3,\)"),
        ([], ValueError, "three columns"),
        (np.empty((0, 3), int), ValueError, "triplets has no rows"),
        ([[0.0, 1.0, 2.0]], TypeError, "whole row numbers, but float64"),
        ([[True, False, True]], TypeError, "but bool"),
        ([["0", "1", "2"]], TypeError, "whole row numbers"),
        ([[0, 1, 2], [4, 1, 2]], ValueError, "points at row 4, but queries has 4 rows"),
        ([[0, 1, 9]], ValueError, "points at row 9, but items has 4 rows"),
        ([[0, -1, 2]], ValueError, "points at row -1, but items"),
        ([[0, 1, 2], [0, 3, 3]], ValueError, r"triplets\[1\] prefers item 3 to itself"),
    ],
)
def test_what_cannot_be_triplets_is_refused(triplets, error, message):
    with pytest.raises(error, match=message):
        check_triplets(triplets, ROWS, ROWS)
