"""A client of the server: one method a route, typed answers."""

from collections.abc import Iterable, Sequence
from time import monotonic, sleep
from typing import Any, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel

from likewise.exceptions import require_extra
from likewise.server.api import _schemas as schemas
from likewise.server.store._records import ItemId

Answer = TypeVar("Answer", bound=BaseModel)
Asked = ItemId | Sequence[float]

_TRIES = 6
_LATER = (429, 503)


class ServerError(RuntimeError):
    """What the server refused, in its own words.

    Attributes
    ----------
    status : int
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """Talks to a server.

    Requests that the server puts off (429, 503) and feedback whose answer was lost are sent again,
    which is safe: feedback always has a key.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
    token : str, optional
    timeout : float, default=30.0
        Seconds to wait for an answer.

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
        """Let go of the connection."""
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
    ) -> schemas.SearchAnswer:
        """Find the items most alike to a stored item, a vector or a text."""
        body = _query(id, vector, text, version) | {"k": k, "filter": filter}
        return self._post(schemas.SearchAnswer, "/v1/search", body)

    def score(
        self,
        items: Sequence[ItemId],
        *,
        id: ItemId | None = None,
        vector: Sequence[float] | None = None,
        text: str | None = None,
        version: int | None = None,
    ) -> schemas.ScoreAnswer:
        """Score items with a query."""
        body = _query(id, vector, text, version) | {"items": list(items)}
        return self._post(schemas.ScoreAnswer, "/v1/score", body)

    def explain(
        self,
        item: ItemId,
        *,
        id: ItemId | None = None,
        vector: Sequence[float] | None = None,
        text: str | None = None,
        top: int = 10,
        version: int | None = None,
    ) -> schemas.ExplainAnswer:
        """Say which features made the score of an item with a query."""
        body = _query(id, vector, text, version) | {"item": item, "top": top}
        return self._post(schemas.ExplainAnswer, "/v1/explain", body)

    def feedback(
        self,
        triplets: Iterable[tuple[Asked, ItemId, ItemId]] = (),
        *,
        clicks: Iterable[tuple[Asked, Sequence[ItemId], ItemId | Sequence[ItemId]]] = (),
        key: str | None = None,
    ) -> int:
        """Teach by comparisons and clicks; return how many comparisons were written down.

        Parameters
        ----------
        triplets : (query, closer, farther)
            Ids of items; the query may be a vector.
        clicks : (query, shown, chose)
            Ids in the order they were shown, and the one or those that were chosen.
        key : str, optional
            Under which to send the same again, or to undo it; one is made up where none is given.
        """
        body = {
            "triplets": [
                {"query": _asked(query), "closer": closer, "farther": farther}
                for query, closer, farther in triplets
            ],
            "clicks": [
                {"query": _asked(query), "shown": list(shown), "chose": _asked(chose)}
                for query, shown, chose in clicks
            ],
            "key": key or f"client-{uuid4()}",
        }
        return self._post(schemas.Accepted, "/v1/feedback", body).accepted

    def undo(self, key: str) -> int:
        """Take back what was sent under a key; return how many comparisons it made."""
        return self._ask(schemas.Undone, "DELETE", f"/v1/feedback/{quote(key, safe='')}").undone

    def feedback_state(self) -> schemas.FeedbackState:
        """Return how many comparisons are written down, and how many are consumed."""
        return self._ask(schemas.FeedbackState, "GET", "/v1/feedback")

    def wait(self, seconds: float = 30.0) -> schemas.FeedbackState:
        """Wait until all feedback is consumed, so many seconds at most."""
        until = monotonic() + seconds
        while True:
            state = self.feedback_state()
            if state.applied >= state.acknowledged:
                return state
            if monotonic() >= until:
                raise TimeoutError(
                    f"{state.acknowledged - state.applied} comparisons were not consumed within "
                    f"{seconds:g} s."
                )
            sleep(0.05)

    def export(self, form: Literal["csv", "jsonl"] = "csv") -> str:
        """Return all comparisons that were not taken back, as text."""
        return str(self._send("GET", "/v1/feedback/export", params={"format": form}).text)

    def teach_next(
        self, strategy: Literal["informative", "random"] = "informative"
    ) -> schemas.Question:
        """Return the comparison that is worth asking."""
        return self._ask(schemas.Question, "GET", "/v1/teach/next", params={"strategy": strategy})

    def models(self) -> schemas.Models:
        """Return all versions, the newest first."""
        return self._ask(schemas.Models, "GET", "/v1/models")

    def promote(self, version: int) -> int:
        """Make a version live; return the live one."""
        return self._post(schemas.Live, f"/v1/models/{version}/promote").live

    def rollback(self, version: int) -> int:
        """Go back to a version that was live, and stay there; return the live one."""
        return self._post(schemas.Live, f"/v1/models/{version}/rollback").live

    def items(self, after: int = 0, limit: int = 50, search: str = "") -> schemas.ItemsPage:
        """Return a page of items."""
        asked = {"after": after, "limit": limit, "search": search}
        return self._ask(schemas.ItemsPage, "GET", "/v1/items", params=asked)

    def item(self, id: ItemId) -> schemas.Shown:
        """Return one item with its row."""
        return self._ask(schemas.Shown, "GET", f"/v1/items/{quote(str(id), safe='')}")

    def add_items(self, items: Iterable[dict[str, Any]]) -> int:
        """Add items: ``{"id", "row"}`` or ``{"id", "vector"}``; return how many."""
        return self._post(schemas.Changed, "/v1/items", {"items": list(items)}).changed

    def replace_items(self, items: Iterable[dict[str, Any]]) -> int:
        """Replace items, given as in `add_items`; return how many."""
        body = {"items": list(items)}
        return self._ask(schemas.Changed, "PUT", "/v1/items", json=body).changed

    def remove_item(self, id: ItemId) -> None:
        """Take an item out."""
        self._ask(schemas.Changed, "DELETE", f"/v1/items/{quote(str(id), safe='')}")

    def _post(self, kind: type[Answer], path: str, body: Any = None) -> Answer:
        return self._ask(kind, "POST", path, json=body)

    def _ask(self, kind: type[Answer], method: str, path: str, **given: Any) -> Answer:
        return kind.model_validate_json(self._send(method, path, **given).content)

    def _send(self, method: str, path: str, **given: Any) -> Any:
        for left in reversed(range(_TRIES)):
            try:
                answer = self._http.request(method, path, **given)
            except self._httpx.TransportError:
                # Asking again changes nothing; feedback has a key; the rest may have been done.
                if not left or not (method == "GET" or path.startswith("/v1/feedback")):
                    raise
                sleep(0.2)
                continue
            if answer.status_code not in _LATER or not left:
                break
            sleep(min(float(answer.headers.get("retry-after", 1)), 5))
        if answer.status_code >= 400:
            raise ServerError(answer.status_code, _sentence(answer))
        return answer


def _query(id: Any, vector: Any, text: str | None, version: int | None) -> dict[str, Any]:
    return {
        "id": id,
        "vector": None if vector is None else [float(x) for x in vector],
        "text": text,
        "version": version,
    }


def _asked(given: Any) -> Any:
    """Return an id as it is, and a sequence or array as a list."""
    if isinstance(given, str | int):
        return given
    return given.tolist() if hasattr(given, "tolist") else list(given)


def _sentence(answer: Any) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {answer.status_code}."
