"""The store in PostgreSQL with pgvector, which several servers can share."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.server.store._records import StoreUnavailable
from likewise.server.store._store import Store

_TYPES = {"whole": "bigint", "real": "double precision", "binary": "bytea", "vector": "vector"}
_LOCK_SPACE, _SCHEMA_LOCK = 0x6C696B65, 1  # "like"; the lock for creating tables


class PostgresStore(Store):
    """A store in a schema of a PostgreSQL database.

    Parameters
    ----------
    url : str
        ``postgresql://...``
    schema : str, default="likewise"
        Created if it does not exist; every model needs a schema of its own.
    """

    kind = "postgresql"

    def __init__(self, url: str, schema: str = "likewise") -> None:
        super().__init__()
        self._psycopg: Any = require_extra("psycopg", "pgvector", "a store in PostgreSQL")
        self._url, self._schema = url, schema
        self._holds_learner_lock = False
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
        lock = "select pg_advisory_xact_lock(%s, %s)"
        name = sql.Identifier(self._schema)
        with self._connection.transaction():
            self._connection.execute(lock, [_LOCK_SPACE, _SCHEMA_LOCK])
            self._connection.execute("create extension if not exists vector")
            self._connection.execute(sql.SQL("create schema if not exists {}").format(name))
        self._connection.execute(sql.SQL("set search_path to {}, public").format(name))
        # Without `synchronous_commit` feedback would be acknowledged before it is durable.
        self._connection.execute("set synchronous_commit to on")
        self._connection.execute("set lock_timeout to '30s'")
        with self._connection.transaction():
            self._connection.execute(lock, [_LOCK_SPACE, _SCHEMA_LOCK])
            self._in_transaction = True
            try:
                self._create_tables(_TYPES)
            finally:
                self._in_transaction = False
        pgvector.register_vector(self._connection)

    @contextmanager
    def _outer_transaction(self, read_only: bool) -> Iterator[None]:
        if self._connection.closed:
            if self._holds_learner_lock:  # released with the connection: another may hold it
                raise StoreUnavailable("the connection to PostgreSQL was lost.")
            self._reconnect()
        try:
            with self._connection.transaction():
                if read_only:
                    self._connection.execute(
                        "set transaction isolation level repeatable read, read only"
                    )
                yield
        except self._psycopg.OperationalError as error:
            raise StoreUnavailable("PostgreSQL does not answer.") from error

    def _reconnect(self) -> None:
        try:
            self._connect()
        except self._psycopg.OperationalError as error:
            raise StoreUnavailable("PostgreSQL cannot be reached.") from error

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description is not None else []

    def _execute_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), many)

    def _columns(self, table: str) -> set[str]:
        rows = self._execute(
            "select column_name from information_schema.columns "
            "where table_schema = current_schema() and table_name = ?",
            [table],
        )
        return {name for (name,) in rows}

    def _encode_vector(self, vector: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(vector, dtype=np.float32)

    def _decode_vector(self, stored: Any) -> np.ndarray:
        return np.asarray(stored.to_numpy() if hasattr(stored, "to_numpy") else stored, np.float32)

    def acquire_learner_lock(self) -> bool:
        """Take the advisory lock of this schema, which the connection holds."""
        with self._transaction():
            ((taken,),) = self._execute(
                "select pg_try_advisory_lock(?, hashtext(?))", [_LOCK_SPACE, self._schema]
            )
        self._holds_learner_lock = bool(taken)
        return self._holds_learner_lock

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()
