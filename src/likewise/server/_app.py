"""The application: routes, error responses and middleware."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from likewise import __version__
from likewise._threads import single_threaded_blas
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server.api import _monitoring, _routes
from likewise.server.api._middleware import AccessControl, BodyLimit, Responses, RootPath
from likewise.server.api._monitoring import Metrics
from likewise.server.api._state import State
from likewise.server.explorer import _pages
from likewise.server.explorer import _routes as _explorer_routes
from likewise.server.store import (
    AlreadyExists,
    InvalidRequest,
    NotFound,
    NotSupported,
    StoreUnavailable,
)

_STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    AlreadyExists: 409,
    NotSupported: 409,
    InvalidRequest: 422,
    StoreUnavailable: 503,
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
    metrics = Metrics()
    state = State(Service(settings), metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with single_threaded_blas():  # each request uses one core
            state.start()
            yield
            state.stop()

    app = FastAPI(
        title="likewise",
        description="Search by a similarity, teach it and explain it.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.likewise = state
    for module in (_routes, _explorer_routes, _monitoring, _pages):
        app.include_router(module.router)
    app.mount("/web", _pages.static_files)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _error_handler(status))
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(BodyLimit, max_bytes=settings.max_bytes)
    app.add_middleware(AccessControl, settings=settings)
    app.add_middleware(RootPath, root_path=settings.root_path)
    app.add_middleware(Responses, timeout=settings.timeout, observe=metrics.observe)
    return app


def _error_handler(status: int) -> Any:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse({"error": str(error)}, status, headers)

    return answer


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    """Return the first error of a request, without its input."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int | str))
    message = str(first["msg"]).removeprefix("Value error, ")
    return JSONResponse({"error": f"{where[:200]}: {message[:500]}."}, 422)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)
