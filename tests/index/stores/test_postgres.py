"""The pgvector engine, on a real PostgreSQL."""

import json
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.index.interruptions import interrupted_after

import likewise as lw
from likewise.index import SQL
from likewise.index.stores import _table

psycopg = pytest.importorskip("psycopg")

_numbers = count()
ITEMS = np.random.default_rng(3).normal(size=(60, 4)).astype(np.float32)
QUERIES = np.random.default_rng(4).normal(size=(9, 4)).astype(np.float32)
FORM = np.random.default_rng(5).normal(size=(4, 4))
COLOURS = ["red", "green", "blue"] * 20


@pytest.fixture
def place(postgres_url):
    """Return url and name of a table that no other test uses."""
    return {"url": postgres_url, "table": f"test_{next(_numbers)}"}


@pytest.fixture
def db(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as db:
        yield db


def filled(place, similarity=None, **options):
    similarity = similarity or lw.Bilinear(1.0)
    index = lw.Index(similarity, **place, **options)
    return index.add(range(60), ITEMS, fields={"colour": COLOURS, "n": list(range(60))})


@pytest.mark.parametrize(
    ("similarity", "options"),
    [
        (lw.Bilinear(1.0), {}),
        (lw.Bilinear(FORM), {}),
        (lw.Bilinear(FORM), {"fold": "both"}),
        (lw.Bilinear(FORM, "cosine"), {}),
        (lw.Bilinear(FORM, "cosine"), {"metric": "inner_product"}),
        (lw.Mahalanobis(FORM), {}),
        (lw.Mahalanobis(FORM[:2]), {"metric": "inner_product"}),
    ],
    ids=repr,
)
def test_a_small_table_is_searched_exactly(place, similarity, options):
    index = filled(place, similarity, **options)
    assert (index.engine, index.is_exact, index.effort) == ("pgvector", True, None)
    for k in (1, 10, 63):
        found, expected = index.search(QUERIES, k), similarity.neighbors(QUERIES, ITEMS, k)
        assert_array_equal(found.ids, expected.ids)
        assert_allclose(found.scores.astype(float), expected.scores.astype(float), atol=1e-5)
    assert index.served_recall(QUERIES) == 1.0
    assert index.tune(queries=QUERIES).effort is None
    index.remove([0]).update([1], ITEMS[:1]).add([100], csr_array(ITEMS[2:3]))
    P = np.concatenate([ITEMS[:1], ITEMS[2:], ITEMS[2:3]])
    ids = np.r_[1:60, 100]
    assert_array_equal(index.search(QUERIES, 5).ids, ids[similarity.neighbors(QUERIES, P, 5).ids])
    assert index.ids == ids.tolist()


def test_equal_items_far_from_the_origin_come_in_their_order(place):
    P = np.tile(ITEMS[:3], (70, 1)) + np.float32(1000)
    s = lw.Mahalanobis(FORM)
    index = lw.Index(s, **place).add([f"i{n}" for n in range(210)], P)
    found = index.search(P[:3], 100)
    expected = s.neighbors(P[:3], P, 100).ids
    assert found.ids.tolist() == [[f"i{n}" for n in row] for row in expected.tolist()]


def test_a_filter_is_a_mapping_ids_or_sql(place):
    index = filled(place)
    s, red = lw.Bilinear(1.0), np.arange(0, 60, 3)
    expected = red[s.neighbors(QUERIES, ITEMS[red], 5).ids]
    assert_array_equal(index.search(QUERIES, 5, where={"colour": "red"}).ids, expected)
    assert_array_equal(index.search(QUERIES, 5, where=red).ids, expected)
    by_sql = SQL("fields->>'colour' = %s", ("red",))
    assert_array_equal(index.search(QUERIES, 5, where=by_sql).ids, expected)
    both = index.search(QUERIES, 60, where={"colour": ["red", "blue"], "n": [0, 1, 2, 3.0]})
    assert set(both.ids.ravel()) == {0, 2, 3, None}
    assert (index.search(QUERIES, 3, where=[]).ids == None).all()  # noqa: E711 (elementwise)
    assert (index.search(QUERIES, 3, where=["0"]).ids == None).all()  # noqa: E711 (elementwise)
    assert (index.search(QUERIES, 3, where={"colour": "mauve"}).ids == None).all()  # noqa: E711
    with pytest.raises(ValueError, match="a field in where must be one of 'colour', 'n', but 'col"):
        index.search(QUERIES, 3, where={"color": "red"})
    with pytest.raises(ValueError, match="where is refused by the database"):
        index.search(QUERIES, 3, where=SQL("no_such_column > 1"))
    with pytest.raises(ValueError, match="where is refused by the database"):
        index.search(QUERIES, 3, where=SQL("true); delete from likewise_indexes; --"))
    assert len(index) == 60


def test_no_value_and_true_are_told_from_one(place):
    index = lw.Index(lw.Bilinear(1.0), **place)
    index.add([1, 2, 3], ITEMS[:3], fields={"x": [1, True, None]})
    index.add([4], ITEMS[3:4])
    for value, ids in ((1, [1]), (True, [2]), (None, [3, 4]), ([1, None], [1, 3, 4])):
        found = index.search(QUERIES[:1], 3, where={"x": value})
        assert {i for i, _ in found.row(0)} == set(ids)


def test_a_graph_is_held_to_a_recall_and_fills_every_place(place, monkeypatch):
    monkeypatch.setattr(_table, "_MIN_GRAPH_ROWS", 500)
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(900, 8)), rng.normal(size=(20, 8))
    s = lw.Bilinear(rng.normal(size=(8, 8)))
    index = lw.Index(s, **place).add(range(400), P[:400])
    assert index.is_exact
    index.add(range(400, 900), P[400:], fields={"rare": [n % 50 == 0 for n in range(500)]})
    assert not index.is_exact
    assert index.effort == 100
    tuned = index.tune(0.9, queries=Q)
    assert tuned.reached
    assert tuned.effort == index.effort
    truth = s.neighbors(Q, P, 10)
    found = index.search(Q, 10)
    hits = [len(set(a) & set(b)) for a, b in zip(found.ids, truth.ids, strict=True)]
    assert np.mean(hits) / 10 >= 0.9
    assert np.isfinite(index.search(Q, 300).scores).all()  # more than a search keeps in sight
    assert np.isfinite(index.search(Q[:2], 850).scores).all()
    assert np.isfinite(index.search(Q, 10, where={"rare": True}).scores).all()
    other = lw.Index(s, **place)
    assert not other.is_exact
    other.swap(lw.Mahalanobis(1.0))
    assert not other.is_exact
    assert other.served_recall(Q) > 0.8


