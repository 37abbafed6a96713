"""The explorer's pages, scripts and styles."""

import mimetypes
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

router = APIRouter(include_in_schema=False)
READING = ["GET", "HEAD"]  # a response to HEAD has no body

# The operating system's table may map these suffixes to types that browsers reject.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("text/css", ".css")
mimetypes.add_type("image/svg+xml", ".svg")


class _StaticFiles(StaticFiles):
    """Static files that browsers validate by their ETag on every request."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


static_files = _StaticFiles(packages=[("likewise.server.explorer", "web")])


@router.api_route("/", methods=READING)
async def explorer(request: Request) -> Response:
    """Return the explorer."""
    return await static_files.get_response("index.html", request.scope)


@router.api_route("/docs", methods=READING)
async def reference(request: Request) -> Response:
    """Return the reference of this API."""
    return await static_files.get_response("reference.html", request.scope)
