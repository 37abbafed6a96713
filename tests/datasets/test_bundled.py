import numpy as np
import pytest
from sklearn.datasets import load_iris

from likewise.datasets import load


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
        ("digits", (1797, 64), 10),
    ],
)
def test_a_bundled_set_is_a_named_table_of_float64(name, shape, n_classes):
    dataset = load(name)
    assert dataset.X.shape == shape
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert dataset.n_classes == n_classes == len(np.unique(dataset.y))
    assert len(dataset.feature_names) == shape[1]
    assert dataset.X_test is None
    assert dataset.y_test is None


def test_digits_say_the_shape_of_a_picture():
    digits = load("digits")
    assert np.prod(digits.extra["image_shape"]) == digits.X.shape[1]


def test_a_file_in_the_folder_does_not_replace_a_bundled_set(folder):
    np.savez(folder / "iris.npz", X=np.zeros((2, 4)), y=np.zeros(2, dtype=int))
    assert np.array_equal(load("iris").X, load_iris().data)
    assert load("iris_uci").X.shape == (2, 4)
