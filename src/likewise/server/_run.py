"""Run the server until it is stopped."""

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from likewise.exceptions import require_extra
from likewise.server._settings import Settings

_SHUTDOWN_SECONDS = 10


def serve(
    settings: Settings,
    on_ready: Callable[[str], None] = lambda address: None,
    on_notice: Callable[[str], None] = lambda notice: None,
) -> None:
    """Serve until SIGINT or SIGTERM, and answer the running requests before stopping.

    Parameters
    ----------
    settings : Settings
        Port 0 selects a free port.
    on_ready : callable
        Called with the address when the server accepts requests.
    on_notice : callable
        Called before that, with each sentence about the model and the items that the person who
        starts the server should know.
    """
    require_extra("uvicorn", "server", "a server")
    require_extra("fastapi", "server", "a server")
    from likewise.server._app import create_app
    from likewise.server._workers import serve_workers

    with _listen(settings.host, settings.port) as listener:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{listener.getsockname()[1]}{settings.root_path}"

        def ready() -> None:
            on_ready(address)
            sys.stdout.flush()

        if settings.workers > 1:
            serve_workers(settings, listener, ready, on_notice)
        else:
            app = create_app(settings)
            if settings.left is None:
                for notice in app.state.likewise.service.notices:
                    on_notice(notice)
            make_server(app, ready).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets with an explicit TCP protocol; without it a response
    # in two parts waits 40 ms for the client to acknowledge the first.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(f"cannot listen on host {host}, port {port}: {error.strerror}.") from error
    return listener


def make_server(app: Any, on_ready: Callable[[], object]) -> Any:
    """Return a uvicorn server of an application, and prepare this process for it.

    Parameters
    ----------
    app : ASGI application
    on_ready : callable
        Called when the server accepts requests.
    """
    import uvicorn

    from likewise.server._connections import MAX_CONNECTIONS, allow_many_files, protocol_class

    # A thread that handles feedback yields to a search after this many seconds instead of 5 ms.
    sys.setswitchinterval(0.0005)
    allow_many_files()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_ready()

    return Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            http=protocol_class(),
            ws="none",
            # Above the maximum, connections that wait for their clients are closed; requests on
            # them take a moment to end, and are counted until then.
            limit_concurrency=2 * MAX_CONNECTIONS,
            backlog=2048,
            timeout_keep_alive=65,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
    )
