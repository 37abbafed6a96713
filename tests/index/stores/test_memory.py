"""Interrupted, killed, read by another, changed in the middle: the index stays whole."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import likewise as lw
from likewise.index import _growing
from likewise.index.engines import _exact, _faiss, _usearch
from likewise.index.stores import MemoryStore, _slots

ITEMS = np.random.default_rng(3).normal(size=(80, 4)).astype(np.float32)
QUERIES = np.random.default_rng(4).normal(size=(6, 4)).astype(np.float32)
ENGINES = {
    "exact": _exact.ExactEngine,
    "faiss": _faiss.FaissEngine,
    "usearch": _usearch.UsearchEngine,
}


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param != "exact":
        pytest.importorskip(request.param)
    return request.param


def assert_holds(index, ids, rows):
    """Check that an index finds what is there, and nothing else."""
    assert index.ids == list(ids)
    found = index.search(QUERIES, len(ids) + 2)
    expected = index.similarity.neighbors(QUERIES, rows, len(ids))
    names = np.array(list(ids), dtype=object)
    assert_array_equal(found.ids[:, : len(ids)], names[expected.ids])
    assert (found.ids[:, len(ids) :] == None).all()  # noqa: E711 (elementwise)
    assert_array_equal(index.items(list(ids)), rows)


@pytest.mark.parametrize("similarity", [lw.Bilinear(1.0), lw.Mahalanobis(2.0)], ids=repr)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "step", ["engine", "ids", "fields", "items or vectors", "store", "slots", "remove", "release"]
)
@pytest.mark.parametrize("change", ["add", "update"])
def test_an_interrupted_change_leaves_what_was(engine, similarity, step, when, change, monkeypatch):
    owner, name = {
        "engine": (ENGINES[engine], "add"),
        "ids": (_slots, "id_array"),
        "fields": (_slots.Fields, "put"),
        "items or vectors": (_growing.GrowingRows, "_append_dense"),
        "store": (MemoryStore, "_put"),
        "slots": (MemoryStore, "slots_of"),
        "release": (MemoryStore, "release"),
        "remove": (ENGINES[engine], "remove"),
    }[step]
    index = lw.Index(similarity, engine=engine).add(range(30), ITEMS[:30])
    method = getattr(owner, name)

    def interrupted(*args, **kwargs):
        if when == "after":
            method(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        try:
            if change == "add":
                index.add(range(30, 50), ITEMS[30:50])
            else:
                index.update(range(10), ITEMS[30:40])
            stopped = False
        except KeyboardInterrupt:
            stopped = True
    now = np.r_[10:30, 0:10] if change == "update" else np.r_[0:50]
    rows = ITEMS[np.r_[10:30, 30:40]] if change == "update" else ITEMS[:50]
    if stopped and step not in ("remove", "release"):
        now, rows = np.r_[0:30], ITEMS[:30]
    assert_holds(index, now.tolist(), rows)
    # And it goes on from there: in place, and through a file.
    index.add(range(60, 70), ITEMS[60:70]).remove([60]).update([61], ITEMS[70:71])
    expected = [*now.tolist(), *range(62, 70), 61]
    assert_holds(index, expected, np.concatenate([rows, ITEMS[62:70], ITEMS[70:71]]))


@pytest.mark.parametrize("change", ["add", "update"])
def test_an_interrupt_while_slots_are_recorded_leaves_what_was(engine, change):
    index = lw.Index(lw.Bilinear(1.0), engine=engine).add(range(30), ITEMS[:30])

    class Interrupted(dict):
        def update(self, *args):
            super().update(*args)
            raise KeyboardInterrupt

    store = index.snapshot.store
    object.__setattr__(store, "latest", Interrupted(store.latest))
    with pytest.raises(KeyboardInterrupt):
        getattr(index, change)([3 if change == "update" else 40], ITEMS[40:41])
    assert_holds(index, range(30), ITEMS[:30])
    assert (3 in index, 40 in index) == (True, False)
    index.remove([0, 1]).update([5], ITEMS[41:42]).add([40, 0], ITEMS[[43, 44]])
    expected = [2, 3, 4, *range(6, 30), 5, 40, 0]
    assert_holds(index, expected, ITEMS[[2, 3, 4, *range(6, 30), 41, 43, 44]])


def test_a_snapshot_keeps_its_state_through_later_changes(engine):
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine)
    index.add(range(30), ITEMS[:30], fields={"even": [n % 2 == 0 for n in range(30)]})
    snapshot = index.snapshot
    index.add(range(30, 40), ITEMS[30:40])
    if engine != "usearch":  # a graph forgets removed items at once
        index.update([3], ITEMS[50:51]).remove([4]).update([3], ITEMS[51:52])
    index.swap(lw.Mahalanobis(2.0)).set_offsets(
        lw.ItemOffsets([1], np.ones((1, 4)), [1.0], 1.0, np.zeros(4))
    )
    assert (len(snapshot), snapshot.ids) == (30, list(range(30)))
    assert (3 in snapshot, 4 in snapshot, 35 in snapshot) == (True, True, False)
    assert snapshot.similarity.L == 1.0
    assert snapshot.offsets is None
    assert_array_equal(snapshot.items([3, 1]), ITEMS[[3, 1]])
    expected = snapshot.similarity.neighbors(QUERIES, ITEMS[:30], 30)
    assert_array_equal(snapshot.search(QUERIES, 30).ids, expected.ids)
    even = snapshot.search(QUERIES, 15, where={"even": True}).ids
    assert_array_equal(np.sort(even), np.tile(np.arange(0, 30, 2), (len(QUERIES), 1)))
    assert snapshot.search(3, 29).ids[0].tolist() == [
        n for n in snapshot.similarity.neighbors(ITEMS[3:4], ITEMS[:30], 30).ids[0] if n != 3
    ]


def test_an_interrupted_swap_or_compaction_leaves_what_was(engine, monkeypatch):
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine).add(range(30), ITEMS[:30])

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ENGINES[engine], "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.swap(lw.Mahalanobis(2.0))
    assert_holds(index, range(30), ITEMS[:30])
    index.remove(range(20))
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "_copied_to", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add([50], ITEMS[:1])
        with pytest.raises(KeyboardInterrupt):
            index.remove([25])
    assert_holds(index, range(20, 30), ITEMS[20:30])


def test_sorts_of_rows_that_fail_in_the_middle_do_not_shift_ids():
    s = lw.from_callable(lambda a, b: -abs(len(a) - len(b)))
    index = lw.Index(s).add([0, 1], ["a", "bb"])
    with pytest.raises(TypeError):
        index.snapshot.store.add([2], ["ccc"], 5)
    index.add([3], ["dddd"])
    assert index.search(["xxxx"], 3).ids.tolist() == [[3, 1, 0]]


@pytest.mark.parametrize("change", ["add", "swap", "update"])
def test_searches_in_other_threads_see_one_state(engine, change):
    if engine == "usearch" and change == "update":
        pytest.skip("a graph forgets at once: a search during an update may find fewer items")
    one, two = lw.Mahalanobis(1.0), lw.Mahalanobis([1.0, 4.0, 0.5, 1.0])
    k, n_items = 40, 40
    index = lw.Index(one, engine=engine).add(range(n_items), ITEMS[:n_items])
    if change == "swap":
        states = [s.neighbors(QUERIES, ITEMS[:n_items], k) for s in (one, two)]
    elif change == "update":
        states = [one.neighbors(QUERIES, P[:n_items], k) for P in (ITEMS, -ITEMS)]
    else:
        states = [one.neighbors(QUERIES, ITEMS[: n_items + n], 8) for n in range(0, 41, 4)]
    k = states[0].ids.shape[1]
    wrong, done, n_searches = [], threading.Event(), []

    def search():
        try:
            while not done.is_set():
                found = index.search(QUERIES, k)
                n_searches.append(1)
                if change == "update":  # ids keep their places only up to the order of ties
                    right = [np.allclose(found.scores, s.scores, atol=1e-4) for s in states]
                else:
                    right = [(found.ids == s.ids).all() for s in states]
                if not any(right):
                    wrong.append(found.ids)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 0.5
    turn = 0
    while time.monotonic() < until and not wrong:
        turn += 1
        if change == "swap":
            index.swap(two if turn % 2 else one)
        elif change == "update":
            index.update(range(n_items), (-ITEMS if turn % 2 else ITEMS)[:n_items])
        else:
            if len(index) == 80:
                index.remove(range(40, 80))
                continue
            at = len(index)
            index.add(range(at, at + 4), ITEMS[at : at + 4])
    done.set()
    for thread in threads:
        thread.join()
    assert len(n_searches) > 3
    assert turn > 3
    assert wrong == []


SAVING = """
    import sys
    import numpy as np
    import likewise as lw
    path, engine = sys.argv[1:]
    rng = np.random.default_rng(0)
    index = lw.Index(lw.Mahalanobis(1.0), engine=engine)
    index.add(range(2000), rng.normal(size=(2000, 16)))
    index.save(path)
    print("ready", flush=True)
    turn = 2000
    while True:
        index.add([turn], np.full((1, 16), float(turn)))
        index.save(path)
        turn += 1
"""


def test_a_killed_process_leaves_a_file_that_opens(engine, tmp_path):
    path = tmp_path / "index"
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SAVING), str(path), engine],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        mapped = lw.load(path)
        before = mapped.search(np.zeros((1, 16)), 5)
        n_seen = set()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:  # while it is replaced
            loaded = lw.load(path)
            n_items = len(loaded)
            n_seen.add(n_items)
            last = loaded.search(np.full((1, 16), float(n_items - 1)), 1)
            assert n_items == 2000 or last.ids.tolist() == [[n_items - 1]]
        os.kill(process.pid, signal.SIGKILL)
    assert len(lw.load(path)) >= max(n_seen)
    assert len(n_seen) > 1
    assert_array_equal(mapped.search(np.zeros((1, 16)), 5).ids, before.ids)


def test_a_save_that_fails_leaves_the_file_and_no_other(engine, tmp_path, monkeypatch):
    path = tmp_path / "index"
    index = lw.Index(lw.Bilinear(1.0), engine=engine).add(range(30), ITEMS[:30])
    index.save(path)
    index.add(range(30, 40), ITEMS[30:40])

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.save(path)
    assert len(lw.load(path)) == 30
    assert [file.name for file in tmp_path.iterdir()] == ["index"]
