"""Stores of an index: in memory, or in a table of PostgreSQL."""

from likewise.index._offsets import ActiveOffsets
from likewise.index.engines import EngineOptions
from likewise.index.stores._base import OutdatedSnapshotError, Reader, Store
from likewise.index.stores._memory import MemoryStore
from likewise.similarities import ItemOffsets, Similarity

__all__ = [
    "MemoryStore",
    "OutdatedSnapshotError",
    "Reader",
    "Store",
    "open_store",
]


def open_store(
    similarity: Similarity,
    options: EngineOptions,
    offsets: ItemOffsets | None,
    url: str | None,
    table: str,
) -> Store:
    """Return an empty store in memory, or with a url the store of a table."""
    if url is None:
        return MemoryStore.empty(similarity, options, ActiveOffsets(offsets))
    from likewise.index.stores._postgres import PostgresStore

    return PostgresStore.open(similarity, options, offsets, url, table)
