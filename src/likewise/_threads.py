"""Share row blocks among threads, one BLAS thread each: answers never depend on how many there are.

Kernels are compiled serially and release the interpreter lock, so parallel work is a thread pool
over blocks whose edges are fixed by the data alone.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")

_LIMIT: ContextVar[int | None] = ContextVar("likewise_thread_limit", default=None)


def for_each(
    work: Callable[[Item], None],
    items: Iterable[Item],
    *,
    on_done: Callable[[], None] = lambda: None,
    parallel: bool = True,
) -> None:
    """Call `work` on every item, on as many threads as BLAS would use by itself.

    `on_done` is called in the calling thread once for each item that is finished. With `parallel`
    false there is only the calling thread.

    The number follows ``OMP_NUM_THREADS`` and the like, and joblib's limits in its workers. Inside
    another `for_each` it is one, so that nesting never multiplies threads.
    """
    items = list(items)
    n_threads = max((library["num_threads"] for library in _blas().info()), default=1)
    n_threads = min(n_threads, len(items), _LIMIT.get() or n_threads)
    with single_threaded_blas():
        if n_threads <= 1 or not parallel:
            with limit_threads(1):
                for item in items:
                    work(item)
                    on_done()
            return
        with ThreadPoolExecutor(n_threads, initializer=_enter_worker) as pool:
            pending = [pool.submit(work, item) for item in items]
            try:
                for future in pending:
                    future.result()
                    on_done()
            except BaseException:
                for future in pending:
                    future.cancel()
                raise


def slices(stop: int, size: int, start: int = 0) -> Iterator[slice]:
    """Cut a range into pieces of `size`, the last of them maybe smaller."""
    for begin in range(start, stop, size):
        yield slice(begin, min(begin + size, stop))


class Room(local):
    """Lends every thread an array of its own, again and again, for blocks that are soon done with.

    Large arrays come from the system as empty pages, and to fill these anew for every block can
    take as long as the block itself: on the workers of a Dask cluster, which give memory back at
    once, it does.
    """

    def __init__(self) -> None:
        self._array = np.empty(0)

    def lend(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array that may hold anything, until the next call."""
        size = math.prod(shape)
        if self._array.size < size or self._array.dtype != dtype:
            self._array = np.empty(size, dtype)
        return self._array[:size].reshape(shape)


def _enter_worker() -> None:
    _LIMIT.set(1)
    _blas().limit(limits=1)  # what limits MKL or OpenMP holds for the thread that says so


@contextmanager
def limit_threads(most: int | None) -> Iterator[None]:
    """Let `for_each` inside this block use at most so many threads; None for no limit."""
    token = _LIMIT.set(most)
    try:
        yield
    finally:
        _LIMIT.reset(token)


@cache
def _blas() -> Any:
    # scipy brings a BLAS of its own: it must be there to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _in_control() -> Iterator[None]:
    """Let this thread, whichever it is, set the number of OpenBLAS threads.

    threadpoolctl heeds only the first thread that did so, for as long as that one lives.
    """
    _clear_control()
    try:
        yield
    finally:
        _clear_control()


def _clear_control() -> None:
    for library in _blas().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)  # since threadpoolctl 3.8
        if clear is not None:
            clear(force=True)


class _SharedLimit:
    """Holds BLAS to one thread while at least one caller asks for it.

    The limit belongs to the process, so callers are counted: two that overlap would otherwise
    restore it in the wrong order and leave it at one for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._callers = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._callers == 0:
                with _in_control():
                    self._limit = _blas().limit(limits=1)
            self._callers += 1
        try:
            yield
        finally:
            with self._lock:
                self._callers -= 1
                if self._callers == 0:
                    with _in_control():
                        self._limit.restore_original_limits()


single_threaded_blas = _SharedLimit()
