"""Connections to PostgreSQL: as many as are used at once, kept for the next, closed at the end."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# What a file may say of a database: where it is, nothing that is secret or that names other files.
_FOR_FILE = ("host", "hostaddr", "port", "dbname", "user", "sslmode")


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
        self._free: list[Any] = []
        weakref.finalize(self, _close_all, self._free)

    @property
    def url_for_file(self) -> str:
        """The database, as a file may name it: without password."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        parts: dict[str, Any] = conninfo_to_dict(self._url)
        return make_conninfo(**{name: parts[name] for name in _FOR_FILE if name in parts})

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Yield a connection inside a transaction: that of `reading`, if the thread is in one."""
        if self.is_reading:
            yield self.local.reading
            return
        try:
            db = self._free.pop()
        except IndexError:
            db = self._connect()
        try:
            with db.transaction():
                yield db
        finally:
            if not db.closed:
                self._free.append(db)

    @property
    def is_reading(self) -> bool:
        """Whether the thread is inside `reading`."""
        return getattr(self.local, "reading", None) is not None

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Let all that the thread reads be of one state; yield before that state is chosen."""
        with self.transaction() as db:
            db.execute("set transaction isolation level repeatable read read only")
            self.local.reading = db
            try:
                yield db
            finally:
                self.local.reading = None

    def close(self) -> None:
        """Close what is not in use."""
        _close_all(self._free)

    def _connect(self) -> Any:
        import psycopg
        from pgvector.psycopg import register_vector

        try:
            db = psycopg.connect(self._url, autocommit=True)
        except psycopg.OperationalError as error:
            reason = (str(error).splitlines() or ["no reason is given"])[0]
            raise ConnectionError(f"the database of url cannot be reached: {reason}.") from error
        except psycopg.ProgrammingError:
            # What libpq says repeats the url, password and all.
            raise ValueError(
                "url must be a database's address, such as postgresql://user@host/name, but "
                "something else was given."
            ) from None
        try:
            _make_extension(db)
            register_vector(db)
        except psycopg.Error as error:
            db.close()
            raise ConnectionError(
                f"the database of url has no pgvector, and it cannot be added: {error}"
            ) from error
        return db


def _make_extension(db: Any) -> None:
    found = "select exists (select from pg_extension where extname = 'vector')"
    if db.execute(found).fetchone()[0]:
        return
    with db.transaction():
        # Two processes that find none wait for each other here.
        db.execute("select pg_advisory_xact_lock(hashtext('likewise_indexes'))")
        db.execute("create extension if not exists vector")


def _close_all(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()
