"""Run the server until it is told to stop."""

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from likewise.exceptions import require_extra
from likewise.server._settings import Settings

_SECONDS_TO_FINISH = 10
_MOST_AT_ONCE = 1_000


def serve(settings: Settings, on_ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until SIGINT or SIGTERM; requests that have begun are answered first.

    Parameters
    ----------
    settings : Settings
        With port 0 a free one is taken.
    on_ready : callable
        Called with the address when the first request can be sent.
    """
    uvicorn: Any = require_extra("uvicorn", "server", "a server")
    require_extra("fastapi", "server", "a server")
    from likewise.server._app import create_app

    # A thread that works on feedback lets a search go first after so many seconds, not after 5 ms.
    sys.setswitchinterval(0.0005)
    with _listen(settings.host, settings.port) as listening:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            create_app(settings),
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_AT_ONCE,
            backlog=2048,
            timeout_keep_alive=65,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        )
        _server(config, lambda: on_ready(address)).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, since asyncio sends small answers at once on such sockets alone: else an answer
    # in two parts waits 40 ms for the other side to acknowledge the first.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(f"cannot listen at {host}, port {port}: {error.strerror}.") from error
    return listening


def _server(config: Any, on_ready: Callable[[], None]) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_ready()
                sys.stdout.flush()

    return Server(config)
