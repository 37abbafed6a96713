"""Undone feedback is erased, a user is forgotten, and a query vector is stored once."""

import json
import sqlite3

import numpy as np
import pytest
from tests.server.learning.test_learner import feedback, filled, learn_all
from tests.server.running import belief

from likewise.server.learning._aroma import AromaMethod, is_kept
from likewise.server.learning._learner import Learner
from likewise.server.store import AlreadyExists, NotFound, Page, open_store

SECRET = [0.123456789, -0.987654321, 0.5, 0.25, 1.0, 2.0]


def page(query):
    return Page(query, (1, 2, 3), (1,))


def tables(store):
    """Return everything in the tables of feedback, as text."""
    with store._transaction(read_only=True):
        entries = store._execute("select number, key, digest, body, person from entry")
        queries = store._execute("select number, digest from query")
        links = store._execute("select entry, query from entry_query")
    return entries, queries, links


def test_a_query_vector_is_stored_once(store):
    store.initialize({"model": "m"}, b"s", b"l")
    store.append("a", "x", [page(SECRET), page(SECRET), page(7)])
    store.append("b", "x", [page(SECRET), page([1.0] * 6)])
    entries, queries, links = tables(store)
    assert len(queries) == 2
    assert sorted(links) == [(1, 1), (2, 1), (2, 2)]
    assert all("0.123" not in entry[3] for entry in entries)
    first, second = store.entries(0)
    assert [p.query for p in first.pages] == [SECRET, SECRET, 7]
    assert [p.query for p in second.pages] == [SECRET, [1.0] * 6]


@pytest.mark.parametrize("learner", ["ridge", "aroma"])
def test_undone_feedback_is_erased_once_it_is_learned(tmp_path, learner):
    path = tmp_path / "store.sqlite"
    store = filled(path, learner)
    store.append("secret", "d" * 64, [page(SECRET)], user="ann")
    for number, group in enumerate(feedback(60)):
        store.append(str(number), "x", group, user="bob")
    learn_all(store)
    store.undo("secret")
    assert "ann" in str(tables(store))
    learn_all(store)
    entries, queries, _ = tables(store)
    assert entries[0] == (1, "secret", "", "[]", None)
    assert store.entries(0)[0].end == 2
    for digest in ("d" * 64, "e" * 64):  # the key stays used
        with pytest.raises(AlreadyExists, match="the key 'secret' was undone"):
            store.append("secret", digest, [page(SECRET)])
    vectors = {str(p.query) for e in store.entries(0) for p in e.pages if isinstance(p.query, list)}
    assert len(queries) == len(vectors)
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("vacuum")
    connection.close()
    content = path.read_bytes()
    assert b"ann" not in content
    assert np.array(SECRET, dtype="<f8").tobytes() not in content
    again = open_store(str(path))
    assert belief(again)
    Learner(again)  # resumes without the erased entry
    again.close()


def test_a_vector_that_other_feedback_has_stays(tmp_path):
    store = filled(tmp_path / "store.sqlite", "aroma")
    store.append("a", "x", [page(SECRET)])
    store.append("b", "x", [page(SECRET)])
    store.undo("a")
    learn_all(store)
    assert [p.query for e in store.entries(0) for p in e.pages] == [SECRET]
    store.undo("b")
    learn_all(store)
    assert tables(store)[1:] == ([], [])
    store.close()


@pytest.mark.parametrize("learner", ["ridge", "aroma"])
def test_a_forgotten_user_leaves_what_others_said(tmp_path, learner):
    both, other = filled(tmp_path / "both.sqlite", learner), filled(tmp_path / "o.sqlite", learner)
    for number, group in enumerate(feedback(120)):
        both.append(f"b{number}", "x", group, user="bob")
        other.append(f"b{number}", "x", group, user="bob")
        if number % 3 == 0:
            both.append(f"a{number}", "x", feedback(5, seed=number)[0], user="ann")
    learn_all(both)
    n_comparisons = both.forget("ann")
    assert n_comparisons > 0
    for store in (both, other):
        store.append("last", "x", feedback(120, seed=2)[0] * 10)
        learn_all(store)
    assert belief(both) == belief(other)
    assert "ann" not in str(tables(both))
    with pytest.raises(NotFound, match="no feedback of the user 'ann'"):
        both.forget("ann")
    both.close()
    other.close()


def test_vectors_in_the_bodies_of_an_earlier_schema_are_moved(tmp_path):
    path = tmp_path / "store.sqlite"
    store = filled(path, "aroma")
    store.append("a", "x", [page(SECRET), page(SECRET)])
    store.append("b", "x", [page(2)])
    before = store.entries(0)
    with store._transaction():
        body = json.dumps([(SECRET, (1, 2, 3), (1,))] * 2)
        store._execute("update entry set body = ? where number = 1", [body])
        for table in ("query", "entry_query", "saved_state"):
            store._execute(f"drop table {table}")
        store._execute("drop index entry_person")
        store._execute("alter table entry drop column person")
        store._set_note("schema", "2")
    store.close()
    again = open_store(str(path))
    assert again.entries(0) == before
    assert len(tables(again)[1]) == 1
    again.close()


@pytest.mark.parametrize("last", [1, 100, 5_000, 100_000])
def test_an_undo_is_near_a_saved_state_and_there_are_few(last):
    kept = [entry for entry in range(1, last + 1) if is_kept(entry, last)]
    assert len(kept) <= 30
    for undone in range(1, last + 1, max(1, last // 500)):
        start = max([entry for entry in kept if entry < undone], default=0)
        assert last - start <= 2 * (last - undone) + 48
    assert all(is_kept(entry, earlier) for entry in kept for earlier in range(entry, last, 997))


def test_pending_undos_replay_once_and_states_survive_a_restart(tmp_path, monkeypatch):
    store = filled(tmp_path / "store.sqlite", "aroma")
    groups = feedback(900)
    for number, group in enumerate(groups):
        store.append(str(number), "x", group)
    learn_all(store)
    last = len(groups)
    learned = []
    learn = AromaMethod._learn
    monkeypatch.setattr(
        AromaMethod, "_learn", lambda self, *args: learned.append(1) or learn(self, *args)
    )
    for number in range(last - 60, last - 30):
        store.undo(str(number))
    learn_all(store)  # a new learner, which finds the states in the store
    assert 0 < len(learned) <= 2 * 90 + 48
    without = filled(tmp_path / "without.sqlite", "aroma")
    for number, group in enumerate(groups):
        if not last - 60 <= number < last - 30:
            without.append(str(number), "x", group)
    learn_all(without)
    assert belief(store) == belief(without)
    store.close()
    without.close()


def test_pending_undos_are_learned_together_by_the_ridge_too(tmp_path, monkeypatch):
    from likewise.server.learning import _ridge

    store, groups = filled(tmp_path / "store.sqlite"), feedback(300)
    for number, group in enumerate(groups):
        store.append(str(number), "x", group)
    learn_all(store)
    learned, usual = [], _ridge.learn_belief
    monkeypatch.setattr(_ridge, "learn_belief", lambda *given: learned.append(1) or usual(*given))
    for number in range(5, 25):
        store.undo(str(number))
    learn_all(store)
    assert len(learned) == 2  # when the learner starts, and for all undos
    store.close()
