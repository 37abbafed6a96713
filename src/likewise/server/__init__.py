"""An HTTP server that searches, learns from feedback and explains what it learned.

``likewise serve MODEL --items FILE`` starts it, and `Client` or `AsyncClient`
sends requests to it.
"""

from typing import TYPE_CHECKING, Any

from likewise._lazy import attach

if TYPE_CHECKING:
    from likewise.server._app import create_app as create_app
    from likewise.server._client import AsyncClient as AsyncClient
    from likewise.server._client import Client as Client
    from likewise.server._client import ServerError as ServerError
    from likewise.server._run import serve as serve
    from likewise.server._settings import Settings as Settings

_HOMES = {
    "AsyncClient": "_client",
    "Client": "_client",
    "ServerError": "_client",
    "Settings": "_settings",
    "create_app": "_app",
    "serve": "_run",
}

_load, __dir__ = attach(__name__, _HOMES)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _load(name)
