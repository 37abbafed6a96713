"""Clients of the server, with a method for each route and typed responses."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import Parameter, signature
from time import monotonic, sleep
from typing import Any, Concatenate, ParamSpec, TypeVar

from likewise.exceptions import require_extra
from likewise.server import _requests as requests
from likewise.server._requests import Request
from likewise.server.api import _schemas as schemas

P = ParamSpec("P")
Answer = TypeVar("Answer")

_MAX_ATTEMPTS = 6
_REFUSED, _UNAVAILABLE = 429, 503
_REPEATABLE_PATHS = ("/v1/feedback", "/v1/search", "/v1/score", "/v1/explain")
_LOST_PAUSE, _MAX_PAUSE, _WAIT_PAUSE = 0.2, 5.0, 0.05


class ServerError(RuntimeError):
    """The server's error response.

    Attributes
    ----------
    status : int
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _method(build: Callable[P, Request[Answer]]) -> Callable[Concatenate["Client", P], Answer]:
    """Return a method that sends the request and returns its answer."""

    @wraps(build)
    def send(self: "Client", *args: P.args, **kwargs: P.kwargs) -> Answer:
        request = build(*args, **kwargs)
        return request.read(self._send(request.method, request.path, **request.options).content)

    return _with_self(send, build)


def _coroutine(
    build: Callable[P, Request[Answer]],
) -> Callable[Concatenate["AsyncClient", P], Coroutine[Any, Any, Answer]]:
    """Return the same as a coroutine."""

    @wraps(build)
    async def send(self: "AsyncClient", *args: P.args, **kwargs: P.kwargs) -> Answer:
        request = build(*args, **kwargs)
        response = await self._send(request.method, request.path, **request.options)
        return request.read(response.content)

    return _with_self(send, build)


def _with_self(method: Any, build: Any) -> Any:
    """Give a method the signature of its request, with `self`."""
    own = signature(build)
    me = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    returned = own.return_annotation.__args__[0]
    method.__signature__ = own.replace(
        parameters=[me, *own.parameters.values()], return_annotation=returned
    )
    return method


