"""Connections that wait: a deadline for headers, and which connection is closed at the limit."""

from asyncio import TimerHandle
from typing import Any

HEADER_SECONDS = 5.0
MAX_CONNECTIONS = 1_000
_MAX_FILES = 4_096


def protocol_class(
    *, max_connections: int = MAX_CONNECTIONS, header_seconds: float = HEADER_SECONDS
) -> type:
    """Return uvicorn's HTTP protocol with a deadline for the headers of a request.

    A connection on which a request has begun and whose headers are not complete in time is closed.
    Above the maximum number of connections the oldest one with an incomplete request is closed, or
    else the oldest one that is idle or whose client does not read, so that such clients do not keep
    others out.

    Parameters
    ----------
    max_connections : int, default=1000
    header_seconds : float, default=5
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        _deadline: TimerHandle | None = None
        _active_at = 0.0  # when its last data came

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._active_at = self.loop.time()
            self._set_deadline()
            if len(self.connections) > max_connections:
                others = self.connections - {self}
                waiting = [other for other in others if other.waits_for_client]
                if waiting:
                    min(waiting, key=lambda other: other.rank).drop()

        def data_received(self, data: bytes) -> None:
            self._active_at = self.loop.time()
            super().data_received(data)
            if not self.is_waiting:
                self._clear_deadline()
            elif self._deadline is None:
                self._set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self._clear_deadline()
            super().connection_lost(exc)

        @property
        def is_waiting(self) -> bool:
            """Whether no request is being answered."""
            return self.cycle is None or self.cycle.response_complete

        @property
        def waits_for_client(self) -> bool:
            """Whether the client must send or read something before the server can continue."""
            return self.is_waiting or self.cycle.more_body or self.flow.write_paused

        @property
        def rank(self) -> tuple[bool, float]:
            """The order of closing: incomplete requests first, the oldest first."""
            incomplete = self._deadline is not None or (
                not self.is_waiting and self.cycle.more_body
            )
            return not incomplete, self._active_at

        def drop(self) -> None:
            """Close the connection at once."""
            self._clear_deadline()
            self.connections.discard(self)
            self.transport.abort()

        def _set_deadline(self) -> None:
            self._deadline = self.loop.call_later(header_seconds, self.drop)

        def _clear_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Protocol


def allow_many_files() -> None:
    """Raise this process's limit of open files, where the system has one and allows it."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(_MAX_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
