"""Sets by name: bundled, generated, or in the local folder."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris

from likewise.datasets import catalogue, load, load_retrieval, names
from likewise.exceptions import DatasetUnavailableError


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


def test_digits_have_the_shape_of_their_images():
    digits = load("digits")
    assert np.prod(digits.extra["image_shape"]) == digits.X.shape[1]


def test_a_file_in_the_folder_does_not_replace_a_bundled_set(folder):
    np.savez(folder / "iris.npz", X=np.zeros((2, 4)), y=np.zeros(2, dtype=int))
    assert np.array_equal(load("iris").X, load_iris().data)
    assert load("iris_uci").X.shape == (2, 4)


SIZED = [row for row in catalogue() if row.kind != "folder"]


@pytest.mark.parametrize("row", SIZED, ids=lambda row: row.name)
def test_a_bundled_or_generated_set_is_as_its_row_says(row):
    dataset = load(row.name)
    assert dataset.X.shape == (row.n_samples, row.n_features)
    assert dataset.n_classes == row.n_classes == len(np.unique(dataset.y))


@pytest.mark.parametrize("row", catalogue("retrieval"), ids=lambda row: row.name)
def test_a_collection_in_the_folder_is_as_its_row_says(row, real_folder):
    if not any(real_folder.glob(f"{row.name}[._]*")):
        pytest.skip(f"LIKEWISE_DATA holds no {row.name}")
    collection = load_retrieval(row.name)
    assert len(collection.documents) == len(collection.document_ids) == row.n_samples
    assert len(collection.queries) == len(collection.query_ids)
    assert collection.relevance.shape == (len(collection.queries), row.n_samples)
    if row.n_features is None:
        assert isinstance(collection.documents[0], str)
    else:
        assert collection.documents.shape[1] == collection.queries.shape[1] == row.n_features


def test_files_in_the_folder_are_named_and_loaded(folder):
    assert "mine" not in names()
    np.savez(folder / "mine.npz", X=np.eye(3), y=np.arange(3))
    np.savez(folder / "wine.npz", X=np.eye(3), y=np.arange(3))  # the bundled one stays
    np.savez(folder / "scifact_minilm.npz", docs=np.eye(2))
    (folder / "scifact_corpus.jsonl.gz").touch()
    assert names()[7:] == ["mine"]
    assert catalogue()[-1].kind == "folder"
    np.testing.assert_array_equal(load("mine").X, np.eye(3))
    assert load("wine").X.shape == (178, 13)


def test_names_are_those_of_the_catalogue_and_no_name_occurs_twice():
    everything = names() + names("retrieval")
    assert everything == [row.name for row in catalogue() + catalogue("retrieval")]
    assert len(everything) == len(set(everything))


def test_an_unknown_name_is_answered_with_the_nearest_and_the_way_to_add_it(folder):
    with pytest.raises(
        ValueError,
        match=r"holds no digit.npz; put digit.npz into a folder and set LIKEWISE_DATA to it\. "
        r"Did you mean 'digits'\?$",
    ):
        load("digit")


def test_the_file_of_the_uci_iris_is_named_as_it_is_stored(folder):
    with pytest.raises(DatasetUnavailableError, match=r"holds no iris\.npz"):
        load("iris_uci")


def test_a_folder_that_is_none_is_called_so(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(
        DatasetUnavailableError, match=r"LIKEWISE_DATA names .*nowhere, which is not a folder"
    ):
        load("orl")


def test_an_empty_variable_is_as_none(monkeypatch, tmp_path):
    np.savez(tmp_path / "orl.npz", X=np.eye(2), y=np.arange(2))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIKEWISE_DATA", "")
    with pytest.raises(DatasetUnavailableError, match="LIKEWISE_DATA is not set"):
        load("orl")


def test_an_unavailable_set_is_an_operating_system_error_and_a_value_error():
    with pytest.raises(OSError, match="orl is not available"):
        load("orl")
    with pytest.raises(ValueError, match="orl is not available"):
        load("orl")


def test_digits_without_names_or_shape_get_them(folder):
    np.savez(folder / "usps.npz", X=np.zeros((2, 256), dtype=np.uint8), y=np.array([3, 9]))
    usps = load("usps")
    assert usps.target_names == tuple("0123456789")
    assert usps.extra["image_shape"].tolist() == [16, 16]


def test_a_retrieval_collection_has_its_own_function():
    with pytest.raises(ValueError, match=r"load_retrieval\('scifact'\) opens it"):
        load("scifact")


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(TypeError, match=r"name must be the name of a data set, but 3 was given"):
        load(3)


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="task must be one of 'classification', 'retrieval'"):
        catalogue("regression")


def test_importing_the_room_and_printing_the_catalogue_imports_nothing_heavy():
    program = (
        "import sys, likewise.datasets as d; d.catalogue(); "
        "print([name for name in ('sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
