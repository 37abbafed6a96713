"""ASGI middleware: access control, body limits, security headers and error responses.

`Responses` is the outermost middleware and turns every error into ``{"error": ...}``.
"""

import asyncio
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from hmac import compare_digest
from ipaddress import IPv6Address, ip_address
from time import monotonic, perf_counter
from typing import Any

from starlette.exceptions import HTTPException

from likewise.server._settings import PREFIX_RULE, Settings, is_prefix
from likewise.server._tracing import end_request, request_span

_LOG = logging.getLogger("likewise.server")
_LOCAL_HOSTS = (b"localhost", b"127.0.0.1", b"[::1]")
_HOST = re.compile(rb"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")  # a name, and a port
_PROTECTED_PATHS = ("/v1/", "/metrics", "/openapi.json")
_LIMITED_PATHS = ("/v1/feedback", "/v1/users/", "/v1/pairs/")
_CHANGING_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_MAX_CLIENTS = 10_000
_MAX_SHOWN = 200  # characters of a wrong header in an error

SECURITY_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"font-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class Responses:
    """Adds security headers, limits the time until a response begins, and turns errors into JSON.

    Parameters
    ----------
    app : ASGI application
    timeout : float
        Seconds within which a response must begin; a long one, such as an export, may take longer.
    observe : callable
        Called with the route, method, status and duration of every request.
    """

    def __init__(
        self, app: Any, timeout: float, observe: Callable[[str, str, int, float], None]
    ) -> None:
        self._app, self._timeout, self._observe = app, timeout, observe

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        with request_span(scope) as span:
            await self._answer(scope, receive, _Response(send), span)

    async def _answer(self, scope: Any, receive: Any, response: "_Response", span: Any) -> None:
        started = perf_counter()
        try:
            async with asyncio.timeout(self._timeout) as response.limit:
                await self._app(scope, receive, response.send)
        except HTTPException as error:
            await response.send_error(error.status_code, error.detail, error.headers)
        except TimeoutError:
            message = "the request took too long; try again."
            await response.send_error(503, message, {"retry-after": "1"})
        except Exception as error:
            _LOG.exception("a request failed")
            span.set_attribute("error.type", type(error).__name__)
            await response.send_error(500, "internal error; the server's log has the details.")
        finally:
            route, method = getattr(scope.get("route"), "path", "other"), scope["method"]
            self._observe(route, method, response.status, perf_counter() - started)
            end_request(span, route, method, response.status)


class _Response:
    """Sends a response with the security headers; the time limit ends where it begins."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self.status = 0
        self.limit: asyncio.Timeout | None = None

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.limit is not None and not self.limit.expired():
                self.limit.reschedule(None)
            present = {name for name, _ in message["headers"]}
            defaults = [*SECURITY_HEADERS, (b"cache-control", b"no-store")]
            added = [(name, value) for name, value in defaults if name not in present]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def send_error(self, status: int, message: str, headers: Any = None) -> None:
        """Send an error, unless a response has begun."""
        if self.status:
            return
        self.limit = None  # an error is sent after the time limit has ended
        body = json.dumps({"error": message}).encode()
        fields = {"content-type": "application/json", "content-length": str(len(body))}
        encoded = [
            (name.lower().encode(), value.encode())
            for name, value in {**fields, **(headers or {})}.items()
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body})


class RootPath:
    """Sets ``root_path`` to the prefix under which a proxy serves this server.

    The prefix is the `X-Forwarded-Prefix` of a trusted proxy, or else the one of the settings.
    As ASGI requires, the path then begins with it, whether the proxy removes it or not.

    It comes before `AccessControl`, which decides by the path without the prefix.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._root, self._trusted = settings.root_path, settings.trusted_proxies

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] == "http" and (prefix := self._prefix(scope)):
            _set_prefix(scope, prefix)
        await self._app(scope, receive, send)

    def _prefix(self, scope: Any) -> str:
        """Return the prefix of a request; the empty string where there is none."""
        if not self._trusted:
            return self._root
        given = [value for name, value in scope["headers"] if name == b"x-forwarded-prefix"]
        if not given or not self._is_trusted(scope.get("client")):
            return self._root
        text = b", ".join(given).decode("latin-1")
        prefix = text.removesuffix("/")
        if not text or not is_prefix(prefix):
            raise HTTPException(
                400, f"X-Forwarded-Prefix {PREFIX_RULE}, but {text[:_MAX_SHOWN]!r} was given."
            )
        return prefix

    def _is_trusted(self, client: tuple[str, int] | None) -> bool:
        try:
            address = ip_address(client[0] if client else "")
        except ValueError:  # not an IP socket
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped  # of a listener on ::, which also accepts IPv4
        return any(address in network for network in self._trusted)


