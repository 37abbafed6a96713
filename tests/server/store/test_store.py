"""The behavior of a store in every database."""

import secrets
from threading import Thread
from time import sleep

import numpy as np
import pytest

import likewise as lw
from likewise._files import to_bytes
from likewise.server.store import (
    AlreadyExists,
    Candidate,
    Checkpoint,
    Evaluation,
    NotFound,
    NotSupported,
    Page,
    Recipe,
    StoreUnavailable,
    Verdict,
    open_store,
)

SIMILARITY = to_bytes(lw.Bilinear(np.eye(2)))
OFFSETS = to_bytes(lw.ItemOffsets([1], [[0.0, 1.0]], [1.0], 0.2, [0.0, 0.0]))
WON, LOST = True, False
PAGE = Page.from_triplet(1, 2, 3)


def item(name, *numbers, **row):
    return name, np.array(numbers, dtype=np.float32), row


def candidate(passes, live, test=1):
    judged = Evaluation(0.5, 0.6 if passes else 0.4, 0.02, 25), Evaluation(0.5, 0.6, 0.1, 9)
    verdict = Verdict(live, *judged, Evaluation(None, None, None, 0), test, 2.5, passes)
    return Candidate(Recipe("ridge", gamma=0.2), verdict, SIMILARITY, OFFSETS)


@pytest.fixture
def initialized(store):
    store.initialize({"model": "m"}, SIMILARITY, b"start")
    return store


def test_feedback_is_numbered_in_the_order_it_came(initialized):
    pages = (PAGE, Page(2, (1, 3, 4), (3, 4)), Page(2, (1, 3), (1, 3)))
    assert initialized.append("a", "x", pages) == 4  # the last one, of pairs, is one judgment
    assert initialized.append("b", "y", [Page.from_triplet([0.5, 1.5], 2, 3)]) == 1
    first, second = initialized.entries(0)
    assert (first.number, first.first, second.number, second.first) == (1, 0, 2, 4)
    assert (first.end, second.end) == (4, 5)
    assert first.pages == pages
    assert second.pages == (Page([0.5, 1.5], (2, 3), (2,)),)
    assert initialized.entries(1) == [second]
    assert initialized.status().acknowledged == 5
    assert initialized.n_undone() == 0
    initialized.undo("a")
    initialized.undo("a")
    assert initialized.n_undone() == 4


def test_the_same_key_again_is_answered_but_not_written_again(initialized):
    assert initialized.accepted_count("a", "x") is None
    initialized.append("a", "x", [PAGE])
    assert initialized.append("a", "x", [Page.from_triplet(9, 8, 7)]) == 1
    assert initialized.accepted_count("a", "x") == 1
    assert initialized.append("b", "x", [PAGE]) == 1
    assert [entry.number for entry in initialized.entries(0)] == [1, 2]


def test_a_key_for_something_else_is_refused(initialized):
    initialized.append("a", "x", [PAGE])
    with pytest.raises(AlreadyExists, match="the key 'a' was used before"):
        initialized.append("a", "y", [PAGE])
    assert initialized.status().acknowledged == 1


def test_undo_names_its_entry_and_happens_once(initialized):
    initialized.append("a", "x", [PAGE, PAGE])
    assert initialized.undo("a") == 2
    assert initialized.undo("a") == 2
    assert initialized.undone(2) == {1}
    assert initialized.undone(1) == set()
    assert [entry.undoes for entry in initialized.entries(0)] == [None, 1]
    with pytest.raises(NotFound, match="no feedback with the key 'b'"):
        initialized.undo("b")


@pytest.mark.parametrize("digest", ["x", "y"])
def test_feedback_under_an_undone_key_is_refused_and_not_acknowledged(initialized, digest):
    initialized.append("a", "x", [PAGE])
    initialized.undo("a")
    with pytest.raises(AlreadyExists, match="the key 'a' was undone: repeat it with another key"):
        initialized.append("a", digest, [PAGE])
    with pytest.raises(AlreadyExists, match="the key 'a' was undone"):
        initialized.accepted_count("a", digest)
    assert initialized.status().acknowledged == 1


