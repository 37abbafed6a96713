"""The explorer's files, read once: a request names an entry of a table, never a path."""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
}


class WebFile(NamedTuple):
    """A file as it is sent."""

    body: bytes
    kind: str
    tag: str


@cache
def web_files() -> dict[str, WebFile]:
    """Return every packed file of a kind that browsers take, by its name within ``web``."""
    found = {}
    for name, file in _below(files("likewise.server.explorer") / "web", ""):
        kind = _KINDS.get(name[name.rfind(".") :])
        if kind is not None:
            body = file.read_bytes()
            found[name] = WebFile(body, kind, f'"{sha256(body).hexdigest()[:16]}"')
    return found


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry
