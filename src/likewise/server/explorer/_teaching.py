"""The routes of the Teach page: questions to a person, and the goal."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from likewise.server.api import _schemas as schemas
from likewise.server.api._routes import ERRORS
from likewise.server.api._state import Shared, State
from likewise.server.learning._goal import find_goal

router = APIRouter(prefix="/v1/teach", responses=ERRORS)


@router.get("/next", summary="The next question to ask a person")
async def teach_next(
    state: Shared,
    strategy: Annotated[Literal["informative", "random"], Query()] = "informative",
    kind: Annotated[Literal["triplet", "pair"], Query()] = "triplet",
) -> schemas.Question:
    """Return a question: which of two items is more similar to the query.

    With `kind=pair` it is whether two items are the same.
    """
    return await state.search(_question, state, strategy, kind)


def _question(state: State, strategy: str, kind: str) -> schemas.Question:
    state.service.check_learning()
    snapshot = state.service.snapshot
    rows, confidence = state.questions.select(snapshot, strategy)
    query, left, right = (state.explorer.view(snapshot.catalog.items[row]) for row in rows)
    is_pair = kind == "pair"
    return schemas.Question(
        query=query,
        left=left,
        right=None if is_pair else right,
        confidence=None if is_pair else confidence,
        model=snapshot.version.number,
    )


@router.get("/goal", summary="Answers until the next version")
async def teach_goal(state: Shared) -> schemas.Goal:
    """Return the number of answers, and an estimate of those that the next version needs."""
    state.service.check_learning()
    goal = await state.run(find_goal, state.service.store)
    return schemas.Goal(**goal._asdict())
