"""The store in an SQLite file with a write-ahead log."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from likewise.server.store._records import StoreUnavailable
from likewise.server.store._store import Store

_TYPES = {"whole": "integer", "real": "real", "binary": "blob", "vector": "blob"}
_LOCK_TIMEOUT = 30
# Errors of the file, such as a full disk or a damaged page, and not of a statement.
_OF_THE_FILE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_READONLY,
}


class SqliteStore(Store):
    """A store in a file.

    Parameters
    ----------
    path : path-like
        The file, created if it does not exist.
    durable : bool, default=True
        Whether a commit survives a power failure. The learner works without: it can learn lost
        states again from the journal.
    """

    kind = "sqlite"

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        super().__init__()
        self._path = path
        self._learner_lock: sqlite3.Connection | None = None
        try:
            self._connection = _connect(path)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma secure_delete = on")  # overwrite what is erased
            self._connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            with self._transaction():
                self._create_tables(_TYPES)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} cannot be used as a store: {error}.") from error
        except StoreUnavailable as error:  # names the path
            raise ValueError(str(error)) from error
        except ValueError:
            self._connection.close()
            raise

    @contextmanager
    def _outer_transaction(self, read_only: bool) -> Iterator[None]:
        try:
            self._connection.execute("begin" if read_only else "begin immediate")
        except sqlite3.OperationalError as error:  # another process holds the write lock
            raise StoreUnavailable(f"the store is locked: {error}.") from error
        try:
            try:
                yield
                self._connection.commit()
            except BaseException:
                self._connection.rollback()
                raise
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in _OF_THE_FILE:
                raise
            raise StoreUnavailable(f"the store {self._path} cannot be used: {error}.") from error

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _execute_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, many)

    def _columns(self, table: str) -> set[str]:
        return {name for (name,) in self._execute("select name from pragma_table_info(?)", [table])}

    def _encode_vector(self, vector: np.ndarray) -> bytes:
        return np.ascontiguousarray(vector, dtype="<f4").tobytes()

    def _decode_vector(self, stored: Any) -> np.ndarray:
        return np.frombuffer(stored, dtype="<f4")

    def acquire_learner_lock(self) -> bool:
        """Lock a separate file, which the operating system unlocks when the process ends."""
        if self._learner_lock is None:
            connection = _connect(self._path.with_name(self._path.name + "-learner"), timeout=0)
            try:
                connection.execute("begin exclusive")
            except sqlite3.OperationalError:
                connection.close()
                return False
            self._learner_lock = connection
        return True

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._learner_lock is not None:
                self._learner_lock.close()
            self._connection.close()


def _connect(path: Path, timeout: float = _LOCK_TIMEOUT) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
