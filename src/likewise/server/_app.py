"""The application: routes, errors and everything around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from likewise.server._metrics import Metrics
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api import _routes as api_routes
from likewise.server.api._middleware import Safety
from likewise.server.api._state import State
from likewise.server.explorer import _routes as explorer_routes
from likewise.server.explorer import _site
from likewise.server.store._records import (
    KeyTakenError,
    NotPossibleError,
    NotThereError,
    StoreAwayError,
    WrongRequestError,
)

_STATUS: dict[type[Exception], int] = {
    NotThereError: 404,
    KeyTakenError: 409,
    NotPossibleError: 409,
    StoreAwayError: 503,
    WrongRequestError: 422,
}


def create_app(settings: Settings) -> FastAPI:
    """Return the server as an ASGI application; its service starts and stops with it.

    Parameters
    ----------
    settings : Settings

    Examples
    --------
    >>> import likewise as lw, os, tempfile
    >>> from likewise.server import Settings, create_app
    >>> folder = tempfile.mkdtemp()
    >>> lw.save(lw.Bilinear([1.0, 2.0]), os.path.join(folder, "model.safetensors"))
    >>> app = create_app(Settings(os.path.join(folder, "model.safetensors")))
    >>> app.title
    'likewise'
    """
    service = Service(settings)
    metrics = Metrics()
    state = State(service, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.start()
        yield
        state.stop()

    app = FastAPI(
        title="likewise",
        description="A similarity that is searched, taught and explained.",
        version=_version(),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.likewise = state
    for module in (api_routes, explorer_routes, _site):
        app.include_router(module.router)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _answer_with(status))
    app.add_exception_handler(RequestValidationError, _say_what_is_wrong)
    app.add_exception_handler(HTTPException, _say_in_our_shape)
    app.add_middleware(Safety, settings=settings, observe=metrics.observe)
    return app


def _version() -> str:
    from likewise import __version__

    return __version__


def _answer_with(status: int) -> Any:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse({"error": str(error)}, status, headers)

    return answer


async def _say_what_is_wrong(request: Request, error: Exception) -> JSONResponse:
    """Name the first thing that does not fit; what was sent is not sent back."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int | str))
    said = str(first["msg"]).removeprefix("Value error, ")
    return JSONResponse({"error": f"{where[:200]}: {said[:500]}."}, 422)


async def _say_in_our_shape(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)
