"""What a store promises, whatever the database."""

import secrets
from threading import Thread
from time import sleep

import numpy as np
import pytest

import likewise as lw
from likewise._files import to_bytes
from likewise.server.store._open import open_store
from likewise.server.store._records import (
    Candidate,
    Checkpoint,
    Judged,
    KeyTakenError,
    NotPossibleError,
    NotThereError,
    Page,
    Recipe,
    StoreAwayError,
    Verdict,
)

SIMILARITY = to_bytes(lw.Bilinear(np.eye(2)))
OFFSETS = to_bytes(lw.ItemOffsets([1], [[0.0, 1.0]], [1.0], 0.2, [0.0, 0.0]))
WON, LOST = True, False
PAGE = Page.of_two(1, 2, 3)


def item(name, *numbers, **row):
    return name, np.array(numbers, dtype=np.float32), row


def candidate(passes, live, test=1):
    judged = Judged(0.5, 0.6 if passes else 0.4, 0.02, 25), Judged(0.5, 0.6, 0.1, 9)
    verdict = Verdict(live, *judged, Judged(None, None, None, 0), test, 2.5, passes)
    return Candidate(Recipe("ridge", gamma=0.2), verdict, SIMILARITY, OFFSETS)


@pytest.fixture
def begun(store):
    store.begin({"model": "m"}, SIMILARITY, b"start")
    return store


def test_feedback_is_numbered_in_the_order_it_came(begun):
    pages = (PAGE, Page(2, (1, 3, 4), (3, 4)), Page(2, (1, 3), (1, 3)))
    assert begun.append("a", "x", pages) == 3
    assert begun.append("b", "y", [Page.of_two([0.5, 1.5], 2, 3)]) == 1
    first, second = begun.entries(0)
    assert (first.number, first.first, second.number, second.first) == (1, 0, 2, 3)
    assert (first.end, second.end) == (3, 4)
    assert first.pages == pages
    assert second.pages == (Page([0.5, 1.5], (2, 3), (2,)),)
    assert begun.entries(1) == [second]
    assert begun.pulse().acknowledged == 4


def test_the_same_key_again_is_answered_but_not_written_again(begun):
    assert begun.known_answer("a", "x") is None
    begun.append("a", "x", [PAGE])
    assert begun.append("a", "x", [Page.of_two(9, 8, 7)]) == 1
    assert begun.known_answer("a", "x") == 1
    assert begun.append("b", "x", [PAGE]) == 1
    assert [entry.number for entry in begun.entries(0)] == [1, 2]


def test_a_key_for_something_else_is_refused(begun):
    begun.append("a", "x", [PAGE])
    with pytest.raises(KeyTakenError, match="under the key 'a' before"):
        begun.append("a", "y", [PAGE])
    assert begun.pulse().acknowledged == 1


def test_undo_names_its_entry_and_happens_once(begun):
    begun.append("a", "x", [PAGE, PAGE])
    assert begun.undo("a") == 2
    assert begun.undo("a") == 2
    assert begun.undone(2) == {1}
    assert begun.undone(1) == set()
    assert [entry.undoes for entry in begun.entries(0)] == [None, 1]
    with pytest.raises(NotThereError, match="no feedback came under the key 'b'"):
        begun.undo("b")


def test_items_come_change_and_go(begun):
    begun.put_items([item("a", 1, 2, kind="boot"), item(7, 3, 4)])
    came, went, change = begun.items_since(0)
    assert [(one.id, one.row) for one in came] == [("a", {"kind": "boot"}), (7, {})]
    np.testing.assert_array_equal(came[1].vector, np.float32([3, 4]))
    assert (went, change) == ([], 2)
    begun.put_items([item("a", 5, 6)], add=False)
    begun.remove_item(7)
    came, went, change = begun.items_since(2)
    assert [(one.id, one.vector.tolist()) for one in came] == [("a", [5, 6])]
    assert (sorted(went), change) == ([1, 2], 4)
    old = begun.vectors([1, 2, 3])
    np.testing.assert_array_equal(old[1], np.float32([1, 2]))
    assert begun.names([1, 2]) == {1: "a", 2: 7}


def test_items_that_are_there_are_not_added_and_others_not_replaced(begun):
    begun.put_items([item("a", 1, 2)])
    with pytest.raises(KeyTakenError, match="there is an item 'a' already"):
        begun.put_items([item("b", 1, 2), item("a", 1, 2)], replace=False)
    with pytest.raises(NotThereError, match="there is no item 'b'"):
        begun.put_items([item("a", 1, 2), item("b", 1, 2)], add=False)
    with pytest.raises(NotThereError, match="there is no item 'c'"):
        begun.remove_item("c")
    assert begun.pulse().change == 1


def test_a_file_of_items_is_read_once(begun):
    assert begun.put_items([item("a", 1, 2)], digest="f") == 1
    begun.remove_item("a")
    assert begun.put_items([item("a", 1, 2)], digest="f") == 0
    assert begun.items_since(0) == ([], [], 2)


def test_a_store_begins_once(begun):
    begun.begin({"model": "other"}, b"other", None)
    assert begun.note("model") == "m"
    assert begun.files(1).similarity == SIMILARITY
    assert begun.checkpoint().state == b"start"


