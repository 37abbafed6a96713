"""Offsets move judged items and nothing else."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix, issparse
from tests import strategies
from tests.hand_made import doubles, file_of, longs
from tests.oracles import offsets as oracle

import likewise as lw
from likewise.exceptions import ModelFileError

FORMS = {"dense": np.asarray, "csr": csr_array}
LOPSIDED = (0.0, -1.0, 1e-6, 0.5, 3.0, 1e6)


def some_offsets(rng, n=3, width=4, gamma=0.5, form=np.asarray, dtype=np.float64):
    directions = form(rng.normal(size=(n, width)).astype(dtype))
    return lw.ItemOffsets(
        [f"i{i}" for i in range(n)], directions, np.ones(n), gamma, np.ones(width)
    )


@st.composite
def problems(draw):
    width = draw(st.integers(1, 4))
    n = draw(st.integers(1, 5))
    items = draw(strategies.tables(st.just(n), st.just(width), LOPSIDED))
    directions = draw(strategies.tables(st.just(n), st.just(width), LOPSIDED))
    return items, directions, draw(st.sampled_from((0.0, 1e-3, 0.35, 1.0, 50.0)))


def lie_opposite(items, directions, gamma):
    """Tell where unit(p) + γc all but vanishes, so that rounding decides on its direction."""
    unit = oracle.moved(items, np.zeros_like(items), 0)
    length = np.linalg.norm(unit, axis=1, keepdims=True)
    sums = np.divide(unit, length, out=np.zeros_like(unit), where=length > 0) + gamma * directions
    return np.linalg.norm(sums, axis=1) < 1e-3


@pytest.mark.parametrize("items_form", FORMS)
@pytest.mark.parametrize("directions_form", FORMS)
@given(problem=problems())
def test_judged_items_move_as_the_formula_says(problem, items_form, directions_form):
    items, directions, gamma = problem
    n, width = items.shape
    offsets = lw.ItemOffsets(
        range(n), FORMS[directions_form](directions), np.ones(n), gamma, np.zeros(width)
    )
    found = offsets.apply(range(n), FORMS[items_form](items))
    assert issparse(found) == (items_form == "csr")
    found = found.toarray() if issparse(found) else found
    clear = ~lie_opposite(items, directions, gamma)
    expected = oracle.moved(items, directions, gamma)
    assert_allclose(found[clear], expected[clear], rtol=1e-9, atol=1e-9)


def test_an_item_by_hand():
    """(3, 4) has length 5 and direction (.6, .8); one more (.8, −.6) is (1.4, .2)."""
    offsets = lw.ItemOffsets([7], [[0.8, -0.6]], [1], 1, [0.0, 0.0])
    assert_allclose(offsets.apply([7], [[3.0, 4.0]]), [5 / np.sqrt(2) * np.array([1.4, 0.2])])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_items_keep_their_length_and_zero_rows_stay_zero(form, rng):
    items = rng.normal(size=(4, 3)) * [[1e-4], [1], [1e4], [0]]
    offsets = some_offsets(rng, 4, 3, gamma=2.0)
    moved = offsets.apply(offsets.ids, form(items))
    moved = moved.toarray() if issparse(moved) else moved
    assert_allclose(np.linalg.norm(moved, axis=1), np.linalg.norm(items, axis=1), rtol=1e-12)
    assert_array_equal(moved[3], np.zeros(3))
    assert (moved[:3] != items[:3]).any(axis=1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("directions_dtype", [np.float32, np.float64])
@pytest.mark.parametrize("items_form", FORMS)
@pytest.mark.parametrize("directions_form", FORMS)
def test_the_precision_of_the_items_is_kept(
    dtype, directions_dtype, items_form, directions_form, rng
):
    """A float32 row is moved in float64 and rounded once, also where its square overflows."""
    offsets = some_offsets(rng, form=FORMS[directions_form], dtype=directions_dtype)
    items = (rng.normal(size=(3, 4)) * [[1], [1e-25], [1e25]]).astype(dtype)
    found = offsets.apply(offsets.ids, FORMS[items_form](items))
    assert found.dtype == dtype
    found = found.toarray() if issparse(found) else found
    dense = offsets.directions.toarray() if issparse(offsets.directions) else offsets.directions
    expected = oracle.moved(items, dense, 0.5)
    scale = np.abs(items).max(axis=1, keepdims=True)
    bound = 2 * np.finfo(dtype).eps if dtype == np.float32 else 1e-12
    assert_allclose(found / scale, expected / scale, rtol=0, atol=bound)


@pytest.mark.parametrize("form", [np.asarray, csr_array, csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unknown_ids_pass_bit_for_bit(form, dtype, rng):
    items = rng.normal(size=(5, 4)).astype(dtype)
    items[1] = 0
    items[2, 1] = np.nextafter(dtype(0), dtype(1))  # the smallest there is
    offsets = some_offsets(rng)
    moved = offsets.apply(["x", "y", "z", "i1", "w"], form(items))
    moved = moved.toarray() if issparse(moved) else moved
    assert moved[[0, 1, 2, 4]].tobytes() == items[[0, 1, 2, 4]].tobytes()
    assert (moved[3] != items[3]).any()


def test_ids_say_which_direction_an_item_takes_in_any_order(rng):
    offsets = some_offsets(rng)
    items = rng.normal(size=(4, 4))
    found = offsets.apply(np.array(["i2", "new", "i0", "i2"]), items)
    expected = oracle.moved(items[[0, 2, 3]], offsets.directions[[2, 0, 2]], 0.5)
    assert_allclose(found[[0, 2, 3]], expected, rtol=1e-12)
    assert_array_equal(found[1], items[1])


def test_a_number_is_not_the_text_of_it():
    offsets = lw.ItemOffsets([1], [[0.0, 1.0]], [1], 1.0, [0, 0])
    assert_array_equal(offsets.apply(["1"], [[1.0, 0.0]]), [[1.0, 0.0]])
    assert 1 in offsets
    assert "1" not in offsets


@pytest.mark.parametrize("ids", [np.array([4, 5]), [np.int64(4), np.uint8(5)], (4, 5), range(4, 6)])
def test_numbers_of_numpy_are_ids(ids, rng):
    offsets = lw.ItemOffsets(ids, np.eye(2), [1, 1], 1.0, [0, 0])
    assert offsets.ids == (4, 5)
    assert [type(identifier) for identifier in offsets.ids] == [int, int]
    items = rng.normal(size=(2, 2))
    assert_array_equal(offsets.apply(ids, items), offsets.apply([4, 5], items))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("gamma", [0, 0.0])
def test_gamma_zero_moves_nothing(form, gamma, rng):
    items = rng.normal(size=(3, 4))
    offsets = some_offsets(rng, gamma=gamma)
    found = offsets.apply(offsets.ids, form(items))
    found = found.toarray() if issparse(found) else found
    assert found.tobytes() == items.tobytes()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_was_given_is_left_as_it_is(form, rng):
    items, directions = form(rng.normal(size=(3, 4))), form(rng.normal(size=(3, 4)))
    before = [copy.deepcopy(rows) for rows in (items, directions)]
    offsets = lw.ItemOffsets(list("abc"), directions, np.ones(3), 1.0, np.ones(4))
    offsets.apply(list("abc"), items)
    for rows, kept in zip((items, directions), before, strict=True):
        assert abs(rows - kept).sum() == 0


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_later_changes_of_the_caller_s_arrays_have_no_effect(form, rng):
    directions, counts, center = form(rng.normal(size=(3, 4))), np.ones(3), np.ones(4)
    offsets = lw.ItemOffsets(list("abc"), directions, counts, 1.0, center)
    items = rng.normal(size=(3, 4))
    before = offsets.apply(list("abc"), items)
    for array in (directions.data if issparse(directions) else directions, counts, center):
        array[:] = 99
    assert_array_equal(offsets.apply(list("abc"), items), before)
    assert_array_equal(offsets.counts, np.ones(3))
    assert_array_equal(offsets.center, np.ones(4))
    with pytest.raises(ValueError, match="read-only"):
        offsets.counts[0] = 2


def test_it_is_a_value(rng):
    offsets = some_offsets(rng)
    assert copy.deepcopy(offsets) is offsets
    assert len(offsets) == 3
    assert offsets.n_item_features == 4
    assert repr(offsets) == "ItemOffsets(3 items, gamma=0.5)"
    with pytest.raises(AttributeError):
        offsets.gamma = 1.0


@pytest.mark.parametrize("ids", [("a", "b"), (5, -(2**63)), ("a", 5)])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by", ["file", "pickle"])
def test_a_round_trip_keeps_every_bit(ids, form, dtype, by, rng, tmp_path):
    directions = form(rng.normal(size=(2, 3)).astype(dtype))
    offsets = lw.ItemOffsets(
        ids, directions, np.array([1.5, 2.0], dtype), 0.35, rng.normal(size=3).astype(dtype)
    )
    if by == "file":
        lw.save(offsets, tmp_path / "offsets.safetensors")
        again = lw.load(tmp_path / "offsets.safetensors")
    else:
        offsets.apply(ids, np.ones((2, 3)))
        again = pickle.loads(pickle.dumps(offsets))
    assert (again.ids, again.gamma) == (offsets.ids, offsets.gamma)
    assert again.directions.dtype == dtype
    assert issparse(again.directions) == issparse(directions)
    assert abs(again.directions - offsets.directions).sum() == 0
    assert_array_equal(again.counts, offsets.counts)
    assert_array_equal(again.center, offsets.center)
    items = rng.normal(size=(2, 3)).astype(dtype)
    assert again.apply(ids, items).tobytes() == offsets.apply(ids, items).tobytes()


GOOD = {
    "ids": ["a", "b"],
    "directions": [[1.0, 0.0], [0.0, 1.0]],
    "counts": [1.0, 2.0],
    "gamma": 0.5,
    "center": [0.0, 0.0],
}


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ({"ids": ["a", "a"]}, ValueError, "ids must be unique, but 'a' is given twice"),
        ({"ids": ["a"]}, ValueError, r"counts must be numbers of shape \(1,\)"),
        ({"ids": ["a"], "counts": [1]}, ValueError, "directions has 2 rows, but there are 1 ids"),
        ({"ids": "ab"}, TypeError, "ids must be a list, one for each item, but 'ab' was given"),
        ({"ids": 2}, TypeError, "ids must be a list, one for each item, but 2 was given"),
        ({"ids": ["a", 1.5]}, TypeError, "ids must be whole numbers or text, but 1.5 was given"),
        ({"ids": ["a", None]}, TypeError, "ids must be whole numbers or text, but None was"),
        ({"ids": ["a", True]}, TypeError, "ids must be whole numbers or text, but True was"),
        ({"ids": [["a"], ["b"]]}, TypeError, r"ids must be whole numbers or text, but \['a'\]"),
        ({"directions": [1.0, 0.0]}, ValueError, "directions must be 2-D"),
        ({"directions": [["x", "y"]] * 2}, TypeError, "directions must be rows of numbers"),
        ({"directions": [[np.nan, 0], [0, 1]]}, ValueError, "directions holds NaN in row 0"),
        ({"directions": csr_array([[0, np.inf], [0, 1]])}, ValueError, "directions holds infinity"),
        ({"directions": np.eye(2, 3)}, ValueError, r"center must be numbers of shape \(3,\)"),
        ({"counts": [1.0, 0.0]}, ValueError, "counts must be above 0"),
        ({"counts": [1.0, -2.0]}, ValueError, "counts must be above 0"),
        ({"counts": [1.0, np.nan]}, ValueError, "counts holds NaN or infinity"),
        ({"counts": ["1", "2"]}, ValueError, r"counts must be numbers of shape \(2,\), but <U1"),
        ({"counts": [[1.0, 2.0]]}, ValueError, r"counts must be .*, but float64 of shape \(1, 2\)"),
        ({"center": [0.0]}, ValueError, r"center must be numbers .* of shape \(1,\) was given"),
        ({"center": [0.0, np.inf]}, ValueError, "center holds NaN or infinity"),
        ({"gamma": -0.1}, ValueError, "gamma must be finite and at least 0, but -0.1 was given"),
        ({"gamma": np.nan}, ValueError, "gamma must be finite and at least 0, but nan was given"),
        ({"gamma": np.inf}, ValueError, "gamma must be finite and at least 0, but inf was given"),
        ({"gamma": "much"}, TypeError, "gamma must be a number, but 'much' was given"),
    ],
)
def test_bad_parts_are_refused_by_name(change, kind, sentence):
    with pytest.raises(kind, match=sentence):
        lw.ItemOffsets(**(GOOD | change))


@pytest.mark.parametrize(
    ("ids", "items", "kind", "sentence"),
    [
        (["a"], np.eye(2), ValueError, "ids has 1 entries, but items has 2 rows"),
        (["a", "b"], np.eye(2, 3), ValueError, "items has 3 columns, but 2 are needed"),
        (["a", "b"], csr_array(np.eye(2, 1)), ValueError, "items has 1 columns, but 2 are needed"),
        (["a", "b"], np.full((2, 2), np.nan), ValueError, "items holds NaN in row 0"),
        (["a", "b"], [1.0, 2.0], ValueError, "items must be 2-D"),
        ("ab", np.eye(2), TypeError, "ids must be a list, one for each item, but 'ab' was given"),
        (None, np.eye(2), TypeError, "ids must be a list, one for each item, but None was given"),
        ([["a"], "b"], np.eye(2), TypeError, r"ids must be whole numbers or text, but \['a'\]"),
        (["a", 1.0], np.eye(2), TypeError, "ids must be whole numbers or text, but 1.0"),
    ],
)
def test_bad_items_are_refused_by_name(ids, items, kind, sentence):
    with pytest.raises(kind, match=sentence):
        lw.ItemOffsets(**GOOD).apply(ids, items)


PARTS = {
    "ids": {"$tuple": ["a", "b"]},
    "directions": {"$array": "directions"},
    "counts": {"$array": "counts"},
    "gamma": 0.5,
    "center": {"$array": "center"},
}
ARRAYS = {
    "directions": ("F64", [2, 2], np.eye(2).tobytes()),
    "counts": doubles(1.0, 2.0),
    "center": doubles(0.0, 0.0),
}


def written(tmp_path, parts=None, arrays=None):
    path = tmp_path / "offsets.safetensors"
    header = {"class": "ItemOffsets", "parameters": json.dumps(PARTS | (parts or {}))}
    path.write_bytes(file_of(header, ARRAYS | (arrays or {})))
    return path


def test_the_file_made_by_hand_is_good(tmp_path):
    assert lw.load(written(tmp_path)).ids == ("a", "b")


@pytest.mark.parametrize(
    ("parts", "arrays"),
    [
        ({}, {"directions": ("F64", [1, 2], bytes(16))}),
        ({}, {"directions": ("F64", [4], bytes(32))}),
        ({}, {"directions": ("F64", [0, 2], b"")}),
        ({}, {"directions": ("F64", [2, 0], b"")}),
        ({}, {"directions": ("F64", [2, 1, 2], bytes(32))}),
        ({}, {"directions": ("F64", [2, 2], np.full((2, 2), np.nan).tobytes())}),
        ({}, {"directions": ("C64", [2, 2], bytes(32))}),
        ({}, {"counts": doubles(1.0)}),
        ({}, {"counts": doubles(1.0, -1.0)}),
        ({}, {"counts": doubles(1.0, np.inf)}),
        ({}, {"counts": ("BOOL", [2], b"\x01\x01")}),
        ({}, {"center": doubles(0.0, 0.0, 0.0)}),
        ({}, {"center": doubles(0.0, np.nan)}),
        ({"ids": {"$tuple": ["a", "a"]}}, {}),
        ({"ids": {"$tuple": ["a"]}}, {}),
        ({"ids": {"$tuple": ["a", 1.5]}}, {}),
        ({"ids": {"$tuple": ["a", {"$list": []}]}}, {}),
        ({"ids": "ab"}, {}),
        ({"ids": 2}, {}),
        ({"ids": None}, {}),
        ({"ids": {"$array": "counts"}}, {}),
        ({"ids": {"$array": "many"}}, {"many": ("I64", [2, 1], bytes(16))}),
        ({"gamma": {"$float": "inf"}}, {}),
        ({"gamma": -1.0}, {}),
        ({"gamma": "1"}, {}),
        ({"gamma": {"$array": "counts"}}, {}),
        ({"directions": 1.0}, {}),
        ({"directions": None}, {}),
        ({"counts": {"$text": ["1", "2"]}}, {}),
        ({"more": 1.0}, {}),
        (
            {"directions": {"$csr": [{"$array": part} for part in "dips"]}},
            {"d": doubles(1.0), "i": longs(7), "p": longs(0, 1, 1), "s": longs(2, 2)},
        ),
    ],
)
def test_a_hostile_file_is_refused(parts, arrays, tmp_path):
    with pytest.raises(ModelFileError):
        lw.load(written(tmp_path, parts, arrays))
