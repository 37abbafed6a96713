"""Tasks on the workers of a Dask cluster.

A task is a module-level function with arguments, any of which, or an entry of a list of which, may
be the handle of another task. Functions do not change their arguments, so a task can be repeated.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeAlias, TypeVar

from likewise.exceptions import ClusterLostError

Handle: TypeAlias = Any  # stands for the result of a task
Submitted = TypeVar("Submitted")

TASKS_PER_WORKER = 2  # in progress: enough to keep it busy, few enough to keep memory flat
FAN_IN = 8  # parts that one task combines


class Executor:
    """Runs tasks on the workers of a Dask cluster.

    A lost worker costs a recomputation: the scheduler knows how each result was made, and keeps
    the values that were shared.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._address = client.scheduler.address
        self._n_spread = 0

    @property
    def n_workers(self) -> int:
        """Number of tasks that run at the same time: the threads of all workers."""
        return max(1, sum(self.client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *args: Any, priority: int = 0) -> Handle:
        """Schedule a call of `function`; handles among the arguments become their results.

        Of the tasks that could start, those of the highest priority are the first.
        """
        return self._submit(function, *args, priority=priority)

    def spread(self, function: Callable[..., Any], *args: Any, priority: int = 0) -> Handle:
        """Schedule a call as `submit` does, on the workers in turn.

        The scheduler considers only workers that hold an argument: tasks that share one would all
        be given to the same worker, and others would have to steal them.
        """
        slots = [address for address, n in self.client.nthreads().items() for _ in range(n)]
        if not slots:  # lost: the first that is there again takes it
            return self.submit(function, *args, priority=priority)
        worker = slots[self._n_spread % len(slots)]
        self._n_spread += 1
        placement = {"workers": [worker], "allow_other_workers": True}
        return self._submit(function, *args, priority=priority, **placement)

    def submit_to_all(self, function: Callable[..., Any], *args: Any) -> list[Handle]:
        """Schedule a call on each worker, or on another one if it is lost; one handle per thread.

        The handles of the threads of a worker are of the same call.
        """
        handles = []
        for address, n_threads in self.client.nthreads().items():
            call = self._submit(function, *args, workers=[address], allow_other_workers=True)
            handles += [call] * n_threads
        return handles

    def _submit(self, function: Callable[..., Any], *args: Any, **options: Any) -> Handle:
        import dask

        # The warning is for data sent by mistake; here it is sent once, and wanted.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
            return self.client.submit(function, *map(self._argument, args), pure=False, **options)

    def in_one_message(self, submit: Callable[[], Submitted]) -> Submitted:
        """Call a function, and send all tasks that it submits in one message.

        Dask sends the first task immediately, and those that follow up to 10 ms later. The function
        runs on the event loop: it may call `submit` and `share`, but nothing that waits.
        """

        async def call() -> Submitted:
            return submit()

        submitted: Submitted = self.client.sync(call)
        return submitted

    def share(self, value: Any) -> Handle:
        """Send a value once, as the result of a task: scattered values are lost with a worker."""
        return self.submit(_identity, value)

    def result(self, handle: Handle) -> Any:
        """Wait for a task and return its result."""
        return self.results([handle])[0]

    def results(self, handles: list[Handle]) -> list[Any]:
        """Wait for tasks and return their results."""
        from distributed.comm.core import CommClosedError

        from distributed import KilledWorker

        try:
            found: list[Any] = self.client.gather(handles)
            return found
        except (CancelledError, CommClosedError, TimeoutError) as error:
            raise ClusterLostError(
                f"the connection to the Dask scheduler at {self._address} was lost."
            ) from error
        except KilledWorker as error:
            raise ClusterLostError(
                f"a task ended several workers of {self._address}, the last of them "
                f"{error.last_worker.address}: they may have had too little memory."
            ) from error

    def _argument(self, value: Any) -> Any:
        """Return an argument as the scheduler takes it: a lazy Dask chunk becomes a task."""
        if isinstance(value, list):
            return [self._argument(part) for part in value]
        lazy = getattr(value, "__dask_graph__", None)
        return value if lazy is None else self.client.compute(value)


def _identity(value: Any) -> Any:
    return value


def map_tasks(
    executor: Executor, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield the result of each task, in order; only a few are in progress at a time."""
    pending: deque[Handle] = deque()
    for args in tasks:
        pending.append(executor.spread(function, *args))
        if len(pending) > TASKS_PER_WORKER * executor.n_workers:
            yield executor.result(pending.popleft())
    while pending:
        yield executor.result(pending.popleft())


def tree_reduce(
    executor: Executor, function: Callable[..., Any], parts: list[Handle], *args: Any
) -> Handle:
    """Combine parts by ``function(parts, *args)``, a few at a time and in a fixed order."""
    if len(parts) == 1:
        return parts[0]
    return executor.submit(function, reduce_to_few(executor, function, parts, *args), *args)


def reduce_to_few(
    executor: Executor,
    function: Callable[..., Any],
    parts: list[Handle],
    *args: Any,
    priority: int = 0,
) -> list[Handle]:
    """Combine parts as `tree_reduce` does until at most eight are left.

    A tree, so that no worker ever holds more than a few parts.
    """
    while len(parts) > FAN_IN:
        groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
        parts = [executor.submit(function, group, *args, priority=priority) for group in groups]
    return parts
