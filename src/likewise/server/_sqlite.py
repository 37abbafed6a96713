"""The store in one file, beside the model: SQLite with a write-ahead log."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from likewise.server._records import StoreAwayError
from likewise.server._store import Store

_SCHEMA = """
create table if not exists note (name text primary key, value text not null);
create table if not exists counter (name text primary key, value integer not null);
insert or ignore into counter
    values ('item', 0), ('entry', 0), ('position', 0), ('version', 0);
create table if not exists item (
    revision integer primary key, id text not null, shown text not null,
    vector blob not null, cells text not null, retired integer
);
create unique index if not exists item_id on item (id) where retired is null;
create index if not exists item_retired on item (retired) where retired is not null;
create table if not exists entry (
    number integer primary key, key text not null unique, digest text not null,
    first integer not null, size integer not null, body text not null, undoes integer,
    at real not null
);
create index if not exists entry_end on entry (first + size);
create unique index if not exists entry_undoes on entry (undoes) where undoes is not null;
create table if not exists checkpoint (
    name text primary key, entry integer not null, position integer not null,
    asked integer not null, foretold integer not null, state blob not null
);
create table if not exists progress (position integer primary key, asked integer, foretold integer);
create table if not exists version (
    number integer primary key, origin text not null, position integer not null,
    created real not null, promoted real, held integer not null, verdict text, similarity blob
);
"""
_SECONDS_TO_WAIT = 30


class SqliteStore(Store):
    """A store in a file.

    Parameters
    ----------
    path : path-like
        The file; made where there is none.
    synced : bool, default=True
        Whether what is written survives a loss of power. The learner can do without: what it
        loses it learns again from the journal.
    """

    kind = "sqlite"

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        self._path = path
        self._lock = RLock()
        self._depth = 0
        self._leading: sqlite3.Connection | None = None
        try:
            self._connection = _open(path)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute(f"pragma synchronous = {'full' if synced else 'normal'}")
            with self._transaction():
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} cannot be used as a store: {error}.") from error

    @contextmanager
    def _transaction(self, *, reads: bool = False) -> Iterator[None]:
        with self._lock:
            if self._depth == 0:
                self._begin("begin" if reads else "begin immediate")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.rollback()
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.commit()

    def _begin(self, how: str) -> None:
        try:
            self._connection.execute(how)
        except sqlite3.OperationalError as error:  # someone else writes, and does not end
            raise StoreAwayError(f"the store cannot be written just now: {error}.") from error

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _run_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, many)

    def _packed(self, vector: np.ndarray) -> bytes:
        return np.ascontiguousarray(vector, dtype="<f4").tobytes()

    def _unpacked(self, stored: Any) -> np.ndarray:
        return np.frombuffer(stored, dtype="<f4")

    def try_to_lead(self) -> bool:
        """Lock a file of its own, which the system opens again when the process ends."""
        if self._leading is None:
            connection = _open(self._path.with_name(self._path.name + "-learner"), timeout=0)
            try:
                connection.execute("begin exclusive")
            except sqlite3.OperationalError:
                connection.close()
                return False
            self._leading = connection
        return True

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._leading is not None:
                self._leading.close()
            self._connection.close()


def _open(path: Path, timeout: float = _SECONDS_TO_WAIT) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
