"""The application: routes, error responses and middleware."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import signature
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from likewise import __version__
from likewise._threads import single_threaded_blas
from likewise.server._encoder import EncoderFailed
from likewise.server._service import Service
from likewise.server._settings import Settings
from likewise.server._tracing import start_tracing, stop_tracing
from likewise.server.api import _monitoring, _routes
from likewise.server.api._direct import DirectSearch
from likewise.server.api._middleware import AccessControl, BodyLimit, Responses, RootPath
from likewise.server.api._monitoring import Metrics
from likewise.server.api._state import State
from likewise.server.explorer import _pages, _teaching
from likewise.server.explorer import _routes as _explorer_routes
from likewise.server.store import (
    AlreadyExists,
    InvalidRequest,
    NotFound,
    NotSupported,
    StoreUnavailable,
)

_LOG = logging.getLogger("likewise.server")
_LOG_SECONDS = 60.0  # between two lines on the same fault of the store
_STATUS: dict[type[Exception], int] = {
    NotFound: 404,
    AlreadyExists: 409,
    NotSupported: 409,
    InvalidRequest: 422,
    EncoderFailed: 503,
}
_ALTERNATIVE = "constrained-"  # in pydantic's names of the types that a value may have
# Recent versions of FastAPI look for providers of traces, metrics and logs at every request.
_NO_TELEMETRY: dict[str, Any] = {}
if "telemetry" in signature(FastAPI).parameters:
    _NO_TELEMETRY["telemetry"] = {"tracing": False, "metrics": False, "logs": False}


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
    if settings.left is not None:
        return _pair_app(settings)
    return build_app(Service(settings), Metrics())


def _pair_app(settings: Settings) -> FastAPI:
    """Return the Teach page for pairs of records."""
    from likewise.server.pairs import _routes
    from likewise.server.pairs._service import PairService

    service = PairService(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.stop()

    app = _new_app(lifespan, "Ask whether two records are the same.")
    app.state.pairs = service
    app.include_router(_routes.router)
    app.include_router(_routes.pages)
    _add_pages(app, settings, lambda *_: None)
    return app


def build_app(service: Service, metrics: Metrics) -> FastAPI:
    """Return the application of a service."""
    settings, state = service.settings, State(service, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with single_threaded_blas():  # each request uses one core
            start_tracing()
            state.start()
            yield
            state.stop()
            stop_tracing()

    app = _new_app(lifespan, "Search by a similarity, teach it and explain it.")
    app.state.likewise = state
    for module in (_routes, _explorer_routes, _teaching, _monitoring, _pages):
        app.include_router(module.router)
    app.add_middleware(DirectSearch, state=state)
    _add_pages(app, settings, metrics.observe)
    return app


def _new_app(lifespan: Any, description: str) -> FastAPI:
    return FastAPI(
        title="likewise",
        description=description,
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        **_NO_TELEMETRY,
    )


def _add_pages(app: FastAPI, settings: Settings, observe: Any) -> None:
    """Add static files, error responses and the middleware of every request."""
    app.mount("/web", _pages.static_files)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _error_handler(status))
    app.add_exception_handler(StoreUnavailable, _store_error_handler())
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(BodyLimit, max_bytes=settings.max_bytes)
    app.add_middleware(AccessControl, settings=settings)
    app.add_middleware(RootPath, settings=settings)
    app.add_middleware(Responses, timeout=settings.timeout, observe=observe)


def _error_handler(status: int) -> Any:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        headers = {"retry-after": "1"} if status == 503 else None
        return JSONResponse({"error": str(error)}, status, headers)

    return answer


def _store_error_handler() -> Any:
    """Return a handler that logs why the store cannot be used, and does not tell clients.

    The reason names the path of the store.
    """
    logged: dict[str, float] = {}

    async def answer(request: Request, error: Exception) -> JSONResponse:
        reason, now = str(error), monotonic()
        if now - logged.get(reason, -_LOG_SECONDS) >= _LOG_SECONDS:
            logged[reason] = now
            _LOG.error("a request failed: %s", reason)
        message = "the store cannot be used at the moment; try again."
        return JSONResponse({"error": message}, 503, {"retry-after": "1"})

    return answer


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    """Return the first error of a request, without its input.

    A value that may have one of several types has an error for each; those of the types that it
    does not have come last.
    """
    assert isinstance(error, RequestValidationError)
    errors = error.errors()
    first = next((found for found in errors if not found["type"].endswith("_type")), errors[0])
    where = ".".join(str(part) for part in first["loc"] if _ALTERNATIVE not in str(part))
    message = str(first["msg"]).removeprefix("Value error, ")
    return JSONResponse({"error": f"{where[:200]}: {message[:500]}."}, 422)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)
