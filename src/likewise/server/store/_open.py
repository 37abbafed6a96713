"""Where a store is: a file, or a PostgreSQL database."""

import re
from pathlib import Path

from likewise.server.store import Store
from likewise.server.store._sqlite import SqliteStore

_IN_POSTGRES = ("postgresql://", "postgres://")


def open_store(place: str, *, schema: str = "likewise", synced: bool = True) -> Store:
    """Open a store, or begin one.

    Parameters
    ----------
    place : str
        A file, or ``postgresql://...``.
    schema : str, default="likewise"
        Of a PostgreSQL database.
    synced : bool, default=True
        Whether what is written to a file survives a loss of power.
    """
    if place.startswith(_IN_POSTGRES):
        if re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) is None:
            raise ValueError(
                f"schema must be small letters, digits and _, but {schema!r} was given."
            )
        from likewise.server.store._postgres import PostgresStore

        return PostgresStore(place, schema)
    if "://" in place:
        raise ValueError(f"store must be a file or postgresql://..., but {place!r} was given.")
    path = Path(place)
    if path.is_dir():
        raise IsADirectoryError(f"store must be a file, but {path} is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"store lies in {path.parent}, and there is no such folder.")
    return SqliteStore(path, synced=synced)
