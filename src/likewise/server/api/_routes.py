"""The API: search, feedback, teaching, versions and items."""

from math import isinf
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from likewise.server.api import _schemas as schemas
from likewise.server.api._feedback import exported
from likewise.server.api._state import Shared, on_one_thread
from likewise.server.store._records import Verdict, VersionInfo

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.Problem}
    for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 503)
}
router = APIRouter(prefix="/v1", responses=_PROBLEMS)

ItemName = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
FeedbackKey = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post("/search", summary="Find the items most alike to a query")
async def search(body: schemas.SearchRequest, state: Shared) -> schemas.SearchAnswer:
    """Find items by a stored id (which is left out), a vector, or a text."""
    if state.service.is_quick(body):
        return on_one_thread(state.service.search, (body,))
    return await state.search(state.service.search, body)


@router.post("/score", summary="Score items with a query")
async def score(body: schemas.ScoreRequest, state: Shared) -> schemas.ScoreAnswer:
    """Say how alike some items are to a query."""
    return await state.search(state.service.score, body)


@router.post("/explain", summary="Say why an item scores as it does")
async def explain(body: schemas.ExplainRequest, state: Shared) -> schemas.ExplainAnswer:
    """Name the features that made a score."""
    return await state.search(state.service.explain, body)


@router.post("/feedback", status_code=202, summary="Teach by comparisons or clicks")
async def give_feedback(body: schemas.FeedbackRequest, state: Shared) -> schemas.Accepted:
    """Write feedback down for good, then answer; the learner takes it from there."""
    return schemas.Accepted(accepted=await state.run(state.service.feedback, body))


@router.get("/feedback", summary="See how far learning is")
async def feedback_state(state: Shared) -> schemas.FeedbackState:
    """Return how many comparisons are written down, and how many are consumed."""
    pulse = await state.run(state.service.store.pulse)
    return schemas.FeedbackState(acknowledged=pulse.acknowledged, applied=pulse.applied)


@router.get(
    "/feedback/export", summary="Take the comparisons home", response_class=StreamingResponse
)
async def export_feedback(
    state: Shared, format: Annotated[Literal["csv", "jsonl"], Query()] = "csv"
) -> StreamingResponse:
    """Return all comparisons that were not taken back."""
    kind = "text/csv" if format == "csv" else "application/x-ndjson"
    return StreamingResponse(
        exported(state.service.store, format),
        media_type=f"{kind}; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="triplets.{format}"'},
    )


@router.delete("/feedback/{key:path}", summary="Take feedback back")
async def undo_feedback(key: FeedbackKey, state: Shared) -> schemas.Undone:
    """Take back what came under a key: the model becomes what it would be without."""
    return schemas.Undone(undone=await state.run(state.service.undo, key))


@router.get("/teach/next", summary="The comparison worth asking")
async def teach_next(
    state: Shared, strategy: Annotated[Literal["informative", "random"], Query()] = "informative"
) -> schemas.Question:
    """Return a question: is left or right more like the query."""
    return await state.search(_question, state, strategy)


def _question(state: Any, strategy: str) -> schemas.Question:
    state.service.refuse_unless_learning()
    live = state.service.live
    places, confidence = state.teacher.question(live, strategy)
    query, left, right = (state.explorer.shown(live.catalogue.list[place]) for place in places)
    return schemas.Question(
        query=query, left=left, right=right, confidence=confidence, model=live.version
    )


@router.get("/models", summary="All versions")
async def models(state: Shared) -> schemas.Models:
    """Return all versions, the newest first."""
    pulse = await state.run(state.service.follow)
    versions = await state.run(state.service.store.versions)
    return schemas.Models(
        live=pulse.live,
        gate="held" if pulse.gate_held else "open",
        models=[_shown(version, pulse.live) for version in versions],
    )


def _shown(version: VersionInfo, live: int) -> schemas.ModelVersion:
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
        position=version.position,
        created=version.created,
        promoted=version.promoted,
        judged=None if verdict is None else _judged(verdict),
        available=version.available,
    )


def _judged(verdict: Verdict) -> schemas.Verdict:
    kinds = {kind: getattr(verdict, kind)._asdict() for kind in ("overall", "seen", "new")}
    return schemas.Verdict(**{**vars(verdict), **kinds})


@router.post("/models/{version}/promote", summary="Make a version live")
async def promote(version: VersionNumber, state: Shared) -> schemas.Live:
    """Let a version answer from now on; later ones may be promoted by themselves."""
    return schemas.Live(live=await state.run(state.service.make_live, version, back=False))


@router.post("/models/{version}/rollback", summary="Go back to a version")
async def rollback(version: VersionNumber, state: Shared) -> schemas.Live:
    """Go back to a version that was live, and stay there until one is promoted by hand."""
    return schemas.Live(live=await state.run(state.service.make_live, version, back=True))


@router.get("/items", summary="Some of the items")
async def items(
    state: Shared,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    search: Annotated[str, Query(max_length=200)] = "",
) -> schemas.ItemsPage:
    """Return a page of items; `search` looks at ids, labels and texts."""
    return await state.search(_page, state, after, limit, search.casefold())


def _page(state: Any, after: int, limit: int, wanted: str) -> schemas.ItemsPage:
    listed = state.service.live.catalogue.list
    if wanted:
        listed = [item for item in listed if wanted in _words(item)]
    page = listed[after : after + limit]
    more = after + limit < len(listed)
    return schemas.ItemsPage(
        items=[state.explorer.shown(item) for item in page],
        total=len(listed),
        next=after + limit if more else None,
    )


def _words(item: Any) -> str:
    said = (value for name, value in item.row.items() if isinstance(value, str) and name != "image")
    return " ".join([str(item.id), *said]).casefold()


@router.get("/items/{id:path}", summary="One item")
async def item(id: ItemName, state: Shared) -> schemas.Shown:
    """Return an item with its row."""
    return state.explorer.shown(await state.run(state.service.item, id), whole=True)


@router.post("/items", status_code=201, summary="Add items")
async def add_items(body: schemas.ItemsRequest, state: Shared) -> schemas.Changed:
    """Add items that are not there yet."""
    return schemas.Changed(changed=await state.run(state.service.put_items, body.items, add=True))


@router.put("/items", summary="Replace items")
async def replace_items(body: schemas.ItemsRequest, state: Shared) -> schemas.Changed:
    """Replace items that are there; feedback about them stays with what they were."""
    return schemas.Changed(changed=await state.run(state.service.put_items, body.items, add=False))


@router.delete("/items/{id:path}", summary="Remove an item")
async def remove_item(id: ItemName, state: Shared) -> schemas.Changed:
    """Take an item out of every later answer."""
    await state.run(state.service.remove_item, id)
    return schemas.Changed(changed=1)
