"""Engines and tables for indexes with offsets."""

import pytest
from tests.index.offsets.moved_items import in_table


@pytest.fixture(params=["exact", "faiss", "usearch"])
def engine(request):
    if request.param != "exact":
        pytest.importorskip(request.param)
    return request.param


@pytest.fixture(params=["exact", "faiss", "usearch", "pgvector"])
def place(request):
    """Return the options of an engine; for pgvector a table that no other test uses."""
    if request.param == "pgvector":
        return in_table(request.getfixturevalue("postgres_url"))
    if request.param != "exact":
        pytest.importorskip(request.param)
    return lambda: {"engine": request.param}


@pytest.fixture
def table(postgres_url):
    return in_table(postgres_url)
