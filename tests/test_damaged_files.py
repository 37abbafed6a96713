"""Files that are cut, damaged or random: they load or are refused, and nothing else."""

import contextlib
import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hand_made import IDENTITY, file_of, fitted, parameters

import likewise as lw
from likewise.exceptions import ModelFileError

GOLDEN = Path(__file__).parent / "data" / "bilinear_v1.safetensors"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def test_a_file_cut_anywhere_is_refused(path):
    whole = GOLDEN.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            lw.load(path)


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
    inner = {"$object": {"class": "Mahalanobis", "parameters": {"L": {"$array": "d"}}}}
    yield file_of(fitted(similarity_=inner), IDENTITY)
    texts = {"$text": ["b", "c"], "$shape": [2, 1]}
    objects = {"$objects": [None, {"$float": "nan"}], "$shape": [2]}
    yield file_of(fitted({"c": {"$tuple": [texts, {"$dict": {"a": objects}}, 1.5]}}), IDENTITY)


OURS = (lw.Similarity, lw.SimilarityClassifier)


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
                assert isinstance(loaded, OURS)
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


NAMES = st.sampled_from(["W", "L", "norm", "is_distance", "x_", "items_", "predict", "__class__"])
PARTS = st.dictionaries(NAMES, VALUES, max_size=2)


@given(
    kind=st.sampled_from(["Bilinear", "Mahalanobis", "Precomputed", "SimilarityClassifier"]),
    made_with=PARTS,
    left_by_fit=st.none() | PARTS | VALUES,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the file is overwritten
def test_a_header_of_any_values_loads_or_is_refused(path, kind, made_with, left_by_fit):
    header = {"class": kind, **parameters(**made_with)}
    if left_by_fit is not None:
        header["fitted"] = json.dumps(left_by_fit)
    path.write_bytes(file_of(header, IDENTITY))
    with contextlib.suppress(ModelFileError):
        assert isinstance(lw.load(path), OURS)