def _set_prefix(scope: Any, prefix: str) -> None:
    """Change the scope in place: `Responses` reads the route that the router writes into it."""
    outer, path = scope.get("root_path", ""), route_path(scope)
    if path == prefix:  # links of the page are relative to the last slash
        raise HTTPException(308, "moved.", {"location": f"{outer}{prefix}/"})
    if path.startswith(f"{prefix}/"):
        scope["root_path"] = outer + prefix
        return
    scope["root_path"], scope["path"] = prefix + outer, prefix + scope["path"]
    if scope.get("raw_path") is not None:
        scope["raw_path"] = prefix.encode() + scope["raw_path"]


def route_path(scope: Any) -> str:
    """Return the path without ``root_path``, as the router sees it."""
    path: str = scope["path"]
    inner = path.removeprefix(scope.get("root_path", ""))
    return inner if inner[:1] in ("", "/") else path


class AccessControl:
    """Rejects requests by host, origin, token, content type and feedback rate."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._token = None if settings.token is None else settings.token.encode()
        self._limiter = RateLimit(settings.feedback_rate)
        host = settings.host if ":" not in settings.host else f"[{settings.host}]"
        # Where a token is needed, a page that has none cannot ask, whatever its name points at; and
        # behind a proxy, or for other machines, the server has names that it does not know.
        names = {*_LOCAL_HOSTS, host.lower().encode()}
        self._hosts = names if settings.token is None else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] == "http":
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Any) -> None:
        headers, method, path = _headers(scope), scope["method"], route_path(scope)
        host, origin = headers.get(b"host", b"").lower(), headers.get(b"origin")
        # A malicious site can point a host name of its own at this machine (DNS rebinding).
        name = _HOST.fullmatch(host)
        if name is None or (self._hosts is not None and name[1] not in self._hosts):
            raise HTTPException(403, "this host name is not served here.")
        foreign = origin is not None and origin.lower().partition(b"://")[2] != host
        if foreign and method in _CHANGING_METHODS:
            raise HTTPException(403, "requests from other sites must not change anything.")
        if self._token is not None and path.startswith(_PROTECTED_PATHS):
            scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
            equal = compare_digest(token.strip(), self._token)
            if scheme.lower() != b"bearer" or not equal:
                raise HTTPException(
                    401,
                    "a token is needed: Authorization: Bearer TOKEN.",
                    {"www-authenticate": "Bearer"},
                )
        if method in ("POST", "PUT", "PATCH") and _has_body(headers):
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise HTTPException(415, "the content type must be application/json.")
        if path.startswith(_LIMITED_PATHS) and method in _CHANGING_METHODS:
            self._limiter.take((scope.get("client") or ("unknown",))[0])


def _headers(scope: Any) -> dict[bytes, bytes]:
    """Return the headers by their lower-case names; of repeated ones the first."""
    return dict(reversed(scope["headers"]))


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


class RateLimit:
    """A token bucket for each client, which holds the requests of five seconds.

    Parameters
    ----------
    rate : float
        Requests per second.
    clock : callable, default=time.monotonic
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._capacity = rate, max(1.0, 5 * rate)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request, or raise an error."""
        now = self._clock()
        level, before = self._buckets.pop(client, (self._capacity, now))
        level = min(self._capacity, level + (now - before) * self._rate)
        self._buckets[client] = (level - 1 if level >= 1 else level, now)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if level < 1:
            wait = max(1, round((1 - level) / self._rate))
            raise HTTPException(
                429, "too many feedback requests; try again.", {"retry-after": str(wait)}
            )


class BodyLimit:
    """Reads the body of a request before the application runs, up to a limit."""

    def __init__(self, app: Any, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] == "http":
            receive = replay(await self._read(scope, receive), receive)
        await self._app(scope, receive, send)

    async def _read(self, scope: Any, receive: Any) -> bytes:
        declared = _headers(scope).get(b"content-length", b"0")
        self._check(int(declared) if declared.isdigit() else 0)
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "the request is incomplete.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            self._check(size)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise HTTPException(413, f"the body must have at most {self._max_bytes} bytes.")


def replay(body: bytes, receive: Any) -> Any:
    """Return a `receive` that returns the whole body first."""
    sent = False

    async def replay() -> Any:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
