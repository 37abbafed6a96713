import numpy as np
import pytest

from likewise.datasets import balance, load


def test_every_arm_of_the_scale_occurs_once():
    X = balance().X
    assert X.shape == (625, 4)
    assert len(np.unique(X, axis=0)) == 625
    assert X.min() == 1
    assert X.max() == 5


def test_the_scale_tips_towards_the_larger_torque():
    scale = balance()
    for (left, at, right, opposite), label in zip(scale.X, scale.y, strict=True):
        difference = left * at - right * opposite
        expected = "L" if difference > 0 else "R" if difference < 0 else "B"
        assert scale.target_names[label] == expected


def test_classes_are_as_frequent_as_in_the_uci_file():
    assert np.bincount(balance().y).tolist() == [288, 49, 288]


def test_the_last_attribute_changes_fastest():
    assert balance().X[:6].tolist() == [
        [1, 1, 1, 1],
        [1, 1, 1, 2],
        [1, 1, 1, 3],
        [1, 1, 1, 4],
        [1, 1, 1, 5],
        [1, 1, 2, 1],
    ]


def test_the_rule_gives_the_rows_and_labels_of_the_uci_file(real_folder):
    path = real_folder / "balance.npz"
    if not path.is_file():
        pytest.skip("LIKEWISE_DATA holds no balance.npz")
    stored, made = np.load(path), balance()
    assert np.array_equal(stored["X"], made.X)
    assert np.array_equal(stored["y"], made.y)
    assert tuple(stored["target_names"]) == made.target_names
    assert tuple(stored["feature_names"]) == made.feature_names


def test_a_file_in_the_folder_does_not_replace_the_rule(folder):
    np.savez(folder / "balance.npz", X=np.zeros((2, 4)), y=np.zeros(2, dtype=int))
    assert load("balance").X.shape == (625, 4)
