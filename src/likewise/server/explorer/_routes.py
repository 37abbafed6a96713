"""The routes of the explorer's pages."""

from typing import Annotated

from fastapi import APIRouter, Query

from likewise.server.api._routes import ERRORS, ItemName
from likewise.server.api._state import Shared, State
from likewise.server.explorer import _views as views

router = APIRouter(prefix="/v1/explore", responses=ERRORS)


@router.get("/summary", summary="Summary of the server")
async def summary(state: Shared) -> views.Summary:
    """Return the served model, its items and the progress of learning."""
    return await state.run(_summary, state)


def _summary(state: State) -> views.Summary:
    service, model = state.service, state.service.model
    status, snapshot = service.refresh(), service.snapshot
    first = snapshot.catalog.items[0] if len(snapshot.catalog) else None
    return views.Summary(
        name=model.name,
        n_items=len(snapshot.catalog),
        n_query_features=model.n_query_features or snapshot.n_item_features,
        n_item_features=snapshot.n_item_features,
        kind=state.explorer.view(first).kind if first else "row",
        columns=[name for name in first.row if name != "image"] if first else [],
        label=model.label,
        label_repeats=state.explorer.label_repeats,
        similarity=repr(snapshot.similarity),
        learns=model.no_learning_reason is None,
        why_not=model.no_learning_reason,
        takes_text=model.text_column is not None,
        takes_pairs=service.settings.learner == "ridge",
        store="postgresql" if service.store.kind == "postgresql" else "sqlite",
        engine=snapshot.index.engine,
        live=snapshot.version.number,
        answers=status.acknowledged - service.store.n_undone(),
        acknowledged=status.acknowledged,
        applied=status.applied,
    )


@router.get("/neighbours/{id:path}", summary="Neighbors before and after learning")
async def neighbors(
    id: ItemName, state: Shared, k: Annotated[int, Query(ge=1, le=100)] = 10
) -> views.Neighbors:
    """Return an item's neighbors before and after learning, with their ranks in both."""
    return await state.search(state.explorer.neighbors, id, k)


@router.get("/map", summary="Map of the items")
async def map(state: Shared, by: Annotated[str | None, Query(max_length=200)] = None) -> views.Map:
    """Return items in the plane before and after learning; repeat the request while computing.

    Labels come from the column `by`.
    """
    return await state.run(state.explorer.map, by)


@router.get("/quality", summary="Quality on held-out queries")
async def quality(state: Shared) -> views.Quality:
    """Return gains and losses on held-out queries, and the history of candidates."""
    return await state.run(state.explorer.quality)
