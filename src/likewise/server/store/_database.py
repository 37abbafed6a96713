"""What there is to do with any database: transactions, counters and notes.

Numbers are counted up in the table ``counter``, within the transaction that uses them: whoever
writes waits there for whoever writes already, so that numbers become visible in their order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

_AT_A_TIME = 500


class Database(ABC):
    """A database; a subclass says how to reach it. All methods may be called from any thread."""

    kind: str

    @abstractmethod
    def _transaction(self, *, reads: bool = False) -> AbstractContextManager[Any]:
        """Hold the connection, and write all or nothing: durable when the block has ended.

        One that only `reads` waits for nobody, and sees one moment. Inside another it is a part
        of that.
        """

    @abstractmethod
    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with ``?`` for its values; return the rows it gives, if any."""

    @abstractmethod
    def _run_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of many tuples of values."""

    @abstractmethod
    def _columns(self, table: str) -> set[str]:
        """Return the names of a table's columns."""

    @abstractmethod
    def _packed(self, vector: np.ndarray) -> Any:
        """Return a vector as the database takes it."""

    @abstractmethod
    def _unpacked(self, stored: Any) -> np.ndarray:
        """Return a vector that the database gave, as float32."""

    @abstractmethod
    def try_to_lead(self) -> bool:
        """Become the one learner on this store, until `close` or the end of the process."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def note(self, name: str) -> str | None:
        """Return what was written down under a name."""
        with self._transaction(reads=True):
            return self._note(name)

    # Within a transaction.

    def _count(self, name: str, by: int) -> int:
        rows = self._run(
            "update counter set value = value + ? where name = ? returning value", [by, name]
        )
        return int(rows[0][0])

    def _note(self, name: str) -> str | None:
        rows = self._run("select value from note where name = ?", [name])
        return str(rows[0][0]) if rows else None

    def _set_note(self, name: str, value: str) -> None:
        self._run(
            "insert into note (name, value) values (?, ?) "
            "on conflict (name) do update set value = excluded.value",
            [name, value],
        )

    def _in_parts(self, sql: str, values: Sequence[Any]) -> Iterable[list[tuple[Any, ...]]]:
        """Run a query that ends in a column for parts of the values that column may have."""
        values = list(dict.fromkeys(values))
        with self._transaction(reads=True):
            for start in range(0, len(values), _AT_A_TIME):
                part = values[start : start + _AT_A_TIME]
                yield self._run(f"{sql} in ({', '.join('?' * len(part))})", part)
