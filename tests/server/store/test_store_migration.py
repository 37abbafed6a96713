"""Migration of a store with schema 1: no acknowledged feedback is lost."""

import json
import sqlite3

import numpy as np
import pytest

import likewise as lw
from likewise._files import from_bytes, to_bytes
from likewise.server._model import initialize_learner
from likewise.server.api._feedback import export_journal
from likewise.server.learning._baseline import compare_with_baseline
from likewise.server.learning._learner import Learner
from likewise.server.store import Page, _schema, open_store

# As the first version wrote them, for SQLite and for PostgreSQL.
TABLES = """
create table note (name text primary key, value text not null);
create table counter (name text primary key, value {whole} not null);
create table item (
    revision {whole} primary key, id text not null, shown text not null,
    vector {vector} not null, cells text not null, retired {whole}
);
create unique index item_id on item (id) where retired is null;
create index item_retired on item (retired) where retired is not null;
create table entry (
    number {whole} primary key, key text not null unique, digest text not null,
    first {whole} not null, size {whole} not null, body text not null, undoes {whole},
    at {real} not null
);
create index entry_end on entry ((first + size));
create unique index entry_undoes on entry (undoes) where undoes is not null;
create table checkpoint (
    name text primary key, entry {whole} not null, position {whole} not null,
    asked {whole} not null, foretold {whole} not null, state {binary} not null
);
create table progress (
    position {whole} primary key, asked {whole}, foretold {whole}
);
create table version (
    number {whole} primary key, origin text not null, position {whole} not null,
    created {real} not null, promoted {real}, held integer not null, verdict text,
    similarity {binary}
)
"""
WIDTH, N_ITEMS = 4, 30
LEARNED = np.diag([2.0, 1.0, 1.0, 0.5]).astype(np.float32)
OLD_VERDICT = {"held_out": 9, "right": 8, "live_right": 2, "won": 6, "lost": 0, "live": 1}


def rows():
    return np.random.default_rng(0).normal(size=(N_ITEMS, WIDTH)).astype(np.float32)


def old_entries():
    """Return comparisons as bodies held them, in four entries; the third is taken back."""
    rng = np.random.default_rng(1)

    def comparisons(n):
        drawn = (rng.choice(N_ITEMS, 3, replace=False) + 1 for _ in range(n))
        return [[*map(int, triplet), 1.0] for triplet in drawn]

    first = [*comparisons(30), [[0.5, -0.5, 0.25, 1.0], 3, 4, 2.0]]
    return [first, comparisons(5), comparisons(2)]


def statements():
    """Yield everything that the first version wrote, as (statement, values)."""
    start = initialize_learner(lw.AROMA(init=lw.Bilinear(1.0, "cosine"), r=10.0), WIDTH, WIDTH)
    for number, row in enumerate(rows()):
        values = [number + 1, f"i{number}", json.dumps(f"i{number}"), row, "{}", None]
        yield "insert into item values (?, ?, ?, ?, ?, ?)", values
    position = 0
    for number, body in enumerate(old_entries(), 1):
        entry = [number, f"k{number}", "x", position, len(body), json.dumps(body), None, 1.5]
        yield "insert into entry values (?, ?, ?, ?, ?, ?, ?, ?)", entry
        position += len(body)
    undo = [4, " undo 3", "", position, 0, "[]", 3, 2.5]
    yield "insert into entry values (?, ?, ?, ?, ?, ?, ?, ?)", undo
    for name, value in (("item", N_ITEMS), ("entry", 4), ("position", position), ("version", 3)):
        yield "insert into counter values (?, ?)", [name, value]
    for name, value in (("model", "m"), ("live", "2"), ("gate", "open")):
        yield "insert into note values (?, ?)", [name, value]
    state = to_bytes(start)
    checkpoint = "insert into checkpoint values (?, ?, ?, ?, ?, ?)"
    yield checkpoint, ["start", 0, 0, 0, 0, state]
    yield checkpoint, ["latest", 4, position, 30, 20, state]
    yield "insert into progress values (?, ?, ?)", [20, 20, 12]
    base, learned = (to_bytes(lw.Bilinear(W, "cosine")) for W in (np.eye(WIDTH), LEARNED))
    version = "insert into version values (?, ?, ?, ?, ?, ?, ?, ?)"
    yield version, [1, "file", 0, 1.0, 1.0, 0, None, base]
    yield version, [2, "learned", 20, 2.0, 2.0, 0, json.dumps(OLD_VERDICT), learned]
    yield version, [3, "learned", 30, 3.0, None, 0, json.dumps(OLD_VERDICT), learned]


