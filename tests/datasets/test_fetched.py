import numpy as np
import pytest

from likewise.datasets import load, names
from likewise.datasets._openml import RECIPES
from likewise.exceptions import DatasetUnavailableError


@pytest.mark.parametrize("name", ["mnist", "isolet"])
def test_offline_and_absent_the_sentence_says_what_to_do(name, folder):
    with pytest.raises(DatasetUnavailableError) as caught:
        load(name)
    sentence = str(caught.value)
    assert f"the folder {folder} that LIKEWISE_DATA names holds no {name}.npz" in sentence
    assert f"the download from OpenML as {RECIPES[name].openml_name} version 1 failed" in sentence
    assert sentence.endswith(
        f"set LIKEWISE_DATA to a folder that holds {name}.npz, "
        "or connect to the network and try again."
    )
    assert "\n" not in sentence
    assert caught.value.__cause__ is not None


def test_offline_newsgroups_say_what_to_do():
    with pytest.raises(
        DatasetUnavailableError,
        match=r"LIKEWISE_DATA is not set, and the download from scikit-learn failed \(.*"
        r"a folder that holds news20_bydate.jsonl.gz, or connect to the network and try again\.$",
    ):
        load("news20")


def test_the_file_of_the_uci_iris_is_named_as_it_is_stored(folder):
    with pytest.raises(DatasetUnavailableError, match=r"holds no iris\.npz"):
        load("iris_uci")


def test_a_set_that_cannot_be_downloaded_says_so(folder):
    with pytest.raises(
        DatasetUnavailableError,
        match=r"holds no orl.npz, and likewise cannot download this set; "
        r"put orl.npz into a folder and set LIKEWISE_DATA to it\.$",
    ):
        load("orl")


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


def test_an_unavailable_set_is_an_operating_system_error():
    with pytest.raises(OSError, match="orl is not available"):
        load("orl")


def test_digits_without_names_or_shape_get_them(folder):
    np.savez(folder / "usps.npz", X=np.zeros((2, 256), dtype=np.uint8), y=np.array([3, 9]))
    usps = load("usps")
    assert usps.target_names == tuple("0123456789")
    assert usps.extra["image_shape"].tolist() == [16, 16]


def test_every_download_has_a_name_in_the_catalogue():
    assert set(RECIPES) <= set(names())