def test_items_come_change_and_go(initialized):
    initialized.put_items([item("a", 1, 2, kind="boot"), item(7, 3, 4)])
    added, retired, change = initialized.items_since(0)
    assert [(one.id, one.row) for one in added] == [("a", {"kind": "boot"}), (7, {})]
    np.testing.assert_array_equal(added[1].vector, np.float32([3, 4]))
    assert (retired, change) == ([], 2)
    initialized.put_items([item("a", 5, 6)], add=False)
    initialized.remove_item(7)
    added, retired, change = initialized.items_since(2)
    assert [(one.id, one.vector.tolist()) for one in added] == [("a", [5, 6])]
    assert (sorted(retired), change) == ([1, 2], 4)
    old = initialized.vectors([1, 2, 3])
    np.testing.assert_array_equal(old[1], np.float32([1, 2]))
    assert initialized.item_ids([1, 2]) == {1: "a", 2: 7}


def test_items_that_are_there_are_not_added_and_others_not_replaced(initialized):
    initialized.put_items([item("a", 1, 2)])
    with pytest.raises(AlreadyExists, match="item 'a' already exists"):
        initialized.put_items([item("b", 1, 2), item("a", 1, 2)], replace=False)
    with pytest.raises(NotFound, match="there is no item 'b'"):
        initialized.put_items([item("a", 1, 2), item("b", 1, 2)], add=False)
    with pytest.raises(NotFound, match="there is no item 'c'"):
        initialized.remove_item("c")
    assert initialized.status().change == 1


def test_a_file_of_items_is_read_once(initialized):
    assert initialized.put_items([item("a", 1, 2)], digest="f") == 1
    initialized.remove_item("a")
    assert initialized.put_items([item("a", 1, 2)], digest="f") == 0
    assert initialized.items_since(0) == ([], [], 2)


def test_a_store_begins_once(initialized):
    initialized.initialize({"model": "other"}, b"other", None)
    assert initialized.note("model") == "m"
    assert initialized.version_files(1).similarity == SIMILARITY
    assert initialized.checkpoint().state == b"start"


def test_a_state_and_its_candidate_are_kept_together(initialized):
    initialized.append("a", "x", [PAGE])
    assert initialized.save_checkpoint(
        Checkpoint(1, 1, 1, 1, b"one"), [(1, 1, 1)], candidate(WON, 1)
    )
    assert initialized.status().live == 2
    assert initialized.status().applied == 1
    assert initialized.checkpoint().state == b"one"
    assert initialized.checkpoint(initial=True).state == b"start"
    assert initialized.progress() == [(1, 1, 1)]
    assert [version.number for version in initialized.versions()] == [2, 1]
    learned, file = initialized.versions()
    assert (learned.recipe, learned.verdict) == (
        candidate(WON, 1).recipe,
        candidate(WON, 1).verdict,
    )
    assert (file.recipe, file.verdict) == (None, None)
    assert initialized.version_files(2) == (SIMILARITY, OFFSETS, None, 0.0)


def test_tests_are_counted_from_the_last_promotion_that_the_gate_made(initialized):
    assert initialized.gate_state() == (0, 0)
    initialized.save_checkpoint(Checkpoint(1, 10, 0, 0, b"one"), (), candidate(LOST, 1, test=1))
    initialized.save_checkpoint(Checkpoint(2, 20, 0, 0, b"two"), (), candidate(LOST, 1, test=2))
    assert initialized.gate_state() == (0, 2)
    initialized.save_checkpoint(Checkpoint(3, 30, 0, 0, b"three"), (), candidate(WON, 1, test=3))
    assert initialized.gate_state() == (30, 0)
    initialized.make_live(1, rollback=False)
    assert initialized.gate_state() == (30, 0)


def test_another_learner_begins_again(initialized):
    initialized.set_learner("ridge")
    initialized.save_checkpoint(Checkpoint(1, 1, 1, 1, b"one"), [(1, 1, 1)])
    initialized.set_learner("ridge")
    assert initialized.checkpoint().state == b"one"
    initialized.set_learner("aroma")
    assert initialized.note("learner") == "aroma"
    assert initialized.checkpoint().state == b"start"
    assert (initialized.progress(), initialized.status().applied) == ([], 0)


