"""Files of an index with offsets."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.index.offsets.moved_items import (
    FORM,
    IDS,
    ITEMS,
    KINDS,
    OFFSETS,
    QUERIES,
    N,
    as_rows,
    assert_same_answers,
    bits,
    offsets_for,
)
from tests.index_files import set_array, tampered

import likewise as lw
from likewise.exceptions import ModelFileError


@pytest.mark.parametrize(("similarity", "options"), KINDS, ids=repr)
def test_a_file_keeps_offsets_originals_and_what_was_dropped(engine, similarity, options, tmp_path):
    index = lw.Index(similarity, engine=engine, **options, offsets=OFFSETS).add(IDS, ITEMS)
    index.remove([IDS[0], IDS[1]]).update([IDS[3]], ITEMS[:1])
    index.save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index")
    assert_same_answers(loaded, index)
    assert_array_equal(loaded.items(IDS[4:]), ITEMS[4:])
    assert loaded.offsets.ids == OFFSETS.ids
    for each in (index, loaded):
        each.add([IDS[0]], ITEMS[:1])  # as it is, because it was removed
    scores = loaded.search(QUERIES, 1, where=[IDS[0]]).scores.ravel()
    assert_allclose(scores, similarity.score(QUERIES, ITEMS[:1]).ravel(), rtol=1e-4, atol=1e-5)
    assert_same_answers(loaded, index)
    assert bits(loaded.set_offsets(None).items(IDS[4:])) == bits(ITEMS[4:])
    loaded.save(tmp_path / "index")
    assert_same_answers(lw.load(tmp_path / "index"), loaded)


def test_sparse_originals_and_an_empty_index_have_files(tmp_path):
    s = lw.Bilinear(FORM)
    lw.Index(s, offsets=OFFSETS).add(IDS, csr_array(ITEMS)).save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index")
    assert_same_answers(loaded, lw.Index(s).add(IDS, OFFSETS.apply(IDS, csr_array(ITEMS))))
    assert_array_equal(as_rows(loaded.set_offsets(None).items(IDS)), ITEMS)
    empty = lw.Index(s, offsets=OFFSETS).add(IDS[:1], ITEMS[:1]).remove(IDS[:1])
    empty.save(tmp_path / "index")
    loaded = lw.load(tmp_path / "index").add(IDS, ITEMS)
    moved = OFFSETS.apply(IDS, ITEMS)
    moved[0] = ITEMS[0]
    assert_same_answers(loaded, lw.Index(s).add(IDS, moved))


def without(*names):
    def change(arrays, parameters):
        for name in names:
            del parameters[name]

    return change


def nan_in(rows):
    rows[0, 0] = np.nan
    return rows


def as_json(value):
    return lambda a: np.frombuffer(json.dumps(value).encode(), np.uint8)


@pytest.mark.parametrize(
    "change",
    [
        set_array("originals", lambda a: a[:-1]),
        set_array("originals", lambda a: a[:, :-1]),
        set_array("originals", lambda a: a.ravel()),
        set_array("originals", nan_in),
        set_array("moved", lambda a: a[:-1]),
        set_array("moved", lambda a: a[::-1]),
        set_array("moved", lambda a: a + N),
        set_array("moved", lambda a: a - 3),
        set_array("moved", lambda a: a + 1),
        set_array("moved", lambda a: np.zeros_like(a)),
        set_array("moved", lambda a: a.astype(np.float64)),
        set_array("moved", lambda a: a[:, None]),
        set_array("moved", lambda a: a[:0]),
        set_array("dropped", as_json(["i1"])),
        set_array("dropped", as_json([["i0"]])),
        set_array("dropped", as_json({"i0": 1})),
        set_array("dropped", lambda a: a[:-1]),
        set_array("directions", lambda a: a[:, :-1]),
        set_array("directions", lambda a: a[:-1]),
        set_array("directions", nan_in),
        set_array("center", lambda a: a[:-1]),
        without("moved"),
        without("originals"),
        without("offsets"),
        without("offsets", "dropped"),
        lambda arrays, parameters: parameters.update(offsets=5),
        lambda arrays, parameters: parameters.update(moved=[0]),
        lambda arrays, parameters: parameters.update(originals="x"),
        lambda arrays, parameters: parameters.update(dropped="x"),
    ],
)
@pytest.mark.parametrize("kind", ["exact", "usearch"])
def test_parts_that_do_not_belong_together_are_refused(tmp_path, change, kind):
    pytest.importorskip("usearch")
    path = tmp_path / "index"
    index = lw.Index(lw.Bilinear(1.0), engine=kind, offsets=OFFSETS).add(IDS, ITEMS)
    index.remove(IDS[6:7]).save(path)
    lw.load(path)
    tampered(path, change)
    with pytest.raises(ModelFileError, match="is not a readable model"):
        lw.load(path)


def test_offsets_of_another_width_in_a_file_are_refused(tmp_path):
    path = tmp_path / "index"
    lw.Index(lw.Bilinear(1.0), offsets=offsets_for(["elsewhere"])).add(IDS, ITEMS).save(path)

    def narrow(arrays, parameters):
        for name in ("directions", "center"):
            found = next(key for key in arrays if key.startswith(name))
            arrays[found] = np.ascontiguousarray(arrays[found][..., :-1])

    tampered(path, narrow)
    with pytest.raises(ModelFileError, match="offsets moves items of 3 columns, but the items hav"):
        lw.load(path)


def test_a_file_without_offsets_has_no_parts_of_them(tmp_path):
    index = lw.Index(lw.Bilinear(1.0), offsets=OFFSETS).add(IDS, ITEMS).set_offsets(None)
    assert not {"offsets", "dropped", "moved", "originals"} & set(index._parts_for_file())
