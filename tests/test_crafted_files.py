"""Valid files with wrong arrays are refused, or are used without harm; see `crafted_files`."""

import struct
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from tests.crafted_files import read, write
from tests.data.write_edition import FOLDER
from tests.test_editions import FILES

import likewise as lw
from likewise._files import from_bytes
from likewise._files._classes import HOMES
from likewise._files._fields import fields_of
from likewise.exceptions import ModelFileError

_PROCESSES = 4
_STEP = 5  # the whole run, with a step of 1, takes minutes


@pytest.mark.parametrize("part", range(_PROCESSES))
def test_a_file_with_wrong_arrays_is_refused_or_harmless(part):
    # In another process: where an array is read out of bounds, the process ends.
    command = [sys.executable, "-m", "tests.crafted_files", str(_STEP), *FILES[part::_PROCESSES]]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ran.stdout.splitlines()[-1:]
    assert ran.returncode == 0, (last, ran.stderr[-3000:])
    assert len(ran.stdout.splitlines()) > 100


def changed(name, array, change):
    """Return an edition's file with one array changed."""
    header, arrays = read((FOLDER / f"{name}.safetensors").read_bytes())
    (full,) = (key for key in arrays if key.split("#")[0] == array)
    return write(header, {**arrays, full: change(arrays[full])})


@pytest.mark.parametrize(
    ("name", "array", "change", "message"),
    [
        ("DBoost", "firsts_", lambda a: np.full_like(a, 2**40), "there are 16 prototypes"),
        ("DBoost", "seconds_", lambda a: a - 100, "but must be at least 0"),
        ("DBoost", "items_", lambda a: a[: len(a) // 2], "a length of 16, but 8 is needed"),
        ("DBoost", "outputs_", lambda a: a[:, :1], "a length of 1, but 2 is needed"),
        ("DBoost", "classes_", lambda a: a[::-1], "2 or more classes in order, but holds"),
        ("dboost-matrix", "items_", lambda a: a + 60, "there are 60 features"),
        ("BalancedWinnow", "log_weights_", lambda a: a[:, :2], "a length of 2, but 4 is needed"),
        ("classifier-softmax", "labels_", lambda a: a + 1, "there are 3 classes"),
        ("SimilarityClassifier", "labels_", lambda a: a.astype(float), "must be an array of int64"),
        ("MLKR", "weights_", lambda a: -a, "but must be at least 0"),
        ("LMNN", "components_", lambda a: a * np.nan, "holds NaN or infinity"),
        ("Matcher", "coef", lambda a: a * np.nan, "coef holds NaN or infinity"),
        ("Matcher", "scale", lambda a: 0 * a, "scale holds 0.0, but must be at least"),
        ("Matcher", "threshold", lambda a: a[:, None], "threshold has 2 dimensions, but 1 are"),
        ("Matcher", "share", lambda a: a * np.nan, "share holds NaN or infinity"),
        ("Matcher", "share", lambda a: a + 1, "share holds 2.0, but must be at most 1"),
        ("Matcher", "share", lambda a: a[None], "share has 2 dimensions, but 1 are"),
        ("Matcher", "weights", lambda a: np.concatenate([a, a]), "a length of 5, but 2 is needed"),
        ("matcher-guess", "W", lambda a: a[:9], "a length of 9, but 170 is needed"),
    ],
)
def test_an_array_is_refused_with_a_sentence(name, array, change, message):
    with pytest.raises(ModelFileError, match=message):
        from_bytes(changed(name, array, change))


def test_every_estimator_declares_its_fitted_attributes():
    for name, home in HOMES.items():
        kind = getattr(import_module(f"likewise.{home}"), name)
        assert bool(fields_of(kind)) == hasattr(kind, "get_params"), name


def test_an_undeclared_attribute_is_not_written(tmp_path):
    model = lw.MedianBinarizer().fit(np.eye(3))
    model.new_ = 1
    with pytest.raises(TypeError, match="has new_, which MedianBinarizer"):
        lw.save(model, tmp_path / "model.safetensors")


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_number_too_large_is_refused(value):
    header, arrays = read((FOLDER / "ItemOffsets.safetensors").read_bytes())
    header["parameters"] = header["parameters"].replace('"gamma": 0.5', f'"gamma": {value}')
    with pytest.raises(ModelFileError):
        from_bytes(write(header, arrays))


def test_a_mapped_array_of_an_unknown_dtype_is_refused(tmp_path):
    content = (FOLDER / "index-exact.safetensors").read_bytes()
    changed = content.replace(b'"dtype":"U8"', b'"dtype":"F8_E4M3"')
    size = struct.unpack("<Q", content[:8])[0] + len(changed) - len(content)
    path = tmp_path / "index.safetensors"
    path.write_bytes(struct.pack("<Q", size) + changed[8:])
    with pytest.raises(ModelFileError, match="F8_E4M3"):
        lw.load(path)


@pytest.mark.parametrize(
    ("written", "tampered", "message"),
    [
        ('{"$array": "mean#3"}', '"text"', "mean must be an array of float64, not a str"),
        ("-0.5710314900436312", '"text"', "intercept must be a number, not 'text'"),
        ("-0.5710314900436312", '{"$float": "nan"}', "intercept is nan, but must be finite"),
        ('"share": 0.4', '"share": 1.5', "share is 1.5, but must be at most 1"),
        ('"share": 0.17805823506474305', '"share": "text"', "share must be a number, not 'text'"),
        ('{"fruit": "string", "kind": "string"}', "{}", "fields_ has 0 entries, but needs 1"),
        ('{"fruit": {"$dict"', '{"root": {"$dict"', "must have fruit, kind, \\*, but has root, k"),
        ('"share_": 0.30578696916003445', '"share_": 2', "share_ is 2, but must be at most 1"),
        ('"precision": 0.6981292908092107', '"precision": "text"', "forecast_.precision must be"),
        ('"judged_": null', '"judged_": {"$dict": {"n": 3}}', "it lacks judged_.precision"),
    ],
)
def test_a_value_of_a_matcher_is_refused_with_a_sentence(written, tampered, message):
    header, arrays = read((FOLDER / "Matcher.safetensors").read_bytes())
    assert header["fitted"].count(written) == 1
    header["fitted"] = header["fitted"].replace(written, tampered)
    with pytest.raises(ModelFileError, match=message):
        from_bytes(write(header, arrays))
