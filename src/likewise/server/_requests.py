"""The requests of a client: a function for each route, which both clients have as a method."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel

from likewise.server.api import _schemas as schemas
from likewise.server.store import ItemId

Answer = TypeVar("Answer")
Response = TypeVar("Response", bound=BaseModel)
QueryLike = ItemId | Sequence[float] | dict[str, Any]
ClickLike = (
    tuple[QueryLike, Sequence[ItemId], ItemId | Sequence[ItemId]]
    | tuple[QueryLike, Sequence[ItemId], ItemId | Sequence[ItemId], int]
)


@dataclass(frozen=True)
class Request(Generic[Answer]):
    """A request, and how its response is read.

    Attributes
    ----------
    method, path : str
    read : callable from the content of a response to an answer
    options : dict
        Arguments of httpx.
    """

    method: str
    path: str
    read: Callable[[bytes], Answer]
    options: dict[str, Any]


def search(
    *,
    id: ItemId | None = None,
    vector: Sequence[float] | None = None,
    text: str | None = None,
    k: int = 10,
    filter: dict[str, Any] | None = None,
    version: int | None = None,
    user: str | None = None,
    rows: bool = False,
) -> Request[schemas.SearchResponse]:
    """Find the items most similar to an item, a vector or a text.

    Where the model encodes tables, `vector` is an encoded row, such as
    ``likewise.load(model).transform_queries(rows)[0]``, and not the cells of a row.
    """
    body = _query(id, vector, text, version) | {"k": k, "filter": filter, "user": user}
    body["rows"] = rows
    return _post(schemas.SearchResponse, "/v1/search", body)


def score(
    items: Sequence[ItemId],
    *,
    id: ItemId | None = None,
    vector: Sequence[float] | None = None,
    text: str | None = None,
    version: int | None = None,
) -> Request[schemas.ScoreResponse]:
    """Score items for a query."""
    body = _query(id, vector, text, version) | {"items": list(items)}
    return _post(schemas.ScoreResponse, "/v1/score", body)


def explain(
    item: ItemId,
    *,
    id: ItemId | None = None,
    vector: Sequence[float] | None = None,
    text: str | None = None,
    top: int = 10,
    version: int | None = None,
) -> Request[schemas.ExplainResponse]:
    """Return the features that contribute most to the score of an item for a query."""
    body = _query(id, vector, text, version) | {"item": item, "top": top}
    return _post(schemas.ExplainResponse, "/v1/explain", body)


def feedback(
    triplets: Iterable[tuple[QueryLike, ItemId, ItemId]] = (),
    *,
    clicks: Iterable[ClickLike] = (),
    pairs: Iterable[tuple[QueryLike, ItemId, bool]] = (),
    key: str | None = None,
    user: str | None = None,
) -> Request[int]:
    """Send triplets, clicks and pairs; return the number written to the journal.

    Parameters
    ----------
    triplets : (query, closer, farther)
        Ids of items; the query may also be a vector, ``{"text": ...}`` or ``{"vector": ...}``.
    clicks : (query, shown, chose) or (query, shown, chose, model)
        Ids of the items shown, in order, and of the one or those that were chosen; the model that
        the search named.
    pairs : (query, item, same)
        Whether an item is the same as the query, or of the same kind.
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
            {
                "query": _jsonable(query),
                "shown": list(shown),
                "chose": _jsonable(chose),
                "model": model[0] if model else None,
            }
            for query, shown, chose, *model in clicks
        ],
        "pairs": [
            {"query": _jsonable(query), "item": item, "same": bool(same)}
            for query, item, same in pairs
        ],
        "key": key or f"client-{uuid4()}",
        "user": user,
    }
    return Request("POST", "/v1/feedback", _field(schemas.Accepted, "accepted"), {"json": body})


def undo(key: str) -> Request[int]:
    """Undo the feedback under a key; return the number of its comparisons."""
    return Request("DELETE", f"/v1/feedback/{_quoted(key)}", _field(schemas.Undone, "undone"), {})


