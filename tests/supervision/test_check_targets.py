"""Target neighbours that a user gives: other rows of the same class, or −1."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.supervision import check_targets

LABELS = np.array([0, 0, 0, 1, 1])
RIGHT = [[1, 2], [0, -1], [-1, -1], [4, -1], [3, 3]]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_row_numbers_are_taken_as_they_are(dtype):
    given = np.array(RIGHT, dtype)
    found = check_targets(given, LABELS)
    assert found.dtype == np.int64
    assert_array_equal(found, given)


def test_unsigned_row_numbers_are_taken_too():
    assert check_targets(np.array([[1], [0], [0], [4], [3]], np.uint64), LABELS).shape == (5, 1)


def changed(row, target):
    targets = [list(own) for own in RIGHT]
    targets[row][0] = target
    return targets


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        (RIGHT[:4], ValueError, r"must have shape \(5, k\), but has shape \(4, 2\)"),
        ([1, 0, 0, 4, 3], ValueError, r"but has shape \(5,\)"),
        (np.empty((5, 0), int), ValueError, r"but has shape \(5, 0\)"),
        (np.array(RIGHT, float), TypeError, "must hold row numbers, but float64"),
        (np.array(RIGHT, object), TypeError, "must hold row numbers"),
        (changed(1, 5), ValueError, "points at row 5, but X has 5 rows"),
        (changed(1, -2), ValueError, "points at row -2, but X has 5 rows"),
        (changed(2, 2), ValueError, "gives row 2 the target 2, which must be another row"),
        (changed(3, 0), ValueError, "gives row 3 the target 0, .* of the same class"),
    ],
)
def test_what_cannot_be_targets_is_refused(targets, error, message):
    with pytest.raises(error, match=message):
        check_targets(targets, LABELS)
