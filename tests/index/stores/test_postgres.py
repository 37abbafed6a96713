"""The pgvector engine, on a real PostgreSQL."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests.index.stores.tables import FORM, ITEMS, QUERIES, filled

import likewise as lw
from likewise.index import SQL
from likewise.index.stores import _table

pytest.importorskip("psycopg")


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
