"""Connections to a PostgreSQL database with pgvector."""

import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_MAX_CONNECTIONS = 32
_TIMEOUT = 10.0  # seconds to wait for a connection
# The parts of an address that a file may hold: no secrets, and no names of other files.
_FOR_FILE = ("host", "hostaddr", "port", "dbname", "user", "sslmode")


class Connections:
    """A pool of connections to one database, closed with this object or at exit.

    A connection that the server has closed is replaced when a transaction begins on it.

    Parameters
    ----------
    url : str
    """

    def __init__(self, url: str) -> None:
        from psycopg_pool import ConnectionPool

        self._url = url
        _connect(url).close()  # a pool would retry a wrong address until it times out
        self._pool = ConnectionPool(
            url,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=_MAX_CONNECTIONS,
            timeout=_TIMEOUT,
            reconnect_timeout=_TIMEOUT,
            num_workers=1,
            configure=_configure,
            open=True,
        )
        weakref.finalize(self, self._pool.close)

    @property
    def url_for_file(self) -> str:
        """The address of the database, without the password."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        parts: dict[str, Any] = conninfo_to_dict(self._url)
        return make_conninfo(**{name: parts[name] for name in _FOR_FILE if name in parts})

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Any]:
        """Yield a connection in a transaction; with `read_only` all reads see one state."""
        with ExitStack() as stack:
            db = self._begin(stack)
            if read_only:
                db.execute("set transaction isolation level repeatable read read only")
            yield db

    def _begin(self, stack: ExitStack) -> Any:
        """Return a connection on which a transaction has begun, and ends with the stack."""
        from psycopg import OperationalError

        for is_last in (False, False, True):
            with ExitStack() as attempt:
                db = self._connection()
                attempt.callback(self._pool.putconn, db)
                try:
                    attempt.enter_context(db.transaction())
                except OperationalError:
                    if is_last or not db.closed:
                        raise
                else:
                    stack.enter_context(attempt.pop_all())
                    return db
            # All at once: the pool's own check waits longer after each closed connection.
            self._pool.check()
        raise AssertionError  # the last attempt returns or raises

    def _connection(self) -> Any:
        from psycopg_pool import PoolTimeout

        try:
            return self._pool.getconn()
        except PoolTimeout as error:
            _connect(self._url).close()  # raises the reason if the database cannot be reached
            raise ConnectionError(
                f"all {_MAX_CONNECTIONS} connections to the database of url were in use for "
                f"{_TIMEOUT:g} seconds."
            ) from error


def _connect(url: str) -> Any:
    import psycopg

    try:
        db = psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError as error:
        reason = (str(error).splitlines() or ["no reason is given"])[0]
        raise ConnectionError(f"the database of url cannot be reached: {reason}.") from error
    except psycopg.ProgrammingError:
        # libpq's message repeats the address with its password.
        raise ValueError(
            "url must be the address of a database, such as postgresql://user@host/name, but "
            "something else was given."
        ) from None
    try:
        _configure(db)
    except psycopg.Error as error:
        db.close()
        raise ConnectionError(
            f"the database of url has no pgvector, and it cannot be added: {error}"
        ) from error
    return db


def _configure(db: Any) -> None:
    """Make pgvector's types known to a connection, and pgvector to the database."""
    from pgvector.psycopg import register_vector

    exists = "select exists (select from pg_extension where extname = 'vector')"
    if not db.execute(exists).fetchone()[0]:
        with db.transaction():
            # Processes that create it at the same time wait for each other here.
            db.execute("select pg_advisory_xact_lock(hashtext('likewise_indexes'))")
            db.execute("create extension if not exists vector")
    register_vector(db)
