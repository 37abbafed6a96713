"""Swaps, interruptions and other processes at one table of the pgvector engine."""

import json
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.index.interruptions import interrupted_after
from tests.index.stores.tables import FORM, ITEMS, QUERIES, filled

import likewise as lw
from likewise.index.stores import _table


def test_a_swap_of_mapped_items_is_refused_by_those_who_map_otherwise(place):
    old, new = lw.Mahalanobis(FORM), lw.Mahalanobis(FORM[:3])
    index, other = filled(place, old), lw.Index(old, **place)
    index.swap(new)
    assert_array_equal(index.search(QUERIES, 5).ids, new.neighbors(QUERIES, ITEMS, 5).ids)
    for refused in (
        lambda: other.search(QUERIES),
        lambda: other.add([100], ITEMS[:1]),
        lambda: other.update([1], ITEMS[:1]),
        lambda: lw.Index(old, **place),
    ):
        with pytest.raises(ValueError, match="mapped for another similarity"):
            refused()
    other.swap(new)
    other.add([100], ITEMS[:1])
    assert len(index) == 61
    # Back to items as they are: they can be added to, and are mapped for nobody any more.
    other.swap(lw.Bilinear(FORM)).add([101], ITEMS[:1])
    assert_array_equal(
        other.search(QUERIES, 5, where=range(60)).ids,
        lw.Bilinear(FORM).neighbors(QUERIES, ITEMS, 5).ids,
    )
    with pytest.raises(ValueError, match=r"mapped for another similarity|holds items as they are"):
        index.search(QUERIES)


def test_items_as_they_are_do_not_join_mapped_ones(place):
    filled(place, lw.Mahalanobis(FORM))
    plain = lw.Index(lw.Bilinear(1.0), **place)
    assert_array_equal(
        plain.search(QUERIES, 3).ids, lw.Bilinear(1.0).neighbors(QUERIES, ITEMS, 3).ids
    )
    with pytest.raises(ValueError, match="swap the table's to this one before adding"):
        plain.add([100], ITEMS[:1])


def test_a_swap_that_fails_leaves_the_table_as_it_was(place, monkeypatch):
    index = filled(place, lw.Mahalanobis(FORM))
    before = index.search(QUERIES, 5).ids

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_table.Table, "_save_plan", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.swap(lw.Mahalanobis(FORM[:2]))
    assert_array_equal(index.search(QUERIES, 5).ids, before)


def test_a_swap_refuses_a_similarity_of_another_width(place):
    index = filled(place, lw.Bilinear(FORM))
    with pytest.raises(ValueError, match="similarity cannot score the items that are stored"):
        index.swap(lw.Bilinear(np.eye(FORM.shape[1] + 1)))
    assert index.search(QUERIES, 1).ids.shape == (len(QUERIES), 1)


@pytest.mark.parametrize("step", ["create", "_copy", "put", "lock"])
@pytest.mark.parametrize("first", [True, False])
def test_an_interrupted_add_leaves_nothing_behind(place, step, first):
    index = lw.Index(lw.Mahalanobis(FORM), **place)
    if not first:
        index.add(range(30), ITEMS[:30])
    with interrupted_after(_table.Table, step):
        with pytest.raises(KeyboardInterrupt):
            index.add(range(30, 60), ITEMS[30:])
        if not first and step in ("_copy", "put"):
            with pytest.raises(KeyboardInterrupt):
                index.update([3], ITEMS[:1])
    assert len(index) == (0 if first else 30)
    index.add(range(30, 60), ITEMS[30:])
    if first:
        index.add(range(30), ITEMS[:30])
    found = index.search(QUERIES, 5).ids
    assert_array_equal(np.sort(found), np.sort(index.similarity.neighbors(QUERIES, ITEMS, 5).ids))


def test_a_row_removed_meanwhile_is_not_updated_in_vain(place, monkeypatch):
    index, other = filled(place), lw.Index(lw.Bilinear(1.0), **place)
    put = _table.Table.lock

    def late(self, *args, **kwargs):
        other.remove([3])
        put(self, *args, **kwargs)

    monkeypatch.setattr(_table.Table, "lock", late)
    with pytest.raises(ValueError, match="another process has just removed one"):
        index.update([3, 4], -ITEMS[3:5])
    assert_allclose(index.items([4]), ITEMS[4:5])


def run(code, *arguments):
    """Start another process."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_write_and_read_one_table_at_once(place):
    code = """
        import json, sys
        import numpy as np
        import likewise as lw
        url, table, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
        index = lw.Index(lw.Mahalanobis(2.0), url=url, table=table)
        shared, seen = 0, []
        for step in range(8):
            ids = [first + 4 * step + n for n in range(4)]
            index.add(ids, np.full((4, 3), float(first + step)))
            try:
                index.add([10_000 + step], np.ones((1, 3)))
                shared += 1
            except ValueError as error:
                assert "stored" in str(error), error
            if step % 3 == 2:
                index.update(ids[:2], np.full((2, 3), float(step))).remove(ids[2:3])
            found = index.search(np.ones((2, 3)), 1000)
            ids = [i for i, _ in found.row(0)]
            assert len(set(ids)) == len(ids)
            seen.append(len(ids))
        print(json.dumps({"shared": shared, "seen": seen}))
    """
    running = [run(code, place["url"], place["table"], first) for first in (0, 1000)]
    told = []
    for process in running:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        told.append(json.loads(out))
    assert sum(one["shared"] for one in told) == 8
    index = lw.Index(lw.Mahalanobis(2.0), **place)
    assert len(index) == 2 * (32 - 2) + 8
    assert max(one["seen"][-1] for one in told) <= len(index)


def test_another_process_is_told_of_a_swap(place):
    code = """
        import sys
        import numpy as np
        import likewise as lw
        index = lw.Index(lw.Mahalanobis(1.0), url=sys.argv[1], table=sys.argv[2])
        print("ready", flush=True)
        input()
        index.search(np.ones((1, 4)))
    """
    index = filled(place, lw.Mahalanobis(1.0))
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *map(str, place.values())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        index.swap(lw.Mahalanobis(3.0))
        _, error = process.communicate("go\n", timeout=60)
    assert process.returncode == 1
    assert f"the items of table '{place['table']}' are mapped for another" in error


def test_searches_during_swaps_and_updates_see_one_state(place):
    one, two = lw.Mahalanobis(1.0), lw.Mahalanobis([1.0, 3.0, 1.0, 0.5])
    index = filled(place, one)
    expected = [s.neighbors(QUERIES, ITEMS, 5) for s in (one, two)]
    wrong, done = [], threading.Event()

    def search():
        try:
            while not done.is_set():
                found = index.search(QUERIES, 5)
                if not any(
                    (found.ids == e.ids).all() and np.allclose(found.scores, e.scores, atol=1e-4)
                    for e in expected
                ):
                    wrong.append(found.ids)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(6):
        index.swap(one if turn % 2 else two)
        index.update(range(60), ITEMS)
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
