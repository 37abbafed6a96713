"""Files that are damaged, foreign or made to harm: a sentence, and nothing runs."""

import contextlib
import json
import pickle
import random
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.exceptions import ModelFileError

GOLDEN = Path(__file__).parent / "data" / "bilinear_v1.safetensors"


def file_of(header, tensors=None, *, metadata=None):
    """Return the bytes of a safetensors file, made by hand.

    Parameters
    ----------
    header : entries of our header that differ from those of a good one; None takes one away
    tensors : name to (type in the file, shape, bytes)
    """
    good = {"format": "likewise", "format_version": "1", "class": "Bilinear"}
    entries = {key: value for key, value in {**good, **header}.items() if value is not None}
    described, data = {"__metadata__": entries if metadata is None else metadata}, b""
    for name, (dtype, shape, content) in (tensors or {}).items():
        offsets = [len(data), len(data) + len(content)]
        described[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += content
    text = json.dumps(described).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def parameters(**values):
    return {"parameters": json.dumps(values)}


def doubles(*values):
    return "F64", [len(values)], struct.pack(f"<{len(values)}d", *values)


def longs(*values):
    return "I64", [len(values)], struct.pack(f"<{len(values)}q", *values)


def csr(data=("d",), indices=("i",), indptr=("p",), shape=("s",)):
    return {"W": {"$csr": [{"$array": part[0]} for part in (data, indices, indptr, shape)]}}


def nested(depth):
    value = 1.0
    for _ in range(depth):
        value = {"$list": [value]}
    return value


IDENTITY = {"d": doubles(1.0, 1.0), "i": longs(0, 1), "p": longs(0, 1, 2), "s": longs(2, 2)}
HARMFUL_NAMES = ["score", "__class__", "__dict__", "__reduce__", "_W", "W", "takes", "x_"]
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
    "nested deeply": file_of(parameters(W=nested(25))),
    "nested more deeply than JSON can": file_of({"parameters": "[" * 200_000}),
    "nested object of no parts": file_of(parameters(W={"$object": 3})),
    "nested object of no class": file_of(parameters(W={"$object": {"class": ["Bilinear"]}})),
    "nested object that is no map": file_of(
        parameters(W={"$object": {"class": "Bilinear", "parameters": {"W": 1.0}}})
    ),
    "sparse map": file_of(parameters(**csr()), IDENTITY),
    "sparse index outside": file_of(parameters(**csr()), {**IDENTITY, "i": longs(0, 9)}),
    "sparse index below zero": file_of(parameters(**csr()), {**IDENTITY, "i": longs(0, -1)}),
    "sparse index of floats": file_of(parameters(**csr()), {**IDENTITY, "i": doubles(0.0, 1.0)}),
    "sparse pointer down": file_of(parameters(**csr()), {**IDENTITY, "p": longs(0, 2, 1)}),
    "sparse pointer too long": file_of(parameters(**csr()), {**IDENTITY, "p": longs(0, 1, 2, 2)}),
    "sparse shape below zero": file_of(parameters(**csr()), {**IDENTITY, "s": longs(-2, 2)}),
    "sparse of too few parts": file_of(parameters(W={"$csr": []})),
    **{
        f"fitted {name}": file_of({**parameters(W=1.0), "fitted": json.dumps({name: 1})})
        for name in HARMFUL_NAMES
    },
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


def test_a_future_version_is_told_to_upgrade(path):
    path.write_bytes(BAD["future version"])
    with pytest.raises(ModelFileError, match=r"format version 2 .*knows up to 1: upgrade likewise"):
        lw.load(path)


def test_a_file_cut_anywhere_is_refused(path):
    whole = GOLDEN.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
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


def damaged(content, rng):
    """Return the bytes with a few flipped, inserted, deleted or repeated."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.choice(b'"{}[]:,\\0123456789eE.-$_aWn\x00\xff')
            case 2:
                del changed[at : at + rng.choice([1, 1, 4])]
            case 3:
                changed[at:at] = rng.choice([b"0", b'"', b"\\", b"{", b"\x00", b"$list", b"1e9"])
            case 4:
                other = rng.randrange(len(changed))
                changed[at : at + 8] = changed[other : other + 8]
        if not changed:
            return b""
    return bytes(changed)


def seeds_of_fuzz(path):
    lw.Mahalanobis(np.arange(6.0).reshape(2, 3)).save(path)
    yield path.read_bytes()
    lw.Precomputed(is_distance=True).save(path)
    yield path.read_bytes()
    yield GOLDEN.read_bytes()
    yield BAD["sparse map"]
    yield BAD["nested object that is no map"]
    yield file_of(
        parameters(W={"$array": "a"}, norm={"$tuple": [{"$text": ["b"], "$shape": [1, 1]}, None]}),
        {"a": doubles(1.0, 2.0), "b": longs(1)},
    )


def test_a_damaged_file_loads_or_is_refused_and_nothing_else(path):
    rng = random.Random(0)
    n_loaded = 0
    seeds = list(seeds_of_fuzz(path))
    for content in seeds:
        for _ in range(700):
            path.write_bytes(damaged(content, rng))
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    loaded = lw.load(path)
                except ModelFileError:
                    continue
                assert isinstance(loaded, lw.Similarity)
                n_loaded += 1
            assert not warned
    assert 0 < n_loaded < 700 * len(seeds)


KINDS = ("$float", "$array", "$text", "$objects", "$csr", "$list", "$tuple", "$dict", "$object")
LEAVES = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        -1,
        2**70,
        1.5,
        "",
        "a",
        "d",
        "i",
        "p",
        "s",
        "nan",
        "Bilinear",
        "Precomputed",
    ]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*KINDS, "$shape", "class", "parameters", "W"]), inner, max_size=3
        )
        | st.builds(lambda kind, value: {kind: value}, st.sampled_from(KINDS), inner)
    ),
    max_leaves=12,
)


@given(
    kind=st.sampled_from(["Bilinear", "Mahalanobis", "Precomputed"]),
    made_with=st.dictionaries(
        st.sampled_from(["W", "L", "norm", "is_distance"]), VALUES, max_size=2
    ),
    fitted=st.none() | VALUES,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is overwritten
def test_a_header_of_any_values_loads_or_is_refused_and_nothing_else(path, kind, made_with, fitted):
    header = {"class": kind, **parameters(**made_with)}
    if fitted is not None:
        header["fitted"] = json.dumps(fitted)
    path.write_bytes(file_of(header, IDENTITY))
    with contextlib.suppress(ModelFileError):
        assert isinstance(lw.load(path), lw.Similarity)
