"""Searches and interruptions while offsets change."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.index.offsets.moved_items import (
    FORM,
    IDS,
    ITEMS,
    OFFSETS,
    QUERIES,
    assert_same_answers,
    offsets_for,
)

import likewise as lw
from likewise.index.engines import _choice
from likewise.index.stores import MemoryStore
from likewise.index.stores._slots import Slots


def test_an_interrupted_change_of_offsets_leaves_what_was(engine, monkeypatch):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, engine=engine, offsets=OFFSETS).add(IDS, ITEMS)
    fresh = lw.Index(s, engine=engine).add(IDS, OFFSETS.apply(IDS, ITEMS))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    steps = [(MemoryStore, "_put"), (MemoryStore, "originals"), (Slots, "append"), (Slots, "moved")]
    for owner, step in steps:
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, interrupted)
            for new in (None, offsets_for(IDS, 5)):
                with pytest.raises(KeyboardInterrupt):
                    index.set_offsets(new)
        assert index.offsets is OFFSETS
        assert_same_answers(index, fresh)
        assert_array_equal(index.items(IDS), ITEMS)


@pytest.mark.parametrize("step", ["_put", "engine"])
def test_an_interrupted_add_does_not_mix_up_originals(engine, monkeypatch, step):
    s = lw.Bilinear(FORM)
    index = lw.Index(s, engine=engine, offsets=OFFSETS).add(IDS[:30], ITEMS[:30])
    what = _choice.ENGINES[engine].make if step == "engine" else MemoryStore
    method = getattr(what, "add" if step == "engine" else step)

    def interrupted(*args, **kwargs):
        method(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(what, "add" if step == "engine" else step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add(IDS[30:], -ITEMS[30:])
    index.add(IDS[30:], ITEMS[30:])
    assert_array_equal(index.items(IDS), ITEMS)
    assert_same_answers(index, lw.Index(s, engine=engine).add(IDS, OFFSETS.apply(IDS, ITEMS)))


def test_searches_during_changes_of_offsets_see_one_state(place):
    s = lw.Bilinear(FORM)
    at = place()
    index = lw.Index(s, **at).add(IDS, ITEMS)
    choices = [None, OFFSETS, offsets_for(IDS, seed=7, gamma=2.0)]
    states = [ITEMS if each is None else each.apply(IDS, ITEMS) for each in choices]
    expected = [[s.score(Q, P) for Q in (QUERIES, ITEMS[:9])] for P in states]

    def is_of(found, scores):
        places = np.array([[IDS.index(i) for i in row] for row in found.ids])
        true = np.take_along_axis(scores, places, axis=1)
        return np.allclose(found.scores.astype(float), true, rtol=1e-4, atol=1e-5)

    wrong, done = [], threading.Event()

    def search():
        try:
            while not done.is_set():
                for which, queries in enumerate((QUERIES, IDS[:9])):
                    found = index.search(queries, 10)
                    if not any(is_of(found, each[which]) for each in expected):
                        wrong.append(found)
                if not (index.items(IDS) == ITEMS).all():
                    wrong.append("items")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(12):
        index.set_offsets(choices[turn % 3])
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
