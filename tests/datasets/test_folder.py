import gzip
import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from likewise.datasets import load
from likewise.datasets._folder import read_arrays, read_json_lines


def test_a_damaged_file_is_named_in_one_sentence(folder):
    path = folder / "orl.npz"
    np.savez(path, X=np.ones((30, 4)), y=np.zeros(30, dtype=int))
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"orl.npz cannot be read as an .npz file.*not a zip file"):
        load("orl")


def test_an_empty_file_is_named_in_one_sentence(folder):
    (folder / "orl.npz").touch()
    with pytest.raises(ValueError, match=r"orl.npz cannot be read as an .npz file of plain arrays"):
        load("orl")


def test_a_pickled_array_is_refused(folder):
    np.savez(folder / "orl.npz", X=np.array([{"any": "object"}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match=r"orl.npz cannot be read.*allow_pickle=False"):
        load("orl")


def test_a_pickle_with_the_name_of_an_archive_is_refused(folder):
    (folder / "orl.npz").write_bytes(pickle.dumps({"X": [[1.0]], "y": [0]}))
    with pytest.raises(ValueError, match=r"orl.npz cannot be read"):
        load("orl")


def test_a_single_array_is_not_an_archive(folder):
    with (folder / "orl.npz").open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(ValueError, match=r"orl.npz cannot be read.*it is a single array"):
        load("orl")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 10**6), value=st.integers(0, 255), cut=st.booleans())
def test_no_damage_makes_anything_but_arrays_or_a_value_error(tmp_path, at, value, cut):
    path = tmp_path / "any.npz"
    np.savez_compressed(path, X=np.arange(12.0).reshape(4, 3), y=np.arange(4))
    content = bytearray(path.read_bytes())
    at %= len(content)
    content[at] = value
    path.write_bytes(content[:at] if cut else content)
    try:
        read_arrays(path)
        sentence = ""
    except ValueError as error:
        sentence = str(error)
    assert not sentence or sentence.startswith(f"{path} cannot be read as an .npz file")


def test_lines_that_are_not_json_or_lack_a_field_are_named(tmp_path):
    path = tmp_path / "surnames.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"text": "Khoury", "label": "Arabic"}) + "\n{\n")
    with pytest.raises(ValueError, match=r"surnames.jsonl.gz cannot be read as a gzipped file"):
        read_json_lines(path, "text")
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"text": "Khoury"}) + "\n")
    with pytest.raises(ValueError, match=r"surnames.jsonl.gz .*: line 1 has no 'label'"):
        read_json_lines(path, "text", "label")


def test_a_text_file_that_is_not_compressed_is_named(tmp_path):
    path = tmp_path / "surnames.jsonl.gz"
    path.write_text("{}\n")
    with pytest.raises(ValueError, match=r"surnames.jsonl.gz .*Not a gzipped file"):
        read_json_lines(path)


def test_the_folder_may_be_written_from_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LIKEWISE_DATA", "~")
    np.savez(tmp_path / "orl.npz", X=np.eye(2), y=np.arange(2))
    assert load("orl").X.shape == (2, 2)
