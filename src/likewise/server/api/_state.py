"""The state that routes share: the service, and threads to run it on."""

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from likewise._threads import limit_threads
from likewise.server._service import Service
from likewise.server.explorer._explorer import Explorer
from likewise.server.learning._questions import QuestionSelector

if TYPE_CHECKING:
    from likewise.server.api._monitoring import Metrics

Answer = TypeVar("Answer")

_STORE_THREADS = 8
_MAX_WAITING = 500


class State:
    """The service, and everything that routes use beside it."""

    def __init__(self, service: Service, metrics: "Metrics") -> None:
        self.service = service
        self.metrics = metrics
        self.explorer = Explorer(service)
        self.questions = QuestionSelector(service.store)
        self.ready = False
        self._search_limiter = CapacityLimiter(max(2, os.cpu_count() or 2))
        self._store_limiter = CapacityLimiter(_STORE_THREADS)

    def start(self) -> None:
        """Start the service."""
        self.service.start()
        self.ready = True

    def stop(self) -> None:
        """Stop the service."""
        self.ready = False
        self.explorer.close()
        self.service.stop()

    async def search(self, work: Callable[..., Answer], *args: Any) -> Answer:
        """Run a computation on a thread; one per core at a time."""
        return await self._run(self._search_limiter, work, args)

    async def run(self, work: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
        """Run a call that waits for the store on a thread."""
        return await self._run(self._store_limiter, partial(work, **options), args)

    async def _run(self, limiter: CapacityLimiter, work: Any, args: Any) -> Any:
        if limiter.statistics().tasks_waiting > _MAX_WAITING:
            raise HTTPException(
                503, "too many requests are waiting; try again.", {"retry-after": "1"}
            )
        return await to_thread.run_sync(run_single_threaded, work, args, limiter=limiter)


def run_single_threaded(work: Callable[..., Answer], args: Any) -> Answer:
    """Call a function without using the cores that other requests need."""
    with limit_threads(1):
        return work(*args)


async def _get_state(request: Request) -> State:  # a plain function would run on a thread
    state: State = request.app.state.likewise
    return state


Shared = Annotated[State, Depends(_get_state)]