class Client:
    """A client of a server.

    Requests that the server refuses for now (429) are repeated. Where a request may have been
    executed (503, or a lost response), only those are repeated for which that is safe, such as
    searches, and feedback, which always has a key.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
    token : str, optional
    timeout : float, default=30.0
        Seconds to wait for a response.

    Examples
    --------
    >>> from likewise.server import Client
    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.search(id="shoe-17", k=5).matches
    ...     client.feedback([("shoe-17", "shoe-4", "shoe-9")])
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._httpx: Any = require_extra("httpx", "server", "a client")
        self._http = self._httpx.Client(**_options(address, token, timeout))

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    search = _method(requests.search)
    score = _method(requests.score)
    explain = _method(requests.explain)
    feedback = _method(requests.feedback)
    undo = _method(requests.undo)
    forget = _method(requests.forget)
    feedback_state = _method(requests.feedback_state)
    export = _method(requests.export)
    teach_next = _method(requests.teach_next)
    teach_goal = _method(requests.teach_goal)
    models = _method(requests.models)
    promote = _method(requests.promote)
    rollback = _method(requests.rollback)
    items = _method(requests.items)
    item = _method(requests.item)
    add_items = _method(requests.add_items)
    replace_items = _method(requests.replace_items)
    remove_item = _method(requests.remove_item)

    def wait(self, seconds: float = 30.0) -> schemas.FeedbackState:
        """Wait until all feedback is consumed, or raise TimeoutError."""
        deadline = monotonic() + seconds
        while not _is_consumed(state := self.feedback_state(), deadline, seconds):
            sleep(_WAIT_PAUSE)
        return state

    def _send(self, method: str, path: str, **options: Any) -> Any:
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                response = self._http.request(method, path, **options)
            except self._httpx.TransportError:
                if not attempts_left or not _is_repeatable(method, path):
                    raise
                sleep(_LOST_PAUSE)
                continue
            pause = _pause(response, method, path) if attempts_left else None
            if pause is None:
                break
            sleep(pause)
        return _checked(response)


class AsyncClient:
    """A client of a server for asyncio: its methods are those of `Client`, as coroutines.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
    token : str, optional
    timeout : float, default=30.0
        Seconds to wait for a response.

    Examples
    --------
    >>> import asyncio
    >>> from likewise.server import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("http://127.0.0.1:8000") as client:
    ...         queries = ["boots", "sandals"]
    ...         return await asyncio.gather(*(client.search(text=text) for text in queries))
    >>> asyncio.run(main())  # doctest: +SKIP
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._httpx: Any = require_extra("httpx", "server", "a client")
        self._http = self._httpx.AsyncClient(**_options(address, token, timeout))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    search = _coroutine(requests.search)
    score = _coroutine(requests.score)
    explain = _coroutine(requests.explain)
    feedback = _coroutine(requests.feedback)
    undo = _coroutine(requests.undo)
    forget = _coroutine(requests.forget)
    feedback_state = _coroutine(requests.feedback_state)
    export = _coroutine(requests.export)
    teach_next = _coroutine(requests.teach_next)
    teach_goal = _coroutine(requests.teach_goal)
    models = _coroutine(requests.models)
    promote = _coroutine(requests.promote)
    rollback = _coroutine(requests.rollback)
    items = _coroutine(requests.items)
    item = _coroutine(requests.item)
    add_items = _coroutine(requests.add_items)
    replace_items = _coroutine(requests.replace_items)
    remove_item = _coroutine(requests.remove_item)

    async def wait(self, seconds: float = 30.0) -> schemas.FeedbackState:
        """Wait until all feedback is consumed, or raise TimeoutError."""
        deadline = monotonic() + seconds
        while not _is_consumed(state := await self.feedback_state(), deadline, seconds):
            await asyncio.sleep(_WAIT_PAUSE)
        return state

    async def _send(self, method: str, path: str, **options: Any) -> Any:
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                response = await self._http.request(method, path, **options)
            except self._httpx.TransportError:
                if not attempts_left or not _is_repeatable(method, path):
                    raise
                await asyncio.sleep(_LOST_PAUSE)
                continue
            pause = _pause(response, method, path) if attempts_left else None
            if pause is None:
                break
            await asyncio.sleep(pause)
        return _checked(response)


def _options(address: str, token: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return {"base_url": address, "headers": headers, "timeout": timeout, "trust_env": False}


def _is_repeatable(method: str, path: str) -> bool:
    """Tell whether a request may be sent again that may have been executed."""
    # GET and PUT are idempotent, queries change nothing, and feedback has a key.
    return method in ("GET", "PUT") or path.startswith(_REPEATABLE_PATHS)


def _pause(response: Any, method: str, path: str) -> float | None:
    """Return the seconds after which a request is repeated; None if it is not."""
    status = response.status_code
    if status != _REFUSED and not (status == _UNAVAILABLE and _is_repeatable(method, path)):
        return None
    try:
        seconds = float(response.headers.get("retry-after", 1))
    except ValueError:  # a proxy may name a date
        seconds = 1.0
    return min(max(seconds, 0.0), _MAX_PAUSE)


def _checked(response: Any) -> Any:
    """Return a response, or raise its error."""
    if response.status_code < 400:
        return response
    try:
        message = str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        message = f"the server answered {response.status_code}."
    raise ServerError(response.status_code, message)


def _is_consumed(state: schemas.FeedbackState, deadline: float, seconds: float) -> bool:
    if state.applied >= state.acknowledged:
        return True
    if monotonic() >= deadline:
        raise TimeoutError(
            f"{state.acknowledged - state.applied} comparisons were not consumed within "
            f"{seconds:g} s."
        )
    return False
