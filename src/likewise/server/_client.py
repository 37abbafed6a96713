"""A client of the server, with a method for each route and typed responses."""

from collections.abc import Iterable, Sequence
from time import monotonic, sleep
from typing import Any, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel

from likewise.exceptions import require_extra
from likewise.server.api import _schemas as schemas
from likewise.server.store import ItemId

Response = TypeVar("Response", bound=BaseModel)
QueryLike = ItemId | Sequence[float]

_MAX_ATTEMPTS = 6
_RETRY_STATUS = (429, 503)


class ServerError(RuntimeError):
    """The server's error response.

    Attributes
    ----------
    status : int
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A client of a server.

    Requests that the server postpones (429, 503) and feedback whose response was lost are repeated,
    which is safe: feedback always has a key.

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
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = self._httpx.Client(
            base_url=address, headers=headers, timeout=timeout, trust_env=False
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def search(
        self,
        *,
        id: ItemId | None = None,
        vector: Sequence[float] | None = None,
        text: str | None = None,
        k: int = 10,
        filter: dict[str, Any] | None = None,
        version: int | None = None,
    ) -> schemas.SearchResponse:
        """Find the items most similar to an item, a vector or a text."""
        body = _query(id, vector, text, version) | {"k": k, "filter": filter}
        return self._post(schemas.SearchResponse, "/v1/search", body)

    def score(
        self,
        items: Sequence[ItemId],
        *,
        id: ItemId | None = None,
        vector: Sequence[float] | None = None,
        text: str | None = None,
        version: int | None = None,
    ) -> schemas.ScoreResponse:
        """Score items for a query."""
        body = _query(id, vector, text, version) | {"items": list(items)}
        return self._post(schemas.ScoreResponse, "/v1/score", body)

    def explain(
        self,
        item: ItemId,
        *,
        id: ItemId | None = None,
        vector: Sequence[float] | None = None,
        text: str | None = None,
        top: int = 10,
        version: int | None = None,
    ) -> schemas.ExplainResponse:
        """Return the features that contribute most to the score of an item for a query."""
        body = _query(id, vector, text, version) | {"item": item, "top": top}
        return self._post(schemas.ExplainResponse, "/v1/explain", body)

    def feedback(
        self,
        triplets: Iterable[tuple[QueryLike, ItemId, ItemId]] = (),
        *,
        clicks: Iterable[tuple[QueryLike, Sequence[ItemId], ItemId | Sequence[ItemId]]] = (),
        key: str | None = None,
        user: str | None = None,
    ) -> int:
        """Send triplets and clicks; return the number of comparisons written to the journal.

        Parameters
        ----------
        triplets : (query, closer, farther)
            Ids of items; the query may be a vector.
        clicks : (query, shown, chose)
            Ids of the items shown, in order, and of the one or those that were chosen.
        key : str, optional
            Identifies the request, to repeat or undo it; by default a random one.
        user : str, optional
            Whose feedback it is; `forget` undoes all of it.
        """
        body = {
            "triplets": [
                {"query": _jsonable(query), "closer": closer, "farther": farther}
                for query, closer, farther in triplets
            ],
            "clicks": [
                {"query": _jsonable(query), "shown": list(shown), "chose": _jsonable(chose)}
                for query, shown, chose in clicks
            ],
            "key": key or f"client-{uuid4()}",
            "user": user,
        }
        return self._post(schemas.Accepted, "/v1/feedback", body).accepted

    def undo(self, key: str) -> int:
        """Undo the feedback under a key; return the number of its comparisons."""
        return self._request(schemas.Undone, "DELETE", f"/v1/feedback/{quote(key, safe='')}").undone

    def forget(self, user: str) -> int:
        """Undo all feedback of a user; return the number of its comparisons."""
        path = f"/v1/users/{quote(user, safe='')}/feedback"
        return self._request(schemas.Undone, "DELETE", path).undone

    def feedback_state(self) -> schemas.FeedbackState:
        """Return the number of comparisons in the journal, and of those consumed."""
        return self._request(schemas.FeedbackState, "GET", "/v1/feedback")

    def wait(self, seconds: float = 30.0) -> schemas.FeedbackState:
        """Wait until all feedback is consumed, or raise TimeoutError."""
        deadline = monotonic() + seconds
        while True:
            state = self.feedback_state()
            if state.applied >= state.acknowledged:
                return state
            if monotonic() >= deadline:
                raise TimeoutError(
                    f"{state.acknowledged - state.applied} comparisons were not consumed within "
                    f"{seconds:g} s."
                )
            sleep(0.05)

    def export(self, form: Literal["csv", "jsonl"] = "csv") -> str:
        """Return all comparisons except undone ones, as text."""
        return str(self._send("GET", "/v1/feedback/export", params={"format": form}).text)

    def teach_next(
        self, strategy: Literal["informative", "random"] = "informative"
    ) -> schemas.Question:
        """Return the next question to ask a person."""
        return self._request(
            schemas.Question, "GET", "/v1/teach/next", params={"strategy": strategy}
        )

    def models(self) -> schemas.Models:
        """Return all versions, the newest first."""
        return self._request(schemas.Models, "GET", "/v1/models")

    def promote(self, version: int) -> int:
        """Make a version live; return its number."""
        return self._post(schemas.LiveVersion, f"/v1/models/{version}/promote").live

    def rollback(self, version: int) -> int:
        """Roll back to a version that was live, and suspend automatic promotion."""
        return self._post(schemas.LiveVersion, f"/v1/models/{version}/rollback").live

    def items(self, after: int = 0, limit: int = 50, search: str = "") -> schemas.ItemsPage:
        """Return a page of items."""
        params = {"after": after, "limit": limit, "search": search}
        return self._request(schemas.ItemsPage, "GET", "/v1/items", params=params)

    def item(self, id: ItemId) -> schemas.ItemView:
        """Return one item with its row."""
        return self._request(schemas.ItemView, "GET", f"/v1/items/{quote(str(id), safe='')}")

    def add_items(self, items: Iterable[dict[str, Any]]) -> int:
        """Add items, ``{"id", "row"}`` or ``{"id", "vector"}``; return their number."""
        return self._post(schemas.Changed, "/v1/items", {"items": list(items)}).changed

    def replace_items(self, items: Iterable[dict[str, Any]]) -> int:
        """Replace items, given as in `add_items`; return their number."""
        body = {"items": list(items)}
        return self._request(schemas.Changed, "PUT", "/v1/items", json=body).changed

    def remove_item(self, id: ItemId) -> None:
        """Remove an item."""
        self._request(schemas.Changed, "DELETE", f"/v1/items/{quote(str(id), safe='')}")

    def _post(self, kind: type[Response], path: str, body: Any = None) -> Response:
        return self._request(kind, "POST", path, json=body)

    def _request(self, kind: type[Response], method: str, path: str, **options: Any) -> Response:
        return kind.model_validate_json(self._send(method, path, **options).content)

    def _send(self, method: str, path: str, **options: Any) -> Any:
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                response = self._http.request(method, path, **options)
            except self._httpx.TransportError:
                # GET is idempotent and feedback has a key; other requests may have been executed.
                if not attempts_left or not (method == "GET" or path.startswith("/v1/feedback")):
                    raise
                sleep(0.2)
                continue
            if response.status_code not in _RETRY_STATUS or not attempts_left:
                break
            sleep(min(float(response.headers.get("retry-after", 1)), 5))
        if response.status_code >= 400:
            raise ServerError(response.status_code, _error_message(response))
        return response


def _query(id: Any, vector: Any, text: str | None, version: int | None) -> dict[str, Any]:
    return {
        "id": id,
        "vector": None if vector is None else [float(x) for x in vector],
        "text": text,
        "version": version,
    }


def _jsonable(value: Any) -> Any:
    """Return an id unchanged, and a sequence or array as a list."""
    if isinstance(value, str | int):
        return value
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _error_message(response: Any) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {response.status_code}."
