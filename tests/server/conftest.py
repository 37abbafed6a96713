"""Models, items, stores and servers for the tests of the server."""

import secrets
from contextlib import ExitStack

import pytest
from tests.browsers import find_browser
from tests.server.explorer.sets import promote_learned, serving, teach, write_set
from tests.server.forked import Zygote
from tests.server.running import write_digits

from likewise.server.store import open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Return where a new store may be, in every kind of database, and its schema."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite"), "likewise"
    return request.getfixturevalue("postgres_url"), f"test_{secrets.token_hex(8)}"


@pytest.fixture
def store(place):
    """Return an empty store."""
    opened = open_store(place[0], schema=place[1])
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def zygote():
    """Return a process that forks servers; each worker of a test run has one."""
    with Zygote() as forks:
        yield forks


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Return a model file and a table of its items."""
    return write_digits(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def running(digits, zygote):
    """Return a server that the tests of a module share."""
    with zygote.server(*digits, image_shape=(8, 8), label="digit") as server:
        yield server


@pytest.fixture(scope="session")
def servers(tmp_path_factory, zygote):
    """Serve pictures, texts and rows, each taught a little, with what was learned made live."""
    find_browser()
    folder = tmp_path_factory.mktemp("explored")
    with ExitStack() as stack:

        class Started(dict):
            """Servers by the name of their set, started when they are first asked for."""

            def __missing__(self, name):
                frame, label = write_set(name, folder)
                self[name] = stack.enter_context(serving(zygote, name, folder))
                teach(self[name], frame, label, 100)
                promote_learned(self[name])
                return self[name]

        yield Started()
