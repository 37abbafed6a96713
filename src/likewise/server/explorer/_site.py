"""Health, metrics, and the explorer's files."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from likewise.server.api import _schemas as schemas
from likewise.server.api._state import Shared
from likewise.server.explorer._web import web_files

router = APIRouter()


@router.get("/healthz", summary="Is the process there?")
async def healthz() -> schemas.Status:
    """Answer, as long as there is someone to answer."""
    return schemas.Status(status="ok")


@router.get("/readyz", summary="Can it be used?", responses={503: {"model": schemas.Status}})
async def readyz(state: Shared) -> Response:
    """Say whether searches and feedback are taken."""
    well = state.ready and state.service.store_is_there
    return JSONResponse({"status": "ready" if well else "not ready"}, 200 if well else 503)


@router.get("/metrics", summary="Figures for Prometheus", response_class=Response)
async def metrics(state: Shared) -> Response:
    """Return counters and gauges as Prometheus reads them."""
    pulse, service = await state.run(state.service.store.pulse), state.service
    text = state.metrics.text(
        live_version=service.live.version,
        items=len(service.live.catalogue),
        feedback_acknowledged=pulse.acknowledged,
        feedback_applied=pulse.applied,
        learner_up=service.learning is not None and service.learning.running,
        gate_open=not pulse.gate_held,
    )
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/", include_in_schema=False)
async def explorer(request: Request) -> Response:
    """Return the explorer."""
    return _file(request, "index.html")


@router.get("/docs", include_in_schema=False)
async def reference(request: Request) -> Response:
    """Return the page that explains this API."""
    return _file(request, "reference.html")


@router.get("/web/{name:path}", include_in_schema=False)
async def web_file(name: str, request: Request) -> Response:
    """Return one of the explorer's files."""
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    found = web_files().get(name)
    if found is None:
        raise HTTPException(404, "there is no such page.")
    headers = {"etag": found.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)
