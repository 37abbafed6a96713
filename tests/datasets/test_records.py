import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from likewise.datasets import Dataset


def test_a_dataset_cannot_be_changed():
    dataset = Dataset("small", np.zeros((2, 3)), np.array([0, 1]))
    with pytest.raises(FrozenInstanceError):
        dataset.y = np.array([1, 1])


@pytest.mark.parametrize(
    ("X", "described"),
    [
        (np.zeros((2, 3), dtype=np.float32), "X 2 x 3 float32"),
        (csr_matrix(np.eye(2)), "X 2 x 2 sparse float64"),
        (["one", "two"], "X list of 2"),
    ],
)
def test_repr_is_one_line_with_the_sizes(X, described):
    dataset = Dataset(
        "small", X, np.array([0, 1]), X_test=X, y_test=np.array([1, 0]), extra={"id": np.arange(2)}
    )
    assert repr(
        dataset
    ) == f"Dataset('small': {described}, {described.replace('X', 'X_test')}, " + (
        "2 classes, extra id)"
    )


def test_classes_are_counted_by_name_or_else_by_label():
    y = np.array([0, 0, 2])
    assert Dataset("small", np.eye(3), y).n_classes == 2
    assert Dataset("small", np.eye(3), y, target_names=("a", "b", "c")).n_classes == 3


def test_a_dataset_survives_being_sent_to_another_process():
    dataset = Dataset("small", np.eye(2), np.array([0, 1]), extra={"id": np.arange(2)})
    assert np.array_equal(pickle.loads(pickle.dumps(dataset)).X, dataset.X)
