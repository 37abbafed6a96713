"""Model files: readable, whole or not there, and the same tomorrow."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from numpy.testing import assert_array_equal
from safetensors import safe_open

import likewise as lw

GOLDEN = Path(__file__).parent / "data" / "bilinear_v1.safetensors"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_header_can_be_read_by_anyone(path):
    lw.Bilinear([[1.0, 0.5], [0.0, 1.0]], norm="cosine").save(path)
    with safe_open(path, framework="numpy") as file:
        header = file.metadata()
        parameters = json.loads(header["parameters"])
        assert header["format"] == "likewise"
        assert header["format_version"] == "1"
        assert header["class"] == "Bilinear"
        assert header["written_by"] == f"likewise {lw.__version__}"
        assert parameters["norm"] == "cosine"
        assert_array_equal(file.get_tensor(parameters["W"]["$array"]), [[1.0, 0.5], [0.0, 1.0]])
        assert len(file.keys()) == 1


def test_a_file_written_by_the_first_version_still_loads():
    s = lw.load(GOLDEN)
    assert repr(s) == "Bilinear(W=2×3 float32, norm='cosine')"
    assert_array_equal(s.W, np.array([[0.5, -1.25, 3.0], [0.0, 2.0, -0.125]], dtype=np.float32))


def test_a_path_may_be_text_or_a_path(path):
    lw.save(lw.Mahalanobis(2.0), str(path))
    assert repr(lw.load(path)) == repr(lw.load(str(path))) == "Mahalanobis(L=2.0)"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    longest = tmp_path / ("m" * 255)
    lw.Mahalanobis(2.0).save(longest)
    assert lw.load(longest).L == 2.0


def test_a_loaded_model_does_not_hang_on_its_file(path):
    lw.Bilinear(np.eye(3)).save(path)
    loaded = lw.load(path)
    path.write_bytes(b"\0" * path.stat().st_size)
    assert_array_equal(loaded.W, np.eye(3))


def test_a_map_in_any_order_of_memory_keeps_its_values(path):
    turned = np.arange(6.0).reshape(2, 3).T
    lw.Mahalanobis(turned).save(path)
    assert_array_equal(lw.load(path).L, turned)


@pytest.mark.parametrize("broken", ["os.replace", "os.fsync", "safetensors.numpy.save_file"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_an_interrupted_save_leaves_what_was_there(path, monkeypatch, broken, error):
    lw.Mahalanobis(1.0).save(path)
    before = path.read_bytes()
    module, _, name = broken.rpartition(".")

    def fail(*args, **kwargs):
        if name == "save_file":
            Path(args[1]).write_bytes(b"half of a fi")
        raise error

    monkeypatch.setattr(sys.modules[module], name, fail)
    with pytest.raises(type(error)):
        lw.Mahalanobis(2.0).save(path)
    with pytest.raises(type(error)):
        lw.Mahalanobis(2.0).save(path.with_name("new.safetensors"))
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


SAVE_FOR_EVER = """
import sys, numpy as np, likewise as lw
models = [lw.Mahalanobis(np.full((200, 200), value)) for value in (1.0, 2.0)]
models[0].save(sys.argv[1])
print("started", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_killed_process_leaves_a_whole_file(path):
    for delay in (0.0, 0.013, 0.031):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        with process:
            assert process.stdout.readline() == b"started\n"
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        L = lw.load(path).L
        assert L.shape == (200, 200)
        assert (L[0, 0] == L).all()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(path):
    lw.Mahalanobis(1.0).save(path)
    assert mode_of(path) == 0o666 & ~umask()
    path.chmod(0o640)
    lw.Mahalanobis(2.0).save(path)
    assert mode_of(path) == 0o640


def test_a_missing_file_is_said_to_be_missing(path, tmp_path):
    for missing in (path, tmp_path / "no" / "where", "\0"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            lw.load(missing)


def test_a_folder_is_said_to_be_a_folder(tmp_path):
    for folder in (tmp_path, str(tmp_path), ""):
        with pytest.raises(IsADirectoryError, match=r"is a folder, but a model file is needed\.$"):
            lw.load(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path is in .*nowhere, but there is no such"):
        lw.Mahalanobis(1.0).save(tmp_path / "nowhere" / "model")


def test_a_folder_is_no_file_to_save_to(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"path must be a file, but .* is a folder"):
        lw.Mahalanobis(1.0).save(tmp_path)


class Mahalanobis:
    """Of the same name as one of ours, and not ours."""


class Subclass(lw.Mahalanobis):
    """What a subclass adds would be lost."""


@pytest.mark.parametrize(
    "model",
    [None, 3, np.eye(2), {"a": 1}, object(), Mahalanobis(), Subclass(1.0), lw.Mahalanobis,
     lw.from_callable(max), lw.from_distance(max)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_what_is_not_ours_or_not_data_is_refused_and_nothing_is_written(model, path):
    with pytest.raises(TypeError, match=r"model is a .*, which a model file cannot hold; it can"):
        lw.save(model, path)
    assert not list(path.parent.iterdir())


def test_a_refused_save_leaves_what_was_there(path):
    lw.Mahalanobis(1.0).save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        lw.from_callable(max).save(path)
    assert path.read_bytes() == before


def test_a_model_of_safetensors_is_not_ours(path):
    safetensors.numpy.save_file({"W": np.eye(2)}, path)
    with pytest.raises(lw.exceptions.ModelFileError, match="it was not written by likewise"):
        lw.load(path)
