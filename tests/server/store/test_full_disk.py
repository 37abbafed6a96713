"""A full disk and a damaged file: no traceback, and recovery without a restart."""

import json
import sqlite3
import subprocess
import sys
from time import sleep

import pytest
from tests.server.running import InProcess, write_digits

from likewise.server import Settings, create_app
from likewise.server.store import StoreUnavailable, open_store

FEEDBACK = {"triplets": [{"query": [0.5] * 64, "closer": "d1", "farther": "d2"}] * 100}


@pytest.fixture
def settings(tmp_path):
    model, items = write_digits(tmp_path)
    return Settings(model, items)


def eventually(condition):
    for _ in range(200):
        if condition():
            return True
        sleep(0.05)
    return False


def test_a_full_disk_is_not_ready_and_recovers_by_itself(settings, caplog):
    app = create_app(settings)
    client, state = InProcess(app), app.state.likewise
    state.service.learning = None
    state.start()
    try:
        execute = state.service.store._connection.execute
        assert client.post("/v1/feedback", json=FEEDBACK).status_code == 202
        assert client.get("/readyz").status_code == 200
        ((pages,),) = execute("pragma page_count").fetchall()
        execute(f"pragma max_page_count = {pages}")
        statuses = {client.post("/v1/feedback", json=FEEDBACK).status_code for _ in range(10)}
        assert 503 in statuses
        assert statuses <= {202, 503}
        refused = client.post("/v1/feedback", json=FEEDBACK)
        message = "the store cannot be used at the moment; try again."
        assert refused.json() == {"error": message}  # without the path of the store
        said = [r.getMessage() for r in caplog.records if "a request failed" in r.getMessage()]
        assert len(said) == 1  # although several requests failed
        assert f"the store {settings.location} cannot be used" in said[0]
        assert "is full" in said[0]
        assert refused.headers["retry-after"] == "1"
        assert client.get("/readyz").status_code == 503
        assert client.post("/v1/search", json={"id": "d1"}).status_code == 200
        sleep(0.3)
        assert client.get("/readyz").status_code == 503
        execute("pragma max_page_count = 1000000")
        assert eventually(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/feedback", json=FEEDBACK).status_code == 202
    finally:
        state.stop()


def damage(path, table=None):
    """Overwrite the first page of a table, or every page but the first, which holds the schema."""
    with sqlite3.connect(path) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        ((size,),) = connection.execute("pragma page_size").fetchall()
        roots = dict(connection.execute("select name, rootpage from sqlite_master"))
    connection.close()
    content = bytearray(path.read_bytes())
    start = size if table is None else size * (roots[table] - 1)
    end = len(content) if table is None else start + size
    content[start:end] = b"\xa5" * (end - start)
    path.write_bytes(content)


def test_a_damaged_page_ends_serve_in_one_sentence(settings, tmp_path):
    app = create_app(settings)
    app.state.likewise.service.stop()
    damage(tmp_path / "model.store.sqlite")
    command = [sys.executable, "-m", "likewise", "serve", str(settings.model), "--port", "0"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert "malformed" in ran.stderr
    assert ran.stderr.count("cannot be used") == 1
    assert len(ran.stderr.strip().splitlines()) <= 3  # the console wraps lines


@pytest.mark.parametrize("table", [None, "checkpoint"])
def test_a_damaged_page_stops_the_learner_in_one_sentence(settings, tmp_path, table):
    app = create_app(settings)
    app.state.likewise.service.stop()
    path = tmp_path / "model.store.sqlite"
    damage(path, table)
    command = [sys.executable, "-P", "-m", "likewise.server.learning._worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(json.dumps({"location": str(path), "schema": "likewise"}) + "\n")
        process.stdin.flush()
        said = process.stderr.read()
    assert said == (
        f"learning stopped and will be tried again: the store {path} cannot be used: database disk "
        "image is malformed.\n"
    )


def test_a_page_that_is_damaged_later_is_an_unavailable_store(settings, tmp_path):
    app = create_app(settings)
    app.state.likewise.service.stop()
    path = tmp_path / "model.store.sqlite"
    store = open_store(str(path))
    damage(path)
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        store.items_since(0)
    store.close()
