"""The vote of a neighbourhood that shrinks until one class leads."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import voting as oracle

from likewise.metrics import majority_votes


@given(
    labels=hnp.arrays(
        np.int64, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.integers(0, 3)
    )
)
def test_votes_are_the_rule_in_words(labels):
    k = labels.shape[1]
    nearest_first = -np.arange(k, dtype=float)
    expected = [oracle.majority(nearest_first[None], row, k, 4)[0] for row in labels]
    assert_allclose(majority_votes(labels, 4), expected, rtol=1e-15)


def test_rows_shrink_each_by_itself():
    """No tie; ties broken by three; and by the nearest alone."""
    labels = np.array([[0, 1, 1, 1], [0, 1, 1, 0], [0, 0, 1, 1], [2, 0, 1, 3]])
    assert_allclose(
        majority_votes(labels, 4),
        [[1 / 4, 3 / 4, 0, 0], [1 / 3, 2 / 3, 0, 0], [2 / 3, 1 / 3, 0, 0], [0, 0, 1, 0]],
    )


def test_one_neighbour_decides_alone():
    assert_array_equal(majority_votes(np.array([[2], [0]]), 3), [[0, 0, 1], [1, 0, 0]])


def test_the_labels_are_left_as_they_are():
    labels = np.array([[0, 1], [1, 0]])
    labels.flags.writeable = False
    majority_votes(labels, 2)
