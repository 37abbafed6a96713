"""Rows are tested once, classes keep their shares, and groups stay together."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from likewise.selection._folds import NEVER_TESTED, assign_folds, stratified_order


def test_folds_are_those_of_scikit_learn(rng):
    labels = rng.choice(["a", "b"], size=50)
    folds = assign_folds(labels, np.arange(50), 4, seed=3)
    splits = StratifiedKFold(4, shuffle=True, random_state=3).split(labels, labels)
    for number, (_, test) in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(folds == number), test)


def test_rare_classes_stay_in_every_training_part():
    labels = np.array(["a"] * 20 + ["b"] * 2 + ["c"])
    folds = assign_folds(labels, np.arange(23), 5, seed=0)
    assert folds[-1] == NEVER_TESTED
    for number in range(5):
        assert set(labels[folds != number]) == {"a", "b", "c"}


def test_classes_of_one_row_alone_leave_nothing_to_test():
    assert (assign_folds(np.array(["a", "b"]), np.arange(2), 3, seed=0) == NEVER_TESTED).all()


def test_a_group_is_never_on_both_sides(rng):
    groups = rng.integers(0, 30, size=100)
    folds = assign_folds(groups % 3, groups, 4, seed=0)
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
    assert set(folds) == {0, 1, 2, 3}


@pytest.mark.parametrize("n", [40, 100, 400])
def test_every_beginning_of_the_order_has_the_shares_of_the_classes(n, rng):
    labels = rng.permutation(np.repeat([0, 1, 2], [700, 290, 10]))
    order = stratified_order(labels, 2, seed=0)
    assert sorted(order) == list(range(1000))
    counts = np.bincount(labels[order[:n]], minlength=3)
    assert counts[2] >= 2
    np.testing.assert_allclose(counts / n, [0.7, 0.29, 0.01], atol=0.06)