def forget(user: str) -> Request[int]:
    """Undo all feedback of a user; return the number of its comparisons."""
    path = f"/v1/users/{_quoted(user)}/feedback"
    return Request("DELETE", path, _field(schemas.Undone, "undone"), {})


def feedback_state() -> Request[schemas.FeedbackState]:
    """Return the number of comparisons in the journal, and of those consumed."""
    return _get(schemas.FeedbackState, "/v1/feedback")


def export(
    form: Literal["csv", "jsonl"] = "csv", kind: Literal["triplets", "pairs"] = "triplets"
) -> Request[str]:
    """Return all comparisons, or all pairs, except undone ones, as text."""
    params = {"format": form, "kind": kind}
    return Request("GET", "/v1/feedback/export", bytes.decode, {"params": params})


def teach_next(
    strategy: Literal["informative", "random"] = "informative",
    kind: Literal["triplet", "pair"] = "triplet",
) -> Request[schemas.Question]:
    """Return the next question to ask a person."""
    return _get(schemas.Question, "/v1/teach/next", strategy=strategy, kind=kind)


def teach_goal() -> Request[schemas.Goal]:
    """Return the number of answers, and an estimate of those that the next version needs."""
    return _get(schemas.Goal, "/v1/teach/goal")


def models() -> Request[schemas.Models]:
    """Return all versions, the newest first."""
    return _get(schemas.Models, "/v1/models")


def promote(version: int) -> Request[int]:
    """Make a version live; return its number."""
    path = f"/v1/models/{version}/promote"
    return Request("POST", path, _field(schemas.LiveVersion, "live"), {})


def rollback(version: int) -> Request[int]:
    """Roll back to a version that was live, and suspend automatic promotion."""
    path = f"/v1/models/{version}/rollback"
    return Request("POST", path, _field(schemas.LiveVersion, "live"), {})


def items(after: int = 0, limit: int = 50, search: str = "") -> Request[schemas.ItemsPage]:
    """Return a page of items."""
    return _get(schemas.ItemsPage, "/v1/items", after=after, limit=limit, search=search)


def item(id: ItemId) -> Request[schemas.ItemView]:
    """Return one item with its row."""
    return _get(schemas.ItemView, f"/v1/items/{_quoted(str(id))}")


def add_items(items: Iterable[dict[str, Any]]) -> Request[int]:
    """Add items, ``{"id", "row"}`` or ``{"id", "vector"}``; return their number."""
    body = {"items": list(items)}
    return Request("POST", "/v1/items", _field(schemas.Changed, "changed"), {"json": body})


def replace_items(items: Iterable[dict[str, Any]]) -> Request[int]:
    """Replace items, given as in `add_items`; return their number."""
    body = {"items": list(items)}
    return Request("PUT", "/v1/items", _field(schemas.Changed, "changed"), {"json": body})


def remove_item(id: ItemId) -> Request[None]:
    """Remove an item."""
    return Request("DELETE", f"/v1/items/{_quoted(str(id))}", lambda content: None, {})


def _post(response: type[Response], path: str, body: Any) -> Request[Response]:
    return Request("POST", path, response.model_validate_json, {"json": body})


def _get(response: type[Response], path: str, **params: Any) -> Request[Response]:
    return Request("GET", path, response.model_validate_json, {"params": params})


def _field(response: type[BaseModel], name: str) -> Callable[[bytes], Any]:
    """Return a function from a response to one of its fields."""
    return lambda content: getattr(response.model_validate_json(content), name)


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _query(id: Any, vector: Any, text: str | None, version: int | None) -> dict[str, Any]:
    return {
        "id": id,
        "vector": None if vector is None else [float(x) for x in vector],
        "text": text,
        "version": version,
    }


def _jsonable(value: Any) -> Any:
    """Return an id unchanged, a sequence or array as a list, and a query with such a value."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, dict):
        return {kind: _jsonable(given) for kind, given in value.items()}
    return value.tolist() if hasattr(value, "tolist") else list(value)
