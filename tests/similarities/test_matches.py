"""What a search returns."""

import numpy as np

import likewise as lw


def test_a_row_leaves_out_the_padding():
    found = lw.Mahalanobis(1.0).neighbors([[0.0], [3.0]], [[1.0], [3.0]], 3)
    assert found.row(0) == [(0, -1.0), (1, -9.0)]
    assert found.row(1) == [(1, 0.0), (0, -4.0)]
    assert len(found) == 2


def test_its_repr_is_one_line():
    found = lw.Mahalanobis(1.0).neighbors(np.zeros((50, 1)), [[1.0]], 1)
    assert repr(found) == "Matches(50 queries, k=1)"
