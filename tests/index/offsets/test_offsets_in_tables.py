"""Offsets of items in a PostgreSQL table."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.index.interruptions import interrupted_after
from tests.index.offsets.moved_items import (
    FORM,
    IDS,
    ITEMS,
    OFFSETS,
    QUERIES,
    N,
    assert_same_answers,
    offsets_for,
)

import likewise as lw
from likewise.index.stores import _table


def test_another_process_knows_the_offsets_of_a_table(table):
    at, s = table(), lw.Bilinear(FORM)
    index = lw.Index(s, **at).add(IDS[:30], ITEMS[:30]).set_offsets(OFFSETS)
    index.remove([IDS[6]])
    code = """
        import sys
        import numpy as np
        import likewise as lw
        index = lw.Index(lw.Bilinear(1.0), url=sys.argv[1], table=sys.argv[2])
        assert "not stored" in index.offsets
        rows = np.array(eval(sys.argv[3]), np.float32)
        index.add([f"i{n}" for n in range(30, 60)], rows[30:]).add(["i6"], rows[6:7])
        index.update(["i9"], rows[9:10]).remove(["i12"])
    """
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *at.values(),
         repr(ITEMS.tolist())],
        check=True,
    )  # fmt: skip
    index.add([IDS[12]], ITEMS[12:13])
    moved = OFFSETS.apply(IDS, ITEMS)
    moved[[6, 9, 12]] = ITEMS[[6, 9, 12]]
    order = [*IDS[:6], *IDS[7:12], *IDS[13:], IDS[6], IDS[12]]
    rows = moved[[IDS.index(i) for i in order]]
    assert_same_answers(index, lw.Index(s, **table()).add(order, rows))
    assert_array_equal(index.items(IDS), ITEMS)
    other = lw.Index(s, **at)
    plain = lw.Index(s, **table()).add(order, ITEMS[[IDS.index(i) for i in order]])
    assert_same_answers(other.set_offsets(None), plain)
    assert index.offsets is None
    assert index.add(["not stored"], ITEMS[:1]).offsets is None


def test_offsets_that_another_process_sets_during_an_add_are_applied(table, monkeypatch):
    at, s = table(), lw.Mahalanobis(FORM)
    index, other = lw.Index(s, **at).add(IDS[:30], ITEMS[:30]), lw.Index(s, **at)
    create, left = _table.Table.create, [OFFSETS, None, OFFSETS]

    def late(self, *args, **kwargs):
        if left:
            other.set_offsets(left.pop())
        create(self, *args, **kwargs)

    monkeypatch.setattr(_table.Table, "create", late)
    index.add(IDS[30:], ITEMS[30:])
    assert left == []
    moved = OFFSETS.apply(IDS, ITEMS)
    assert_same_answers(index, lw.Index(s, **table()).add(IDS, moved))
    assert_array_equal(index.items(IDS), ITEMS)


def test_an_opened_table_keeps_its_offsets_or_takes_those_given(table, tmp_path):
    at, s = table(), lw.Bilinear(FORM)
    early = lw.Index(s, **at, offsets=OFFSETS)
    early.save(tmp_path / "index")
    assert lw.load(tmp_path / "index").offsets.ids == OFFSETS.ids
    assert early.offsets is OFFSETS
    early.add(IDS, ITEMS).remove([IDS[0]])
    fresh = lw.Index(s, **table()).add(IDS[1:], OFFSETS.apply(IDS, ITEMS)[1:])
    assert_same_answers(lw.Index(s, **at), fresh)
    same = lw.Index(s, **at, offsets=OFFSETS)  # those that it has: what was dropped stays so
    assert same.add([IDS[0]], ITEMS[:1]).search(ITEMS[:1], 1, [IDS[0]]).scores[0, 0] == (
        pytest.approx(s.score(ITEMS[:1], ITEMS[:1])[0, 0], rel=1e-5)
    )
    other = offsets_for(IDS[::2], seed=4)
    order = [*IDS[1:], IDS[0]]
    moved = other.apply(order, np.roll(ITEMS, -1, axis=0))
    assert_same_answers(lw.Index(s, **at, offsets=other), lw.Index(s, **table()).add(order, moved))
    assert early.offsets.ids == other.ids
    early.save(tmp_path / "index")
    assert lw.load(tmp_path / "index").offsets.ids == other.ids


def test_a_table_of_an_earlier_version_takes_offsets(table, postgres_url):
    import psycopg

    at, s = table(), lw.Bilinear(FORM)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        index = lw.Index(s, **at).add(IDS, ITEMS)
        columns = "select column_name from information_schema.columns where table_name = %s"
        names = {row[0] for row in db.execute(columns, (at["table"],)).fetchall()}
        assert names == {"slot", "id", "embedding", "fields"}
        index.set_offsets(OFFSETS)
        query = f"select count(original), count(*) from {at['table']}"
        assert db.execute(query).fetchone() == (20, N)
        db.execute(f"drop table {at['table']}")
        # A table of the same name has nothing to do with the one that is gone.
        again = lw.Index(s, **at).add(IDS, ITEMS)
        assert again.offsets is None
        assert_same_answers(again, lw.Index(s, **table()).add(IDS, ITEMS))


@pytest.mark.parametrize("step", ["move", "save_offsets", "add_originals", "lock"])
def test_an_interrupted_change_leaves_the_table_as_it_was(table, step):
    at, s = table(), lw.Mahalanobis(FORM)
    index = lw.Index(s, **at).add(IDS, ITEMS)
    with interrupted_after(_table.Table, step), pytest.raises(KeyboardInterrupt):
        index.set_offsets(OFFSETS)
    assert index.offsets is None
    assert_same_answers(index, lw.Index(s, **table()).add(IDS, ITEMS))
    fresh = lw.Index(s, **table()).add(IDS, OFFSETS.apply(IDS, ITEMS))
    assert_same_answers(index.set_offsets(OFFSETS), fresh)


def test_a_graph_in_a_table_holds_moved_items(table, monkeypatch):
    monkeypatch.setattr(_table, "_MIN_GRAPH_ROWS", 50)
    at, s = table(), lw.Bilinear(FORM)
    index = lw.Index(s, **at).add(IDS, ITEMS)
    assert not index.is_exact
    index.set_offsets(OFFSETS)
    expected = s.neighbors(QUERIES, OFFSETS.apply(IDS, ITEMS), 5)
    found = index.search(QUERIES, 5)
    assert found.ids.tolist() == [[IDS[i] for i in row] for row in expected.ids]
    assert_allclose(found.scores.astype(float), expected.scores, rtol=1e-4)