def test_a_state_and_its_candidate_are_kept_together(begun):
    begun.append("a", "x", [PAGE])
    assert begun.keep(Checkpoint(1, 1, 1, 1, b"one"), [(1, 1, 1)], candidate(WON, 1))
    assert begun.pulse().live == 2
    assert begun.pulse().applied == 1
    assert begun.checkpoint().state == b"one"
    assert begun.checkpoint(start=True).state == b"start"
    assert begun.progress() == [(1, 1, 1)]
    assert [version.number for version in begun.versions()] == [2, 1]
    learned, file = begun.versions()
    assert (learned.recipe, learned.verdict) == (
        candidate(WON, 1).recipe,
        candidate(WON, 1).verdict,
    )
    assert (file.recipe, file.verdict) == (None, None)
    assert begun.files(2) == (SIMILARITY, OFFSETS, None)


def test_tests_are_counted_from_the_last_promotion_that_the_gate_made(begun):
    assert begun.judging() == (0, 0)
    begun.keep(Checkpoint(1, 10, 0, 0, b"one"), (), candidate(LOST, 1, test=1))
    begun.keep(Checkpoint(2, 20, 0, 0, b"two"), (), candidate(LOST, 1, test=2))
    assert begun.judging() == (0, 2)
    begun.keep(Checkpoint(3, 30, 0, 0, b"three"), (), candidate(WON, 1, test=3))
    assert begun.judging() == (30, 0)
    begun.make_live(1, back=False)
    assert begun.judging() == (30, 0)


def test_another_learner_begins_again(begun):
    begun.choose_learner("ridge")
    begun.keep(Checkpoint(1, 1, 1, 1, b"one"), [(1, 1, 1)])
    begun.choose_learner("ridge")
    assert begun.checkpoint().state == b"one"
    begun.choose_learner("aroma")
    assert begun.note("learner") == "aroma"
    assert begun.checkpoint().state == b"start"
    assert (begun.progress(), begun.pulse().applied) == ([], 0)


def test_a_candidate_that_was_held_against_another_version_is_judged_anew(begun):
    begun.keep(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(WON, 1))
    assert not begun.keep(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert begun.checkpoint().state == b"one"


def test_the_gate_lets_through_what_beats_the_live_version_alone(begun):
    begun.keep(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(LOST, 1))
    assert begun.pulse().live == 1
    begun.keep(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert begun.pulse().live == 3


def test_going_back_holds_the_gate_until_something_is_promoted(begun):
    begun.keep(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(WON, 1))
    begun.make_live(1, back=True)
    assert begun.pulse().gate_held
    begun.keep(Checkpoint(2, 2, 0, 0, b"two"), (), candidate(WON, 1))
    assert begun.pulse().live == 1
    assert begun.versions()[0].held
    begun.make_live(3, back=False)
    assert (begun.pulse().live, begun.pulse().gate_held) == (3, False)


def test_one_cannot_go_back_to_what_was_never_live(begun):
    begun.keep(Checkpoint(1, 1, 0, 0, b"one"), (), candidate(LOST, 1))
    with pytest.raises(NotPossibleError, match="version 2 was never live"):
        begun.make_live(2, back=True)
    with pytest.raises(NotThereError, match="there is no version 9"):
        begun.make_live(9, back=False)


def test_old_candidates_are_let_go_but_not_what_was_live(begun):
    for number in range(1, 30):
        begun.keep(Checkpoint(number, number, 0, 0, b"s"), (), candidate(LOST, 1))
    available = {version.number: version.available for version in begun.versions()}
    assert available[1]
    assert not available[2]
    assert available[30]
    with pytest.raises(NotPossibleError, match="it was let go"):
        begun.make_live(2, back=False)


def test_one_learner_leads_and_the_next_when_it_has_gone(place, begun):
    assert begun.try_to_lead()
    other = open_store(place[0], schema=place[1])
    assert not other.try_to_lead()
    begun.close()
    # A database takes a moment to see that a connection has ended.
    led = any(other.try_to_lead() or sleep(0.05) for _ in range(200))
    other.close()
    assert led


def test_a_store_is_found_again(place, begun):
    begun.append("a", "x", [PAGE])
    begun.close()
    again = open_store(place[0], schema=place[1])
    assert again.entries(0)[0].key == "a"
    again.close()


def test_writers_on_several_connections_leave_no_gap(place, begun):
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
    entries = begun.entries(0)
    assert [entry.number for entry in entries] == list(range(1, 61))
    assert [entry.first for entry in entries] == list(range(0, 120, 2))


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("mysql://here", "store must be a file or postgresql://"),
        ("/no/such/folder/store.sqlite", "there is no such folder"),
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
    ((process,),) = store._run("select pg_backend_pid()")
    other._run("select pg_terminate_backend(?)", [process])
    with pytest.raises(StoreAwayError, match="does not answer just now"):
        store.pulse()
    assert store.pulse().acknowledged == 0
    assert store.try_to_lead()
    ((process,),) = store._run("select pg_backend_pid()")
    other._run("select pg_terminate_backend(?)", [process])
    with pytest.raises(StoreAwayError, match="does not answer just now"):
        store.pulse()
    # Whoever led has lost its lock with the connection, and must not write again.
    with pytest.raises(StoreAwayError, match="the connection to PostgreSQL was lost"):
        store.append("a", "x", [PAGE])
    store.close()
    other.close()