def test_ids_of_another_kind_are_refused(place):
    index = filled(place)
    with pytest.raises(TypeError, match=r"ids must be bigint, as those of table .* are, but '"):
        index.add(["a"], ITEMS[:1])
    with pytest.raises(ValueError, match="ids must be stored, but 'a' is not"):
        index.remove(["a"])
    assert "a" not in index
    assert True not in index
    with pytest.raises(ValueError, match="items has 3 columns, but those that are stored have 4"):
        index.add([100], ITEMS[:1, :3])
    with pytest.raises(ValueError, match="queries has 3 columns, but the items that are stored"):
        index.search(QUERIES[:, :3])
    with pytest.raises(ValueError, match="beyond the single precision"):
        index.add([100], [[1e200, 0, 0, 0]])
    assert len(index) == 60


def test_ids_are_all_text_or_all_numbers(place):
    index = lw.Index(lw.Bilinear(1.0), **place)
    with pytest.raises(TypeError, match="ids must be all text or all whole numbers"):
        index.add(["a", 1], ITEMS[:2])
    assert index.add(["a", "b"], ITEMS[:2]).ids == ["a", "b"]
    with pytest.raises(ValueError, match="ids must not contain the null character"):
        index.add(["a\0b"], ITEMS[:1])
    with pytest.raises(ValueError, match="the database cannot hold the items"):
        index.add(["d"], ITEMS[:1], fields={"x": ["a\0b"]})
    assert index.add(["c"], ITEMS[:1]).ids == ["a", "b", "c"]


@pytest.mark.parametrize(
    "name", ["x; drop table y", 'x"', "x'", "X", "", "a" * 42, "likewise_indexes", 3, "pg.x", "ä"]
)
def test_a_table_has_a_plain_name(postgres_url, name):
    with pytest.raises(ValueError, match=r"table must (be a name|not be)|url and table"):
        lw.Index(lw.Bilinear(1.0), url=postgres_url, table=name or "-")


def test_reserved_words_and_long_names_are_names(postgres_url):
    for name in ("select", "user", "t" * 41):
        index = lw.Index(lw.Mahalanobis(1.0), url=postgres_url, table=name).add([1], ITEMS[:1])
        assert index.search(ITEMS[:1], 1).ids.tolist() == [[1]]
        assert index.swap(lw.Mahalanobis(2.0)).search(ITEMS[:1], 1).ids.tolist() == [[1]]


