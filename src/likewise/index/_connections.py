"""Connections to PostgreSQL: one for each thread, made when needed, closed with their owner."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Connections:
    """Connections to one database.

    Parameters
    ----------
    url : str

    Attributes
    ----------
    local : threading.local
        What belongs to the calling thread.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.local = threading.local()
        self._open: list[Any] = []
        weakref.finalize(self, _close_all, self._open)

    @property
    def url_without_password(self) -> str:
        """The database, as a file may name it."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        parts: dict[str, Any] = {**conninfo_to_dict(self._url), "password": None}
        return make_conninfo(**parts)

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Any]:
        """Yield the thread's connection inside a transaction."""
        db = getattr(self.local, "connection", None)
        if db is None or db.closed or db.broken:
            db = self.local.connection = self._connect()
            self._open.append(db)
        with db.transaction():
            if read_only and db.info.transaction_status == 2:
                db.execute("set transaction isolation level repeatable read read only")
            yield db

    @contextmanager
    def another(self) -> Iterator[Any]:
        """Yield a connection of its own, for what is read while other things go on."""
        db = self._connect()
        db.autocommit = False
        try:
            yield db
        finally:
            db.close()

    def close(self) -> None:
        """Close all connections."""
        _close_all(self._open)

    def _connect(self) -> Any:
        import psycopg
        from pgvector.psycopg import register_vector

        try:
            db = psycopg.connect(self._url, autocommit=True)
        except psycopg.OperationalError as error:
            raise ConnectionError(f"the database of url cannot be reached: {error}") from error
        except psycopg.ProgrammingError as error:
            raise ValueError(f"url is not a database's address: {error}") from error
        try:
            db.execute("create extension if not exists vector")
            register_vector(db)
        except psycopg.Error as error:
            db.close()
            raise ConnectionError(
                f"the database of url has no pgvector, and it cannot be added: {error}"
            ) from error
        return db


def _close_all(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()
