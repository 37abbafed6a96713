"""A table on a real PostgreSQL for each test."""

from itertools import count

import pytest

_numbers = count()


@pytest.fixture
def place(postgres_url):
    """Return url and name of a table that no other test uses."""
    return {"url": postgres_url, "table": f"test_{next(_numbers)}"}


@pytest.fixture
def db(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as db:
        yield db
