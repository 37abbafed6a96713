"""What the explorer's pages ask for."""

from typing import Annotated

from fastapi import APIRouter, Query

from likewise.server.api import _schemas as schemas
from likewise.server.api._routes import _PROBLEMS, ItemName
from likewise.server.api._state import Shared, State

router = APIRouter(prefix="/v1/explore", responses=_PROBLEMS)


@router.get("/summary", summary="What is served")
async def summary(state: Shared) -> schemas.Summary:
    """Return what is served, and how far learning is."""
    return await state.run(_summary, state)


def _summary(state: State) -> schemas.Summary:
    service = state.service
    pulse, live = service.follow(), service.live
    first = live.catalogue.list[0] if len(live.catalogue) else None
    return schemas.Summary(
        name=service.served.name,
        n_items=len(live.catalogue),
        n_query_features=service.served.n_query_features or live.n_item_features,
        n_item_features=live.n_item_features,
        kind=service.served.shown(first.row, first.vector)[0] if first else "row",
        columns=[name for name in first.row if name != "image"] if first else [],
        label=service.served.label,
        similarity=repr(live.similarity),
        learns=service.why_not is None,
        why_not=service.why_not,
        takes_text=service.served.text_column is not None,
        store="postgresql" if service.store.kind == "postgresql" else "sqlite",
        engine=service.engine,
        live=live.version,
        acknowledged=pulse.acknowledged,
        applied=pulse.applied,
    )


@router.get("/neighbours/{id:path}", summary="Neighbours before and after learning")
async def neighbours(
    id: ItemName, state: Shared, k: Annotated[int, Query(ge=1, le=100)] = 10
) -> schemas.Neighbours:
    """Return an item's neighbours before and after learning, and where each was."""
    return await state.search(state.explorer.neighbours, id, k)


@router.get("/map", summary="Items in the plane")
async def map(
    state: Shared, by: Annotated[str | None, Query(max_length=200)] = None
) -> schemas.Map:
    """Return items in the plane before and after learning; ask again while it is computed.

    Labels are those of the column `by`.
    """
    return await state.run(state.explorer.map, by)


@router.get("/quality", summary="How good it is")
async def quality(state: Shared) -> schemas.Quality:
    """Return what was gained and lost on what was held out, and the way there."""
    return await state.run(state.explorer.quality)
