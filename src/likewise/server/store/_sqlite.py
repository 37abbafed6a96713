"""The store in one file, beside the model: SQLite with a write-ahead log."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from likewise.server.store import Store, table_statements
from likewise.server.store._records import StoreAwayError

_TYPES = {"whole": "integer", "real": "real", "binary": "blob", "vector": "blob"}
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
                for statement in table_statements(**_TYPES):
                    self._connection.execute(statement)
                self._migrate(_TYPES["binary"])
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} cannot be used as a store: {error}.") from error
        except ValueError:
            self._connection.close()
            raise

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

    def _columns(self, table: str) -> set[str]:
        return {name for (name,) in self._run("select name from pragma_table_info(?)", [table])}

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
