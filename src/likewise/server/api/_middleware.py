"""What every request passes: where it may come from, how large it is, how long it takes.

Plain ASGI around the whole application, so that nothing inside sees what is refused here.
"""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from hmac import compare_digest
from time import monotonic, perf_counter
from typing import Any

from likewise.server._settings import Settings

_LOG = logging.getLogger("likewise.server")
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_NEED_TOKEN = ("/v1/", "/metrics", "/openapi.json")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_MOST_CLIENTS = 10_000

HEADERS = [
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


class Refusal(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, sentence: str, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.retry_after = retry_after


class Safety:
    """ASGI middleware; refuses with one sentence, and adds the headers a browser should see.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    observe : callable
        Told the route, method, status and seconds of each request.
    """

    def __init__(
        self, app: Any, settings: Settings, observe: Callable[[str, str, int, float], None]
    ) -> None:
        self._app = app
        self._settings = settings
        self._observe = observe
        self._limiter = RateLimit(settings.feedback_rate)
        named = settings.host if ":" not in settings.host else f"[{settings.host}]"
        self._hosts = {*_LOCAL_NAMES, named} if settings.is_local else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check, then hand on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        started = perf_counter()
        try:
            async with asyncio.timeout(self._settings.timeout):
                self._check(scope)
                body = await self._body(scope, receive)
                await self._app(scope, _replay(body, receive), answer.send)
        except Refusal as refusal:
            await answer.refuse(refusal)
        except TimeoutError:
            await answer.refuse(Refusal(503, "this took too long; try again.", 1))
        except Exception:
            _LOG.exception("a request failed")
            await answer.refuse(Refusal(500, "something went wrong here; the log says what."))
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._observe(route, scope["method"], answer.status, perf_counter() - started)

    def _check(self, scope: Any) -> None:
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # A page of elsewhere can point a name of its own at this machine.
        if self._hosts is not None and _without_port(host) not in self._hosts:
            raise Refusal(403, "this host name is not served here.")
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] in _CHANGING:
            came_from = origin.decode("latin-1").lower().partition("://")[2]
            if came_from != host:
                raise Refusal(403, "pages of other sites may not change anything here.")
        path = scope["path"]
        if self._settings.token is not None and path.startswith(_NEED_TOKEN):
            self._check_token(headers.get(b"authorization", b""))
        if scope["method"] in ("POST", "PUT", "PATCH") and _has_body(headers):
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refusal(415, "the body must be application/json.")
        if path.startswith("/v1/feedback") and scope["method"] in _CHANGING:
            client = (scope.get("client") or ("unknown",))[0]
            self._limiter.take(client)

    def _check_token(self, given: bytes) -> None:
        assert self._settings.token is not None
        scheme, _, token = given.partition(b" ")
        right = compare_digest(token.strip(), self._settings.token.encode())
        if scheme.lower() != b"bearer" or not right:
            raise Refusal(401, "a token is needed: Authorization: Bearer TOKEN.")

    async def _body(self, scope: Any, receive: Any) -> bytes:
        most = self._settings.most_bytes
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > most:
            raise Refusal(413, f"the body may have at most {most} bytes.")
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the request was not finished.")
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise Refusal(413, f"the body may have at most {most} bytes.")
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)


class _Answer:
    """Sends what the application answers, with our headers; or a refusal, if none has begun."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self.status = 0

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            there = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in HEADERS if name not in there]
            if b"cache-control" not in there:
                added.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self.status:
            return  # too late to say anything
        body = json.dumps({"error": str(refusal)}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        if refusal.retry_after is not None:
            headers.append((b"retry-after", str(max(1, round(refusal.retry_after))).encode()))
        if refusal.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await self.send(
            {"type": "http.response.start", "status": refusal.status, "headers": headers}
        )
        await self.send({"type": "http.response.body", "body": body})


class RateLimit:
    """So many requests a second for each client, and five seconds' worth of them at once.

    Parameters
    ----------
    rate : float
    clock : callable, default=time.monotonic
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._most = rate, max(1.0, 5 * rate)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request, or refuse it."""
        now = self._clock()
        left, then = self._left.pop(client, (self._most, now))
        left = min(self._most, left + (now - then) * self._rate)
        self._left[client] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        if left < 1:
            raise Refusal(429, "too much feedback at once; try again.", (1 - left) / self._rate)


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _replay(body: bytes, receive: Any) -> Any:
    """Return a `receive` that gives the whole body, then whatever comes."""
    sent = False

    async def replay() -> Any:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
