"""Where tasks run: on threads of this machine, or on the workers of a Dask cluster.

A task is a function of a module, and arguments; what another task will return may be one of them,
also within a list. Functions do not change their arguments, so that a task can be run again.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from likewise._threads import limit_threads
from likewise._validation import check_whole_number
from likewise.exceptions import ClusterLostError, require_extra

Handle: TypeAlias = Any  # what stands for the result of a task

TASKS_AHEAD = 2  # for each worker: enough to keep it busy, few enough to keep memory flat


class Executor(Protocol):
    """What runs tasks."""

    @property
    def n_workers(self) -> int:
        """How many tasks run at a time."""

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Have `function` called with these arguments; handles are replaced by their results."""

    def share(self, value: Any) -> Handle:
        """Put a value where every worker can get it."""

    def result(self, handle: Handle) -> Any:
        """Wait for a task and return its result."""


def mapped(
    executor: Executor, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield the result of each task, in order; only a few are under way at a time."""
    pending: deque[Handle] = deque()
    for args in tasks:
        pending.append(executor.submit(function, *args))
        if len(pending) > TASKS_AHEAD * executor.n_workers:
            yield executor.result(pending.popleft())
    while pending:
        yield executor.result(pending.popleft())


_FAN = 8


def reduced(
    executor: Executor, function: Callable[..., Any], parts: list[Handle], *args: Any
) -> Handle:
    """Put parts together by ``function(parts, *args)``, some at a time and in a fixed order."""
    if len(parts) == 1:
        return parts[0]
    return executor.submit(function, narrowed(executor, function, parts, *args), *args)


def narrowed(
    executor: Executor, function: Callable[..., Any], parts: list[Handle], *args: Any
) -> list[Handle]:
    """Put parts together as `reduced` does until only a few are left.

    A tree, so that no worker ever holds more than a few parts.
    """
    while len(parts) > _FAN:
        groups = [parts[i : i + _FAN] for i in range(0, len(parts), _FAN)]
        parts = [executor.submit(function, group, *args) for group in groups]
    return parts


class LocalExecutor:
    """Runs tasks on threads of this process: `n_jobs` at a time, one by default.

    Compiled kernels release the interpreter lock. A single task at a time may use all threads
    itself; several have one each.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_workers = 1 if n_jobs is None else check_whole_number(n_jobs, "n_jobs")
        self._pool = ThreadPoolExecutor(self.n_workers) if self.n_workers > 1 else None

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Run at once, or when a thread is free.

        A task may wait for earlier ones: these were begun before it, so that none waits for ever.
        """
        if self._pool is None:
            done: Future[Any] = Future()
            done.set_result(function(*map(_resolved, args)))
            return done
        return self._pool.submit(_run_alone, function, args)

    def share(self, value: Any) -> Handle:
        """Return the value itself: all threads see it."""
        return value

    def result(self, handle: Handle) -> Any:
        """Wait and return."""
        return _resolved(handle)

    def close(self) -> None:
        """Wait for what is under way, and begin nothing more."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _run_alone(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    with limit_threads(1):
        return function(*map(_resolved, args))


def _resolved(value: Any) -> Any:
    if isinstance(value, Future):
        return value.result()
    return [_resolved(part) for part in value] if isinstance(value, list) else value


class DaskExecutor:
    """Runs tasks on the workers of a Dask cluster.

    A worker that is lost costs a recomputation: the scheduler knows how every result was made,
    and what `share` was given is kept with it.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._address = client.scheduler.address

    @property
    def n_workers(self) -> int:
        """Threads of all workers, at least one."""
        return max(1, sum(self.client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Send the task to the scheduler."""
        import dask

        # The warning is for data sent by mistake; here it is sent once, and wanted.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
            return self.client.submit(function, *map(self._ready, args), pure=False)

    def share(self, value: Any) -> Handle:
        """Send a value once, as a task that returns it: what is scattered can be lost."""
        return self.submit(_itself, value)

    def result(self, handle: Handle) -> Any:
        """Wait and return; a lost cluster is said in a sentence."""
        from distributed.comm.core import CommClosedError

        from distributed import KilledWorker

        try:
            return handle.result()
        except (CancelledError, CommClosedError, TimeoutError) as error:
            raise ClusterLostError(
                f"the connection to the Dask scheduler at {self._address} was lost."
            ) from error
        except KilledWorker as error:
            raise ClusterLostError(
                f"a task ended several workers of {self._address}, the last of them "
                f"{error.last_worker.address}: they may have had too little memory."
            ) from error

    def _ready(self, value: Any) -> Any:
        """Return an argument as the scheduler takes it: a lazy chunk of a Dask array as a task."""
        if isinstance(value, list):
            return [self._ready(part) for part in value]
        lazy = getattr(value, "__dask_graph__", None)
        return value if lazy is None else self.client.compute(value)


def _itself(value: Any) -> Any:
    return value


@contextmanager
def connected(client: Any, n_jobs: int | None = None) -> Iterator[LocalExecutor | DaskExecutor]:
    """Yield where tasks run.

    Parameters
    ----------
    client : distributed.Client, address of a scheduler, or None
        None for threads of this process.
    n_jobs : int, optional
        How many threads these are.
    """
    if client is None:
        local = LocalExecutor(n_jobs)
        try:
            yield local
        finally:
            local.close()
        return
    distributed = require_extra("distributed", "dask", "a Dask client")
    if isinstance(client, distributed.Client):
        if client.status != "running":
            raise ClusterLostError(f"client is {client.status}; it must be connected.")
        yield DaskExecutor(client)
        return
    if not isinstance(client, str | os.PathLike):
        raise TypeError(
            "client must be a dask.distributed Client, the address of a scheduler or None, but "
            f"{client!r} was given."
        )
    with opened(client) as own:
        yield DaskExecutor(own)


@contextmanager
def opened(address: str | os.PathLike[str], name: str = "client") -> Iterator[Any]:
    """Yield a client of the scheduler at an address, which the user gave under a name."""
    distributed = require_extra("distributed", "dask", "a Dask client")
    try:
        client = distributed.Client(os.fspath(address), set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterLostError(f"{name}: there is no scheduler at {address}: {error}") from error
    with client:
        yield client