def test_a_candidate_that_was_held_against_another_version_is_judged_anew(initialized):
    initialized.save_checkpoint(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(WON, 1))
    assert not initialized.save_checkpoint(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert initialized.checkpoint().state == b"one"


def test_the_gate_lets_through_what_beats_the_live_version_alone(initialized):
    initialized.save_checkpoint(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(LOST, 1))
    assert initialized.status().live == 1
    initialized.save_checkpoint(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert initialized.status().live == 3


def test_going_back_holds_the_gate_until_something_is_promoted(initialized):
    initialized.save_checkpoint(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(WON, 1))
    initialized.make_live(1, rollback=True)
    assert initialized.status().gate_held
    initialized.save_checkpoint(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert initialized.status().live == 1
    assert initialized.versions()[0].held
    initialized.make_live(3, rollback=False)
    assert (initialized.status().live, initialized.status().gate_held) == (3, False)


def test_one_cannot_go_back_to_what_was_never_live(initialized):
    initialized.save_checkpoint(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(LOST, 1))
    with pytest.raises(NotSupported, match="version 2 was never live"):
        initialized.make_live(2, rollback=True)
    with pytest.raises(NotFound, match="there is no version 9"):
        initialized.make_live(9, rollback=False)


def test_old_candidates_are_let_go_but_not_what_was_live(initialized):
    for number in range(1, 30):
        initialized.save_checkpoint(Checkpoint(number, number, 0, 0, b"s"), (), candidate(LOST, 1))
    available = {version.number: version.available for version in initialized.versions()}
    assert available[1]
    assert not available[2]
    assert available[30]
    with pytest.raises(NotSupported, match="its files were deleted"):
        initialized.make_live(2, rollback=False)


def test_one_learner_leads_and_the_next_when_it_has_gone(place, initialized):
    assert initialized.acquire_learner_lock()
    other = open_store(place[0], schema=place[1])
    assert not other.acquire_learner_lock()
    initialized.close()
    # A database takes a moment to see that a connection has ended.
    acquired = any(other.acquire_learner_lock() or sleep(0.05) for _ in range(200))
    other.close()
    assert acquired


def test_a_store_is_found_again(place, initialized):
    initialized.append("a", "x", [PAGE])
    initialized.close()
    again = open_store(place[0], schema=place[1])
    assert again.entries(0)[0].key == "a"
    again.close()


def test_writers_on_several_connections_leave_no_gap(place, initialized):
    def write(name):
        own = open_store(place[0], schema=place[1])
        for number in range(20):
            own.append(f"{name}{number}", "x", [PAGE] * 2)
        own.close()

    threads = [Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = initialized.entries(0)
    assert [entry.number for entry in entries] == list(range(1, 61))
    assert [entry.first for entry in entries] == list(range(0, 120, 2))


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("mysql://here", "store must be a file or postgresql://"),
        ("/no/such/folder/store.sqlite", "there is no folder /no/such/folder"),
        ("postgresql://127.0.0.1:1/none", "the store in PostgreSQL cannot be used"),
    ],
)
def test_a_place_that_cannot_be_is_refused(place, sentence):
    with pytest.raises((ValueError, OSError), match=sentence):
        open_store(place)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(ValueError, match="cannot be used as a store"):
        open_store(str(path))


def test_a_database_that_went_away_is_reached_again(postgres_url):
    store = open_store(postgres_url, schema=f"test_{secrets.token_hex(8)}")
    other = open_store(postgres_url, schema="test_other")
    ((process,),) = store._execute("select pg_backend_pid()")
    other._execute("select pg_terminate_backend(?, 10000)", [process])
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.status()
    assert store.status().acknowledged == 0
    assert store.acquire_learner_lock()
    ((process,),) = store._execute("select pg_backend_pid()")
    other._execute("select pg_terminate_backend(?, 10000)", [process])
    with pytest.raises(StoreUnavailable, match="does not answer"):
        store.status()
    # Whoever led has lost its lock with the connection, and must not write again.
    with pytest.raises(StoreUnavailable, match="the connection to PostgreSQL was lost"):
        store.append("a", "x", [PAGE])
    store.close()
    other.close()
