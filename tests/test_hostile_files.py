"""Files that are damaged, foreign or made to harm: a sentence, and nothing runs."""

import contextlib
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.hand_made import CSR, IDENTITY, doubles, file_of, fitted, longs, nested, parameters

import likewise as lw
from likewise.exceptions import ModelFileError

GOLDEN = Path(__file__).parent / "data" / "bilinear_v1.safetensors"


OF_NO_ESTIMATOR = ["score", "W", "takes", "x_", "__class__"]
NOT_FOR_A_FILE = ["predict", "score", "fit", "get_params", "_x", "__class__", "__dict__", "X_", "x"]
BAD = {
    "empty": b"",
    "text": b"not a model at all, but long enough to hold a length",
    "huge header length": struct.pack("<Q", 2**63) + b"{}",
    "header longer than the file": struct.pack("<Q", 1000) + b"{}",
    "header that is no JSON": struct.pack("<Q", 8) + b"{{{{{{{{",
    "trailing garbage": GOLDEN.read_bytes() + b"x",
    "foreign": file_of({"format": None}),
    "no metadata": file_of({}, metadata={}),
    "future version": file_of({"format_version": "2", **parameters(W=1.0)}),
    "no version": file_of({"format_version": None, **parameters(W=1.0)}),
    "odd version": file_of({"format_version": "-1", **parameters(W=1.0)}),
    "endless version": file_of({"format_version": "9" * 10_000, **parameters(W=1.0)}),
    "unknown class": file_of({"class": "Popen", **parameters(args=["rm"])}),
    "no class": file_of({"class": None, **parameters(W=1.0)}),
    "class with a path": file_of({"class": "os.system", **parameters(command="true")}),
    "no parameters": file_of({}),
    "parameters that are no JSON": file_of({"parameters": "{"}),
    "parameters that are a list": file_of({"parameters": "[]"}),
    "unknown parameter": file_of(parameters(W=1.0, weight=2.0)),
    "parameter named self": file_of(parameters(self=1.0)),
    "missing parameter": file_of(parameters(norm="none")),
    "wrong value": file_of(parameters(W=1.0, norm="euclid")),
    "wrong type": file_of(parameters(W={"$dict": {"a": 1}})),
    "value of no kind": file_of(parameters(W={"$pickle": "gASV"})),
    "plain list": file_of(parameters(W=[1.0])),
    "plain dict": file_of(parameters(W={"a": 1})),
    "number of no kind": file_of(parameters(W={"$float": "1e5"})),
    "not finite": file_of(parameters(W={"$float": "nan"})),
    "not finite in JSON": file_of({"parameters": '{"W": 1e999}'}),
    "endless number": file_of({"parameters": '{"W": 1' + "0" * 5000 + "}"}),
    "large number": file_of({"parameters": '{"W": 1' + "0" * 400 + "}"}),
    "not finite in an array": file_of(parameters(W={"$array": "a"}), {"a": doubles(np.inf)}),
    "missing array": file_of(parameters(W={"$array": "a"})),
    "array named by a list": file_of(parameters(W={"$array": ["a"]}), {"a": doubles(1.0)}),
    "three dimensions": file_of(
        parameters(W={"$array": "a"}), {"a": ("F64", [1, 1, 1], bytes(8))}
    ),
    "empty array": file_of(parameters(W={"$array": "a"}), {"a": ("F64", [0, 2], b"")}),
    **{
        f"array of {dtype}": file_of(
            parameters(W={"$array": "a"}), {"a": (dtype, [2], bytes(2 * size))}
        )
        for dtype, size in {"BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "C64": 8}.items()
    },
    "shape that does not fit": file_of(parameters(W={"$text": ["a", "b"], "$shape": [3]})),
    "shape that overflows": file_of(parameters(W={"$text": [], "$shape": [2**40, 2**40, 0]})),
    "shape of no integers": file_of(parameters(W={"$text": ["a"], "$shape": [True]})),
    "text of no strings": file_of(parameters(W={"$text": [1]})),
    "list that is none": file_of(parameters(W={"$list": {"a": 1}})),
    "nested deeply": file_of(fitted({"c": nested(25)}), IDENTITY),
    "nested more deeply than JSON can": file_of({"parameters": "[" * 200_000}),
    "nested object of no parts": file_of(parameters(W={"$object": 3})),
    "nested object of no class": file_of(parameters(W={"$object": {"class": ["Bilinear"]}})),
    "nested object that is no map": file_of(
        parameters(W={"$object": {"class": "Bilinear", "parameters": {"W": 1.0}}})
    ),
    "sparse map": file_of(parameters(W=CSR), IDENTITY),
    **{
        f"sparse {what}": file_of(fitted(items_=CSR), {**IDENTITY, **parts})
        for what, parts in {
            "index outside": {"i": longs(0, 9)},
            "index below zero": {"i": longs(0, -1)},
            "index of floats": {"i": doubles(0.0, 1.0)},
            "pointer of floats": {"p": doubles(0.0, 1.0, 2.0)},
            "pointer down": {"p": longs(0, 2, 1)},
            "pointer too long": {"p": longs(0, 1, 2, 2)},
            "pointer past the end": {"p": longs(0, 1, 9)},
            "shape below zero": {"s": longs(-2, 2)},
            "shape of another length": {"s": longs(3, 2)},
        }.items()
    },
    "sparse of too few parts": file_of(fitted(items_={"$csr": []})),
    **{
        f"{name} of no estimator": file_of({**parameters(W=1.0), "fitted": json.dumps({name: 1})})
        for name in OF_NO_ESTIMATOR
    },
    **{f"fitted {name}": file_of(fitted(**{name: 1}), IDENTITY) for name in NOT_FOR_A_FILE},
    "distance that is neither": file_of({"class": "Precomputed", **parameters(is_distance="no")}),
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_with_a_sentence(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as info:
        lw.load(path)
    message = str(info.value)
    assert message.startswith(f"{path} is not a readable model: ")
    assert len(message) - len(str(path)) < 300


def test_a_good_file_made_by_hand_is_read(path):
    """Without this the refusals above could be of anything."""
    path.write_bytes(file_of(parameters(W={"$array": "a"}), {"a": doubles(1.0, 2.0)}))
    assert lw.load(path).W.tolist() == [1.0, 2.0]
    path.write_bytes(file_of(fitted({"n_neighbors": 1, "c": nested(3)}), IDENTITY))
    loaded = lw.load(path)
    assert loaded.items_.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert loaded.predict([[1.0, 0.1], [0.1, 1.0]]).tolist() == ["a", "b"]
    assert loaded.c == [[[1.0]]]


def test_a_file_cannot_cover_what_the_class_defines(path, monkeypatch):
    monkeypatch.setattr(lw.SimilarityClassifier, "decide_", lambda self: "ours", raising=False)
    path.write_bytes(file_of(fitted(decide_="theirs"), IDENTITY))
    with pytest.raises(ModelFileError, match="it sets 'decide_', which is not for a file to set"):
        lw.load(path)


def test_a_future_version_is_told_to_upgrade(path):
    path.write_bytes(BAD["future version"])
    with pytest.raises(ModelFileError, match=r"format version 2 .*reads up to 1: upgrade likewise"):
        lw.load(path)


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_nothing_in_a_file_is_unpickled(path, tmp_path):
    trace = tmp_path / "trace"
    payload = pickle.dumps(Bomb(trace))
    text = payload.decode("latin-1")
    for content in (
        payload,
        file_of(parameters(W={"$array": "a"}), {"a": ("U8", [len(payload)], payload)}),
        file_of(parameters(W={"$objects": [text], "$shape": [1]})),
        file_of(parameters(W={"$pickle": text})),
        file_of({"class": text, **parameters(W=1.0)}),
        file_of({**parameters(W=1.0), "fitted": json.dumps({"__reduce__": text})}),
    ):
        path.write_bytes(content)
        with contextlib.suppress(ModelFileError):
            lw.load(path)
        assert not trace.exists()
    pickle.loads(payload)
    assert trace.exists()  # the bomb is a real one
