"""What routes share: the service, and threads to run it on."""

import os
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from likewise._threads import limit_threads
from likewise.server._metrics import Metrics
from likewise.server._service import Service
from likewise.server.api._middleware import Refusal
from likewise.server.explorer._explore import Explorer
from likewise.server.learning._teach import Teacher

Answer = TypeVar("Answer")

_AT_ONCE = 8  # calls that mostly wait for the store
_MOST_WAITING = 500


class State:
    """The service and what stands beside it.

    Parameters
    ----------
    service : Service
    metrics : Metrics
    """

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self.service = service
        self.metrics = metrics
        self.explorer = Explorer(service)
        self.teacher = Teacher(service.store)
        self.ready = False
        self._searching = CapacityLimiter(max(2, os.cpu_count() or 2))
        self._waiting = CapacityLimiter(_AT_ONCE)

    def start(self) -> None:
        """Begin."""
        self.service.start()
        self.ready = True

    def stop(self) -> None:
        """End."""
        self.ready = False
        self.explorer.close()
        self.service.stop()

    async def search(self, work: Callable[..., Answer], *given: Any) -> Answer:
        """Run what computes, as many at once as there are cores."""
        return await self._run(self._searching, work, given)

    async def run(self, work: Callable[..., Answer], *given: Any, **named: Any) -> Answer:
        """Run what waits for the store."""
        return await self._run(self._waiting, partial(work, **named), given)

    async def _run(self, limiter: CapacityLimiter, work: Any, given: Any) -> Any:
        if limiter.statistics().tasks_waiting > _MOST_WAITING:
            raise Refusal(503, "too many requests are waiting; try again.", 1)
        return await to_thread.run_sync(on_one_thread, work, given, limiter=limiter)


def on_one_thread(work: Callable[..., Answer], given: Any) -> Answer:
    """Run something here, without the cores that other requests need."""
    with limit_threads(1):
        return work(*given)


def state_of(request: Request) -> State:
    """Return what the application holds."""
    state: State = request.app.state.likewise
    return state


Shared = Annotated[State, Depends(state_of)]
