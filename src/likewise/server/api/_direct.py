"""The shortest way through the server for the most frequent request."""

from types import SimpleNamespace
from typing import Any

from pydantic import ValidationError

from likewise.server.api._middleware import replay, route_path
from likewise.server.api._schemas import SearchRequest
from likewise.server.api._state import State, run_single_threaded
from likewise.server.store import InvalidRequest, NotFound

_PATH = "/v1/search"
_ROUTE = SimpleNamespace(path=_PATH)  # what metrics read
_CONTENT_TYPE = (b"content-type", b"application/json")


class DirectSearch:
    """Answers short searches before FastAPI resolves routes and dependencies.

    That takes about as long as the search itself. Everything else, such as a request that is not
    valid or a search that must wait, is left to the route, which answers the same.

    Parameters
    ----------
    app : ASGI application
    state : State
    """

    def __init__(self, app: Any, state: State) -> None:
        self._app, self._service = app, state.service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request, whose body `BodyLimit` has read."""
        if scope["type"] == "http" and scope["method"] == "POST" and route_path(scope) == _PATH:
            message = await receive()
            answer = self._answer(message["body"])
            if answer is not None:
                scope["route"] = _ROUTE
                headers = [_CONTENT_TYPE, (b"content-length", b"%d" % len(answer))]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": answer})
                return
            receive = replay(message["body"], receive)
        await self._app(scope, receive, send)

    def _answer(self, body: bytes) -> bytes | None:
        """Return the response to a short search; None for other requests."""
        try:
            request = SearchRequest.model_validate_json(body)
            snapshot = self._service.fast_snapshot(request)
            if snapshot is not None:
                return run_single_threaded(self._service.search_json, (request, snapshot))
        except (ValidationError, InvalidRequest, NotFound):
            pass
        return None
