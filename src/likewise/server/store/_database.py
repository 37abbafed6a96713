"""The interface to a database: transactions, statements, counters and notes.

Numbers come from the table ``counter`` and are incremented in the transaction that uses them. That
row is a lock: concurrent writers wait for each other, and numbers become visible in order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import RLock
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise.server.store._records import StoreUnavailable

_BATCH_SIZE = 500
_PROBE, _PROBE_SIZE = "probe", 65_536  # a note that is written where the disk may be full


class Database(ABC):
    """A database connection; subclasses implement it. All methods are thread-safe.

    Attributes
    ----------
    kind : {"sqlite", "postgresql"}
    writable : bool
        Whether the last transaction that could write succeeded.
    """

    kind: str

    def __init__(self) -> None:
        self.writable = True
        self._lock = RLock()
        self._in_transaction = False

    @contextmanager
    def _transaction(self, *, read_only: bool = False) -> Iterator[None]:
        """Run the block in a transaction, durable on exit.

        A read-only transaction waits for no writer and reads one consistent state. A nested
        transaction is part of the outer one.
        """
        with self._lock:
            if self._in_transaction:
                yield
                return
            try:
                with self._outer_transaction(read_only):
                    self._in_transaction = True
                    try:
                        yield
                    finally:
                        self._in_transaction = False
            except StoreUnavailable:
                self.writable = self.writable and read_only
                raise
            self.writable = self.writable or not read_only

    @abstractmethod
    def _outer_transaction(self, read_only: bool) -> AbstractContextManager[None]:
        """Begin a transaction, and commit it unless the block fails."""

    @abstractmethod
    def _execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with ``?`` as placeholders, and return its rows, if any."""

    @abstractmethod
    def _execute_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each tuple of values."""

    @abstractmethod
    def _columns(self, table: str) -> set[str]:
        """Return the column names of a table."""

    @abstractmethod
    def _encode_vector(self, vector: np.ndarray) -> Any:
        """Return a vector as the database stores it."""

    @abstractmethod
    def _decode_vector(self, stored: Any) -> np.ndarray:
        """Return a stored vector as float32."""

    @abstractmethod
    def acquire_learner_lock(self) -> bool:
        """Try to become the only learner on this store, until `close` or the process ends."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def try_to_write(self) -> None:
        """Write something and delete it; raise StoreUnavailable if that is not possible."""
        with self._transaction():
            self._set_note(_PROBE, " " * _PROBE_SIZE)
        with self._transaction():
            self._execute("delete from note where name = ?", [_PROBE])

    def note(self, name: str) -> str | None:
        """Return the value of a note."""
        with self._transaction(read_only=True):
            return self._note(name)

    def set_note(self, name: str, value: str) -> None:
        """Write a note."""
        with self._transaction():
            self._set_note(name, value)

    # The methods below must be called in a transaction.

    def _increment(self, counter: str, by: int) -> int:
        """Add to a counter and return its value; this waits for other writers, also by 0."""
        rows = self._execute(
            "update counter set value = value + ? where name = ? returning value", [by, counter]
        )
        return int(rows[0][0])

    def _note(self, name: str) -> str | None:
        rows = self._execute("select value from note where name = ?", [name])
        return str(rows[0][0]) if rows else None

    def _set_note(self, name: str, value: str) -> None:
        self._execute(
            "insert into note (name, value) values (?, ?) "
            "on conflict (name) do update set value = excluded.value",
            [name, value],
        )

    def _select_in(self, sql: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        """Yield the rows of a query that ends with a column, for the given values of the column."""
        values = list(dict.fromkeys(values))
        with self._transaction(read_only=True):
            for part in slices(len(values), _BATCH_SIZE):
                batch = values[part]
                yield from self._execute(f"{sql} in ({', '.join('?' * len(batch))})", batch)
