"""The routes of the Teach page for pairs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from likewise.server.api._schemas import Key
from likewise.server.explorer._pages import READING, static_files
from likewise.server.pairs._service import PairService

router = APIRouter(prefix="/v1/pairs")
pages = APIRouter(include_in_schema=False)


class Record(BaseModel):
    """A record of a table."""

    table: str
    id: int | str
    fields: dict[str, Any]


class PairQuestion(BaseModel):
    """Two records, and the key of the answer; None if all candidates were asked about."""

    key: str | None
    left: Record | None
    right: Record | None


class PairAnswer(BaseModel):
    """Whether two records are the same."""

    model_config = ConfigDict(extra="forbid")

    key: Key
    left_id: int | str
    right_id: int | str
    same: bool


class Acknowledged(BaseModel):
    """The probability of a match before the answer was learned."""

    probability: float


class Undone(BaseModel):
    """The key of an answer that was taken back."""

    undone: str


def _get_service(request: Request) -> PairService:
    service: PairService = request.app.state.pairs
    return service


Shared = Annotated[PairService, Depends(_get_service)]


@router.get("/next", summary="The next pair to ask a person about")
def pairs_next(service: Shared) -> PairQuestion:
    """Return a pair of records; every tenth request learns from the answers first."""
    question = service.next()
    if question is None:
        return PairQuestion(key=None, left=None, right=None)
    left, right = (
        Record(table=service.title(side), id=name, fields=service.record(side, name))
        for side, name in enumerate((question.left_id, question.right_id))
    )
    return PairQuestion(key=question.key, left=left, right=right)


@router.post("/answers", summary="Answer whether two records are the same")
def pairs_answer(answer: PairAnswer, service: Shared) -> Acknowledged:
    """Write an answer to the journal; the same key is written once."""
    found = service.answer(answer.key, answer.left_id, answer.right_id, same=answer.same)
    return Acknowledged(probability=found)


@router.delete("/answers/{key}", summary="Take an answer back")
def pairs_undo(key: Annotated[Key, Path()], service: Shared) -> Undone:
    """Take an answer back."""
    service.undo(key)
    return Undone(undone=key)


@router.get("/progress", summary="What the answers judged and forecast")
def pairs_progress(service: Shared) -> dict[str, Any]:
    """Return the number of answers, and F1 by answers."""
    return service.progress()


@router.get("/export", summary="All answers as CSV", response_class=Response)
def pairs_export(service: Shared) -> Response:
    """Return left_id, right_id, label and judge: the format of ``likewise match --labels``."""
    return Response(service.export(), media_type="text/csv; charset=utf-8")


@pages.api_route("/", methods=READING)
async def teach(request: Request) -> Response:
    """Return the page."""
    return await static_files.get_response("pairs.html", request.scope)


@pages.api_route("/healthz", methods=READING)
@pages.api_route("/readyz", methods=READING)
async def health() -> dict[str, str]:
    """Answer: the service is ready before the server listens."""
    return {"status": "ok"}