def test_text_is_never_read_as_sql(place, db):
    wicked = ["'; drop table likewise_indexes; --", '"', "%s", "{table}", "\\", "a' or '1'='1"]
    index = lw.Index(lw.Mahalanobis(1.0), **place)
    index.add(wicked, ITEMS[:6], fields=dict.fromkeys(wicked, wicked))
    assert index.ids == wicked
    for name in wicked:
        assert index.search(name, 5).ids.shape == (1, 5)
        assert index.search(ITEMS[:1], 1, where={name: name}).ids.tolist() == [[name]]
        assert index.search(ITEMS[:1], 1, where=[name]).ids.tolist() == [[name]]
    index.update(wicked[:2], ITEMS[6:8]).remove(wicked[2:])
    assert index.ids == wicked[:2]
    assert db.execute("select count(*) from likewise_indexes").fetchone()[0] > 0


def test_what_is_no_database_is_refused_without_the_password():
    for url in ("postgresq://u:secret@h/x", "nothing"):
        with pytest.raises(ValueError, match="url must be the address of a database") as refused:
            lw.Index(lw.Bilinear(1.0), url=url)
        assert "secret" not in str(refused.value)
    with pytest.raises(ConnectionError, match="the database of url cannot be reached") as refused:
        lw.Index(lw.Bilinear(1.0), url="postgresql://u:secret@localhost:1/x")
    assert "secret" not in str(refused.value)


def test_connections_that_the_server_has_closed_are_replaced(place, db):
    index = filled(place)
    expected = index.search(QUERIES, 3).ids
    with ThreadPoolExecutor(4) as pool:  # so that several connections are idle
        list(pool.map(lambda _: index.search(QUERIES, 3), range(8)))
    for change in (lambda: None, lambda: index.add([100], ITEMS[:1]), lambda: index.remove([100])):
        ended = db.execute(  # within ten seconds: before, a backend can still begin a transaction
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
            "where pid <> pg_backend_pid() and backend_type = 'client backend'"
        ).fetchall()
        assert ended == [(True,)] * len(ended)
        change()
        assert_array_equal(index.search(QUERIES, 3, where=range(60)).ids, expected)


def test_an_index_that_is_deleted_closes_its_connections(place, db):
    from psycopg.conninfo import make_conninfo

    named = make_conninfo(place["url"], application_name="deleted")
    index = filled({**place, "url": named})
    threads = [threading.Thread(target=index.search, args=(QUERIES, 3)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = "select count(*) from pg_stat_activity where application_name = 'deleted'"
    assert db.execute(count).fetchone()[0] > 0
    del index, threads, thread
    for _ in range(1000):  # a backend ends after its client
        if db.execute(count).fetchone()[0] == 0:
            return
        time.sleep(0.01)
    raise AssertionError("connections are still open")


def test_a_table_of_somebody_else_is_left_alone(place, db):
    db.execute(f"create table {place['table']} (id int, precious text)")
    db.execute(f"insert into {place['table']} values (1, 'gold')")
    with pytest.raises(ValueError, match="was not made by likewise: it has no column embedding"):
        lw.Index(lw.Bilinear(1.0), **place)
    assert db.execute(f"select precious from {place['table']}").fetchone() == ("gold",)


def test_a_table_that_is_dropped_is_a_sentence_and_may_come_again(place, db):
    index = filled(place, lw.Mahalanobis(FORM))
    db.execute(f"drop table {place['table']}")
    with pytest.raises(ValueError, match="does not exist in the database any more"):
        index.search(QUERIES)
    other = lw.Mahalanobis(FORM[:2])
    again = lw.Index(other, **place).add(range(60), ITEMS)
    assert_array_equal(again.search(QUERIES, 3).ids, other.neighbors(QUERIES, ITEMS, 3).ids)


def test_a_file_says_where_the_table_is_without_a_password(place, tmp_path):
    from psycopg.conninfo import make_conninfo

    secret = make_conninfo(place["url"], password="hush-hush", application_name="x")
    index = filled({**place, "url": secret}, lw.Mahalanobis(FORM))
    index.save(tmp_path / "index")
    assert b"hush" not in (tmp_path / "index").read_bytes()
    loaded = lw.load(tmp_path / "index")
    assert_array_equal(loaded.search(QUERIES, 4).ids, index.search(QUERIES, 4).ids)
    index.remove([5])
    assert 5 not in loaded


def test_an_index_that_was_opened_before_there_was_a_table_sees_it(place):
    early = lw.Index(lw.Bilinear(1.0), **place)
    assert len(early) == 0
    filled(place)
    assert len(early) == 60
    assert early.search(QUERIES, 2).ids.shape == (9, 2)
    with pytest.raises(ValueError, match="stored already"):
        early.add([5], ITEMS[:1])


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
