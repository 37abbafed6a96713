"""Offsets that an index refuses."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.index.offsets.moved_items import FORM, IDS, ITEMS, OFFSETS, QUERIES, assert_same_answers

import likewise as lw


def test_other_things_than_offsets_are_refused(place):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, **place()).add(IDS, ITEMS)
    for wrong in ({"i0": 1}, 0.5, "offsets", OFFSETS.directions):
        with pytest.raises(TypeError, match="offsets must be ItemOffsets, such as a learner's"):
            index.set_offsets(wrong)
        with pytest.raises(TypeError, match="offsets must be ItemOffsets, such as a learner's"):
            lw.Index(s, **place(), offsets=wrong)
    narrow = lw.ItemOffsets(["i0"], [[1.0, 0.0]], [1.0], 1.0, [0.0, 0.0])
    with pytest.raises(ValueError, match="offsets moves items of 2 columns, but the items have 4"):
        index.set_offsets(narrow)
    with pytest.raises(ValueError, match=r"offsets moves items of 2 columns, which Bilinear\(W=4"):
        lw.Index(s, **place(), offsets=narrow)
    late = lw.Index(lw.Bilinear(1.0), **place(), offsets=narrow)
    with pytest.raises(ValueError, match="offsets moves items of 2 columns, but the items have 4"):
        late.add(IDS, ITEMS)
    assert len(late) == 0
    assert index.offsets is None
    assert_same_answers(index, lw.Index(s, **place()).add(IDS, ITEMS))


def test_a_similarity_of_objects_has_no_offsets():
    s = lw.from_callable(lambda a, b: -abs(len(a) - len(b)))
    with pytest.raises(ValueError, match=r"offsets needs a similarity that takes rows of numbers"):
        lw.Index(s, offsets=OFFSETS)
    index = lw.Index(s).add(["i0"], ["text"])
    with pytest.raises(ValueError, match=r"but .* takes objects"):
        index.set_offsets(OFFSETS)
    with pytest.raises(ValueError, match=r"but .* takes objects"):
        lw.Index(lw.Bilinear(1.0), offsets=OFFSETS).swap(s)
    assert index.search(["four"], 1).ids.tolist() == [["i0"]]


def test_items_that_would_move_beyond_what_a_norm_takes_are_refused():
    s = lw.Bilinear(1.0, "dice")
    back = lw.ItemOffsets(["i0"], [[-9.0, 0, 0, 0]], [1.0], 1.0, np.zeros(4))
    index = lw.Index(s).add(IDS, ITEMS)
    before = index.search(QUERIES, 5)
    with pytest.raises(ValueError, match="offsets must move items to vectors that"):
        index.set_offsets(back)
    with pytest.raises(ValueError, match="offsets must move items to vectors that"):
        lw.Index(s, offsets=back).add(IDS, ITEMS)
    assert index.offsets is None
    assert_array_equal(index.search(QUERIES, 5).scores, before.scores)
    moved = lw.Index(lw.Bilinear(1.0), offsets=back).add(IDS, ITEMS)
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        moved.swap(s)
    original = lw.ItemOffsets(["i0"], [[9.0, 9, 9, 9]], [1.0], 1.0, np.zeros(4))
    moved = lw.Index(lw.Bilinear(1.0), offsets=original).add(["i0"], -ITEMS[:1])
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        moved.swap(s)