def write_old(place, schema):
    """Write a store exactly as the first version did."""
    if not place.startswith("postgresql"):
        kinds = {"whole": "integer", "real": "real", "binary": "blob", "vector": "blob"}
        connection = sqlite3.connect(place)
        connection.executescript(TABLES.format(**kinds))
        for statement, values in statements():
            plain = [v.tobytes() if isinstance(v, np.ndarray) else v for v in values]
            connection.execute(statement, plain)
        connection.commit()
        connection.close()
        return
    import psycopg
    from pgvector.psycopg import register_vector

    kinds = {"whole": "bigint", "real": "double precision", "binary": "bytea", "vector": "vector"}
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
        connection.execute(f"create schema {schema}")
        connection.execute(f"set search_path to {schema}, public")
        register_vector(connection)
        connection.execute(TABLES.format(**kinds))
        for statement, values in statements():
            connection.execute(statement.replace("?", "%s"), values)


@pytest.fixture
def migrated(place):
    write_old(*place)
    store = open_store(place[0], schema=place[1])
    yield store
    store.close()


def test_comparisons_become_pages_of_two(migrated):
    entries = migrated.entries(0)
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    for entry, body in zip(entries, old_entries(), strict=False):
        assert entry.pages == tuple(Page(q, (c, f), (c,)) for q, c, f, _ in body)
        assert entry.end == entry.first + len(body)
    assert (entries[3].undoes, entries[3].pages) == (3, ())
    assert migrated.undone(4) == {3}
    assert migrated.accepted_count("k2", "x") == 5
    lines = "".join(export_journal(migrated, "csv")).splitlines()
    assert len(lines) == 1 + 31 + 5


def test_the_live_version_stays_live_and_old_verdicts_are_none(migrated):
    status = migrated.status()
    assert (status.live, status.acknowledged, status.applied) == (2, 38, 0)
    assert [version.verdict for version in migrated.versions()] == [None] * 3
    assert [version.recipe for version in migrated.versions()] == [None] * 3
    assert migrated.gate_state() == (20, 0)
    assert migrated.progress() == []
    np.testing.assert_array_equal(from_bytes(migrated.version_files(2).similarity).W, LEARNED)


@pytest.mark.parametrize("learner", ["ridge", "aroma"])
def test_the_learner_replays_the_journal_and_goes_on(migrated, learner):
    migrated.set_learner(learner)
    running = Learner(migrated)
    while running.step():
        pass
    running.save()
    assert migrated.status().applied == 38
    assert migrated.progress()[-1][1] == 38
    assert compare_with_baseline(migrated, 2) is not None
    rng = np.random.default_rng(2)
    for number in range(30):
        shown = (rng.choice(N_ITEMS, 5, replace=False) + 1).tolist()
        migrated.append(f"new {number}", "x", [Page(shown[0], tuple(shown[1:]), (shown[1],))])
    while running.step():
        pass
    newest = migrated.versions()[0]
    if learner == "ridge":
        assert newest.verdict.live == 2
        assert newest.recipe.learner == "ridge"


def test_opening_again_changes_nothing(place, migrated):
    before = migrated.entries(0)
    again = open_store(place[0], schema=place[1])
    assert again.entries(0) == before
    assert again.note("schema") == str(_schema.SCHEMA)
    again.close()


def test_a_store_of_a_later_version_is_refused(place, migrated):
    with migrated._transaction():
        migrated._set_note("schema", str(_schema.SCHEMA + 1))
    with pytest.raises(ValueError, match="written by a later version of likewise"):
        open_store(place[0], schema=place[1])


def test_a_failure_leaves_the_old_store_as_it_was(tmp_path, monkeypatch):
    path = str(tmp_path / "old.sqlite")
    write_old(path, "")
    with sqlite3.connect(path) as connection:
        before = list(connection.iterdump())
    monkeypatch.setattr(_schema.Schema, "_reset_learner", lambda store: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        open_store(path)
    monkeypatch.undo()
    with sqlite3.connect(path) as connection:
        assert list(connection.iterdump()) == before
    store = open_store(path)
    assert len(store.entries(0)) == 4
    store.close()


def test_pages_of_schema_3_are_kept_as_they_are(tmp_path):
    path = str(tmp_path / "store.sqlite")
    store = open_store(path)
    store.initialize({"model": "m"}, b"s", b"l")
    store.append("a", "x", [Page(1, (1, 2, 3), (1,)), Page([0.5, 1.0], (2, 3), (3,))])
    before = store.entries(0)
    with store._transaction():
        store._execute("drop table served")
        store._set_note("schema", "3")
    store.close()
    again = open_store(path)
    assert again.entries(0) == before
    assert (again.note("schema"), again.searches()) == (str(_schema.SCHEMA), {})
    again.append("b", "x", [Page(1, (1, 2), (2,), model=7)])
    assert [page.model for entry in again.entries(0) for page in entry.pages] == [None, None, 7]
    again.close()
