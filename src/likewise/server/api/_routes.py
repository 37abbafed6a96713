"""The API: search, feedback, questions, versions and items."""

from math import isinf
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse

from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import export_journal
from likewise.server.api._state import Shared, State
from likewise.server.store import StoredItem, VersionInfo

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Error}
    for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 503)
}
router = APIRouter(prefix="/v1", responses=ERRORS)

ItemName = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
UserName = ItemName
FeedbackKey = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post(
    "/search",
    summary="Find the items most similar to a query",
    response_model=schemas.SearchResponse,
)
async def search(body: schemas.SearchRequest, state: Shared) -> Response:
    """Find items by the id of an item (which is left out), a vector or a text."""
    # Short searches are answered by `DirectSearch` before they come here.
    found = await state.search(state.service.search_json, body)
    return Response(found, media_type="application/json")


@router.post("/score", summary="Score items for a query")
async def score(body: schemas.ScoreRequest, state: Shared) -> schemas.ScoreResponse:
    """Return the scores of items for a query."""
    return await state.search(state.service.score, body)


@router.post("/explain", summary="Explain the score of an item")
async def explain(body: schemas.ExplainRequest, state: Shared) -> schemas.ExplainResponse:
    """Return the features that contribute most to a score."""
    return await state.search(state.service.explain, body)


@router.post("/feedback", status_code=202, summary="Give feedback by triplets, clicks or pairs")
async def give_feedback(body: schemas.FeedbackRequest, state: Shared) -> schemas.Accepted:
    """Write feedback to the journal, durably, before answering; the learner consumes it later."""
    return schemas.Accepted(accepted=await state.run(state.service.feedback, body))


@router.get("/feedback", summary="Progress of learning")
async def feedback_state(state: Shared) -> schemas.FeedbackState:
    """Return the number of comparisons in the journal, and of those consumed."""
    status = await state.run(state.service.store.status)
    return schemas.FeedbackState(acknowledged=status.acknowledged, applied=status.applied)


@router.get("/feedback/export", summary="Export feedback", response_class=StreamingResponse)
async def export_feedback(
    state: Shared,
    format: Annotated[Literal["csv", "jsonl"], Query()] = "csv",
    kind: Annotated[Literal["triplets", "pairs"], Query()] = "triplets",
) -> StreamingResponse:
    """Return all comparisons, or all pairs, except undone ones."""
    media_type = "text/csv" if format == "csv" else "application/x-ndjson"
    return StreamingResponse(
        export_journal(state.service.store, format, kind),
        media_type=f"{media_type}; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{kind}.{format}"'},
    )


@router.delete("/feedback/{key:path}", summary="Undo feedback")
async def undo_feedback(key: FeedbackKey, state: Shared) -> schemas.Undone:
    """Undo the feedback under a key: the model becomes what it would be without it."""
    return schemas.Undone(undone=await state.run(state.service.undo, key))


@router.delete("/users/{user:path}/feedback", summary="Forget a user")
async def forget_user(user: UserName, state: Shared) -> schemas.Undone:
    """Undo all feedback of a user, which is then erased from the store."""
    return schemas.Undone(undone=await state.run(state.service.forget, user))


@router.get("/models", summary="All versions")
async def models(state: Shared) -> schemas.Models:
    """Return all versions, the newest first."""
    status = await state.run(state.service.refresh)
    versions = await state.run(state.service.store.versions)
    start = state.service.settings.hybrid or 0.0
    return schemas.Models(
        live=status.live,
        gate="held" if status.gate_held else "open",
        models=[_model_version(version, status.live, start) for version in versions],
    )


def _model_version(version: VersionInfo, live: int, start: float) -> schemas.ModelVersion:
    verdict, recipe = version.verdict, version.recipe
    status: Any = "rejected"
    if version.number == live:
        status = "live"
    elif version.promoted is not None:
        status = "retired"
    elif version.held:
        status = "kept"
    return schemas.ModelVersion(
        version=version.number,
        status=status,
        origin="file" if version.origin == "file" else "learned",
        learner=None if recipe is None else recipe.learner,
        **{"lambda": None if recipe is None or isinf(recipe.alpha) else recipe.alpha},
        gamma=0.0 if recipe is None else recipe.gamma,
        share=recipe.share if recipe is not None and recipe.learner == "aroma" else None,
        lexical=start if recipe is None or recipe.lexical is None else recipe.weight,
        rank=recipe.rank if recipe is not None and recipe.learner == "plda" else None,
        position=version.position,
        created=version.created,
        promoted=version.promoted,
        judged=None if verdict is None else schemas.Verdict.model_validate(verdict),
        available=version.available,
    )


@router.post("/models/{version}/promote", summary="Make a version live")
async def promote(version: VersionNumber, state: Shared) -> schemas.LiveVersion:
    """Make a version live; later versions can be promoted automatically."""
    live = await state.run(state.service.make_live, version, rollback=False)
    return schemas.LiveVersion(live=live)


@router.post("/models/{version}/rollback", summary="Roll back to a version")
async def rollback(version: VersionNumber, state: Shared) -> schemas.LiveVersion:
    """Roll back to a version that was live, and suspend automatic promotion."""
    live = await state.run(state.service.make_live, version, rollback=True)
    return schemas.LiveVersion(live=live)


@router.get("/items", summary="List items")
async def items(
    state: Shared,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    search: Annotated[str, Query(max_length=200)] = "",
) -> schemas.ItemsPage:
    """Return a page of items; `search` filters by ids, labels and texts."""
    return await state.search(_items_page, state, after, limit, search.casefold())


def _items_page(state: State, after: int, limit: int, search: str) -> schemas.ItemsPage:
    items = state.service.current_snapshot().catalog.items
    if search:
        items = [item for item in items if search in _searchable_text(item)]
    return schemas.ItemsPage(
        items=[state.explorer.view(item) for item in items[after : after + limit]],
        total=len(items),
        next=after + limit if after + limit < len(items) else None,
    )


def _searchable_text(item: StoredItem) -> str:
    cells = (cell for name, cell in item.row.items() if isinstance(cell, str) and name != "image")
    return " ".join([str(item.id), *cells]).casefold()


@router.get("/items/{id:path}", summary="Get an item")
async def item(id: ItemName, state: Shared) -> schemas.ItemView:
    """Return an item with its row."""
    return state.explorer.view(await state.run(state.service.item, id), with_row=True)


@router.post("/items", status_code=201, summary="Add items")
async def add_items(body: schemas.ItemsRequest, state: Shared) -> schemas.Changed:
    """Add new items."""
    return schemas.Changed(changed=await state.run(state.service.put_items, body.items, add=True))


@router.put("/items", summary="Replace items")
async def replace_items(body: schemas.ItemsRequest, state: Shared) -> schemas.Changed:
    """Replace existing items; earlier feedback still refers to the replaced ones."""
    return schemas.Changed(changed=await state.run(state.service.put_items, body.items, add=False))


@router.delete("/items/{id:path}", summary="Remove an item")
async def remove_item(id: ItemName, state: Shared) -> schemas.Changed:
    """Remove an item from all later responses."""
    await state.run(state.service.remove_item, id)
    return schemas.Changed(changed=1)
