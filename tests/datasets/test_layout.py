import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from likewise.datasets import load
from likewise.datasets._layout import dataset_from_arrays


def test_a_table_is_found_with_its_names_and_the_rest_is_extra(folder):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.savez(
        folder / "orl.npz",
        X=X,
        y=np.array([0, 1, 1, 0], dtype=np.int8),
        feature_names=np.array(["a", "b", "c"]),
        target_names=np.array(["no", "yes"]),
        missing=X > 5,
    )
    dataset = load("orl")
    assert_array_equal(dataset.X, X)
    assert dataset.X.dtype == np.float32
    assert dataset.y.dtype == np.int64
    assert dataset.feature_names == ("a", "b", "c")
    assert dataset.target_names == ("no", "yes")
    assert dataset.X_test is None
    assert_array_equal(dataset.extra["missing"], X > 5)


@pytest.mark.parametrize(
    ("stored", "given"),
    [
        ("uint8", "float32"),
        ("uint16", "float32"),
        ("bool", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("int32", "float64"),
        ("float64", "float64"),
    ],
)
def test_numbers_become_the_smallest_float_that_holds_them(stored, given):
    X = np.array([[0, 1], [1, 0]]).astype(stored)
    if stored == "uint16":
        X[0, 0] = 65535
    dataset = dataset_from_arrays("any", {"X": X, "y": np.arange(2), "X_onehot": X})
    assert dataset.X.dtype == dataset.extra["X_onehot"].dtype == given
    assert_array_equal(dataset.X, X)


def test_a_sparse_table_becomes_csr_and_its_vocabulary_names_the_columns(folder):
    dense = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 65535], [0, 0, 0]])
    csr = sparse.csr_matrix(dense)
    np.savez(
        folder / "ssl_text.npz",
        data=csr.data.astype(np.uint16),
        indices=csr.indices.astype(np.uint16),
        indptr=csr.indptr,
        shape=np.array(csr.shape),
        y=np.arange(4),
        is_train=np.array([True, False, True, False]),
        vocab=np.array(["the", "of", "to"]),
    )
    dataset = load("ssl_text")
    assert dataset.X.format == dataset.X_test.format == "csr"
    assert dataset.X.dtype == np.float32
    assert_array_equal(dataset.X.toarray(), dense[[0, 2]])
    assert_array_equal(dataset.X_test.toarray(), dense[[1, 3]])
    assert dataset.feature_names == ("the", "of", "to")


def test_series_of_unequal_length_become_a_list(folder):
    frames = np.arange(20, dtype=np.float32).reshape(10, 2)
    np.savez(
        folder / "ts_japanesevowels.npz",
        frames=frames,
        offsets=np.array([0, 3, 10], dtype=np.int32),
        y=np.array([0, 1]),
        frames_test=frames,
        offsets_test=np.array([0, 1, 1, 10], dtype=np.int32),
        y_test=np.array([1, 0, 1]),
    )
    dataset = load("ts_japanesevowels")
    assert [len(series) for series in dataset.X] == [3, 7]
    assert [len(series) for series in dataset.X_test] == [1, 0, 9]
    assert_array_equal(dataset.X[1], frames[3:])
    assert dataset.extra == {}


def test_a_stored_test_part_is_the_test_part(folder):
    np.savez(
        folder / "monk1.npz",
        X=np.zeros((2, 3)),
        y=np.array(["no", "yes"]),
        X_test=np.ones((3, 3)),
        y_test=np.array(["yes", "no", "no"]),
    )
    dataset = load("monk1")
    assert dataset.X.shape == (2, 3)
    assert dataset.X_test.shape == (3, 3)
    assert dataset.y_test.tolist() == ["yes", "no", "no"]


def test_the_first_n_train_rows_train(folder):
    X = np.arange(10).reshape(5, 2)
    np.savez(folder / "letter.npz", X=X, y=np.arange(5), n_train=3)
    dataset = load("letter")
    assert_array_equal(dataset.X, X[:3])
    assert_array_equal(dataset.X_test, X[3:])
    assert dataset.y_test.tolist() == [3, 4]
    assert "n_train" not in dataset.extra


def test_what_pairs_with_rows_is_split_along_with_them(folder):
    is_train = np.array([True, False, False, True])
    np.savez(
        folder / "vowel.npz",
        X=np.eye(4),
        y=np.arange(4),
        is_train=is_train,
        speaker=np.array([7, 8, 9, 6]),
        readers=np.array(["a", "b"]),
    )
    dataset = load("vowel")
    assert dataset.y.tolist() == [0, 3]
    assert dataset.extra["speaker"].tolist() == [7, 6]
    assert dataset.extra["speaker_test"].tolist() == [8, 9]
    assert dataset.extra["readers"].tolist() == ["a", "b"]
    assert_array_equal(dataset.extra["is_train"], is_train)


GOOD = {"X": np.eye(3), "y": np.arange(3)}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"arr_0": np.eye(3)}, "there is no X.*it holds arr_0"),
        ({}, "it holds nothing"),
        ({"X": np.eye(3)}, "there is no y"),
        (GOOD | {"y": np.arange(2)}, r"y has the shape \(2,\), but there are 3 rows"),
        (GOOD | {"y": np.zeros(3)}, "y is float64 and should be integers or strings"),
        (GOOD | {"X": np.zeros(3)}, "X is 1-D float64 and should be a table of numbers"),
        (GOOD | {"X": np.array([["a"]] * 3)}, "X is 2-D <U1 and should be a table of numbers"),
        (GOOD | {"y_test": np.arange(3)}, "there is no X_test"),
        (GOOD | {"n_train": np.array(3)}, "n_train is 3 and should be from 1 to 2"),
        (GOOD | {"is_train": np.ones(2, dtype=bool)}, "is_train should be 3 booleans"),
        (GOOD | {"feature_names": np.array(["a"])}, "1 feature_names for 3 columns"),
        (GOOD | {"target_names": np.array(["a", "b"])}, "outside the 2 target_names"),
        ({"frames": np.eye(3), "y": np.arange(1)}, "there is no offsets"),
        (
            {"frames": np.eye(3), "offsets": np.array([0, 2]), "y": np.arange(1)},
            "offsets do not cut frames into series",
        ),
        ({"indptr": np.array([0, 1]), "y": np.arange(1)}, "there is no data"),
        (
            {
                "data": np.ones(1),
                "indices": np.array([5]),
                "indptr": np.array([0, 1]),
                "shape": np.array([1, 2]),
                "y": np.arange(1),
            },
            "ind",
        ),
        (
            {
                "data": np.ones(1),
                "indices": np.array([0.5]),
                "indptr": np.array([0, 1]),
                "shape": np.array([1, 2]),
                "y": np.arange(1),
            },
            "cast",
        ),
    ],
)
def test_a_foreign_file_is_named_with_the_reason(folder, arrays, reason):
    np.savez(folder / "orl.npz", **arrays)
    with pytest.raises(ValueError, match=rf"orl.npz is not laid out as a likewise.*{reason}"):
        load("orl")
