"""The store in PostgreSQL, with pgvector: several servers share it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.server.store import Store, table_statements
from likewise.server.store._records import StoreAwayError

_TYPES = {"whole": "bigint", "real": "double precision", "binary": "bytea", "vector": "vector"}
_OUR_LOCK, _MAKING = 0x6C696B65, 1  # "like"; making tables is told from learning


class PostgresStore(Store):
    """A store in a schema of a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``postgresql://...``
    schema : str, default="likewise"
        Made where there is none; stores of several models live in several.
    """

    kind = "postgresql"

    def __init__(self, url: str, schema: str = "likewise") -> None:
        self._psycopg: Any = require_extra("psycopg", "pgvector", "a store in PostgreSQL")
        self._url, self._schema = url, schema
        self._lock = RLock()
        self._depth = 0
        self._leads = False
        self._connection: Any = None
        try:
            self._connect()
        except self._psycopg.Error as error:
            first_line = str(error).strip().splitlines()[0] if str(error).strip() else "no reason"
            raise ValueError(f"the store in PostgreSQL cannot be used: {first_line}.") from error
        except ValueError:
            self.close()
            raise

    def _connect(self) -> None:
        from psycopg import sql

        pgvector: Any = require_extra("pgvector.psycopg", "pgvector", "a store in PostgreSQL")
        self._connection = self._psycopg.connect(
            self._url, autocommit=True, connect_timeout=10, application_name="likewise"
        )
        name = sql.Identifier(self._schema)
        with self._connection.transaction():
            self._connection.execute("select pg_advisory_xact_lock(%s, %s)", [_OUR_LOCK, _MAKING])
            self._connection.execute("create extension if not exists vector")
            self._connection.execute(sql.SQL("create schema if not exists {}").format(name))
        self._connection.execute(sql.SQL("set search_path to {}, public").format(name))
        # `synchronous_commit` off would acknowledge feedback before it is safe.
        self._connection.execute("set synchronous_commit to on")
        self._connection.execute("set lock_timeout to '30s'")
        with self._connection.transaction():
            self._connection.execute("select pg_advisory_xact_lock(%s, %s)", [_OUR_LOCK, _MAKING])
            for statement in table_statements(**_TYPES):
                self._connection.execute(statement)
            self._migrate(_TYPES["binary"])
        pgvector.register_vector(self._connection)

    @contextmanager
    def _transaction(self, *, reads: bool = False) -> Iterator[None]:
        with self._lock:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            if self._connection.closed:
                if self._leads:  # the lock went with the connection: another may lead by now
                    raise StoreAwayError("the connection to PostgreSQL was lost.")
                self._connect_again()
            self._depth = 1
            try:
                with self._connection.transaction():
                    if reads:
                        self._connection.execute(
                            "set transaction isolation level repeatable read, read only"
                        )
                    yield
            except self._psycopg.OperationalError as error:
                raise StoreAwayError("PostgreSQL does not answer just now.") from error
            finally:
                self._depth = 0

    def _connect_again(self) -> None:
        try:
            self._connect()
        except self._psycopg.OperationalError as error:
            raise StoreAwayError("PostgreSQL cannot be reached just now.") from error

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description is not None else []

    def _run_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), many)

    def _columns(self, table: str) -> set[str]:
        found = self._run(
            "select column_name from information_schema.columns "
            "where table_schema = current_schema() and table_name = ?",
            [table],
        )
        return {name for (name,) in found}

    def _packed(self, vector: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(vector, dtype=np.float32)

    def _unpacked(self, stored: Any) -> np.ndarray:
        return np.asarray(stored.to_numpy() if hasattr(stored, "to_numpy") else stored, np.float32)

    def try_to_lead(self) -> bool:
        """Take the one lock there is for learning on this schema; it goes with the connection."""
        with self._transaction():
            ((taken,),) = self._run(
                "select pg_try_advisory_lock(?, hashtext(?))", [_OUR_LOCK, self._schema]
            )
        self._leads = bool(taken)
        return self._leads

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()
