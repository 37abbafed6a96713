"""Stores that earlier editions wrote still open, and a server on them answers as it did."""

import json
import shutil

import numpy as np
import pytest
from tests.data.write_store import FOLDER, MODEL, N_PAGES, answers
from tests.server.running import InProcess

from likewise._files import from_bytes
from likewise.server import Settings, create_app
from likewise.server.learning._learner import Learner
from likewise.server.store import open_store


@pytest.fixture(params=N_PAGES)
def copy(request, tmp_path):
    """Return a copy of a store, and its learner."""
    return shutil.copy(FOLDER / f"{request.param}.sqlite", tmp_path), request.param


def test_a_server_on_an_earlier_store_answers_as_it_did(copy):
    path, learner = copy
    app = create_app(Settings(MODEL, store=str(path), learner=learner))
    found = answers(InProcess(app))
    app.state.likewise.service.stop()
    expected = json.loads((FOLDER / f"{learner}.json").read_text())
    assert found.keys() == expected.keys()
    for name in found:
        assert_alike(found[name], expected[name], name)


def assert_alike(found, expected, where):
    """Compare JSON: numbers to single precision, the rest exactly; fields may have been added."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys(), where
        for key in expected:
            assert_alike(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_alike(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6), where
    else:
        assert found == expected, where


def test_the_journal_of_an_earlier_store_is_learned_to_the_same_state(copy):
    path, learner = copy
    store = open_store(str(path), durable=False)
    before = store.checkpoint()
    for name in ({"ridge": "aroma", "aroma": "ridge"}[learner], learner):
        store.set_learner(name)  # a change of the learner begins the journal again
    assert store.status().applied == 0
    running = Learner(store)
    while running.step():
        pass
    running.save()
    after = store.checkpoint()
    assert (after.entry, after.position) == (before.entry, before.position)
    undone = [entry.size for entry in store.entries(0) if entry.number in store.undone(2**53)]
    assert after.predicted == before.predicted - sum(undone)  # which are erased
    np.testing.assert_allclose(form(after), form(before), rtol=1e-5, atol=1e-6)
    store.close()


def form(checkpoint):
    learned = from_bytes(checkpoint.state)
    return getattr(learned, "state_", learned).W
