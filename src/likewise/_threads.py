"""Process row blocks in a thread pool, with one BLAS thread each.

Kernels are single-threaded and release the GIL. Block boundaries depend only on the data, so
results do not depend on the number of threads.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
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
    """Call `work` on every item, with the number of threads that BLAS would use.

    `on_done` is called in the calling thread once per finished item. With `parallel` false
    everything runs in the calling thread.

    The number of threads follows ``OMP_NUM_THREADS`` and similar variables, and joblib's limits in
    its workers. A nested `for_each` uses one thread.
    """
    items = list(items)
    n_threads = min(len(items), _LIMIT.get() or len(items)) if parallel else 1
    if n_threads > 1:
        n_threads = min(n_threads, _max_blas_threads())
    with single_threaded_blas():
        if n_threads <= 1:
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
    """Yield consecutive slices of `size` elements; the last may be shorter."""
    for begin in range(start, stop, size):
        yield slice(begin, min(begin + size, stop))


class ScratchArray(local):
    """Per-thread scratch array, reused between blocks.

    Allocating a large array for every block can take as long as the block itself, because the
    system clears its pages; on Dask workers, which return memory to the system at once, it does.
    """

    def __init__(self) -> None:
        self._array = np.empty(0)

    def get(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an uninitialized array that is valid until the next call."""
        size = math.prod(shape)
        if self._array.size < size or self._array.dtype != dtype:
            self._array = np.empty(size, dtype)
        return self._array[:size].reshape(shape)


def _enter_worker() -> None:
    _LIMIT.set(1)
    _blas().limit(limits=1)  # MKL and OpenMP limits apply to the calling thread


@contextmanager
def limit_threads(limit: int | None) -> Iterator[None]:
    """Limit the threads that `for_each` uses inside this block; None for no limit.

    A negative limit counts from all cores, as in joblib: -1 for all, -2 for all but one.
    """
    if limit is not None and limit < 0:
        from joblib import effective_n_jobs

        limit = effective_n_jobs(limit)
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


@cache
def _blas() -> Any:
    # SciPy has its own BLAS, which must be loaded to be detected.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@cache
def _per_thread_blas() -> Any:
    """Return the libraries built with OpenMP, whose limit applies to the calling thread."""
    return _blas().select(threading_layer="openmp")


@cache
def _per_process_blas() -> Any:
    """Return the libraries whose limit applies to the whole process."""
    layers = {getattr(library, "threading_layer", None) for library in _blas().lib_controllers}
    return _blas().select(threading_layer=list(layers - {"openmp"}))


@contextmanager
def _thread_control() -> Iterator[None]:
    """Allow the current thread to set the number of OpenBLAS threads.

    threadpoolctl otherwise accepts changes only from the first thread that made one.
    """
    _clear_thread_control()
    try:
        yield
    finally:
        _clear_thread_control()


def _clear_thread_control() -> None:
    for library in _blas().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)  # since threadpoolctl 3.8
        if clear is not None:
            clear(force=True)


class _SharedLimit:
    """Limits BLAS to one thread while at least one caller is inside the context.

    The limit applies to the process, so callers are counted: two overlapping callers would
    otherwise restore it in the wrong order and leave it at one. Libraries built with OpenMP have a
    limit per thread, which every caller sets for itself.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._callers = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._callers == 0 and _has_threads(_per_process_blas()):
                with _thread_control():
                    self._limit = _per_process_blas().limit(limits=1)
            self._callers += 1
        try:
            per_thread = _per_thread_blas()
            with per_thread.limit(limits=1) if _has_threads(per_thread) else nullcontext():
                yield
        finally:
            with self._lock:
                self._callers -= 1
                if self._callers == 0 and self._limit is not None:
                    with _thread_control():
                        self._limit.restore_original_limits()
                    self._limit = None


def _max_blas_threads() -> int:
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


def _has_threads(libraries: Any) -> bool:
    """Return whether a library may use several threads; setting a limit takes 40 µs."""
    return any(library.num_threads != 1 for library in libraries.lib_controllers)


single_threaded_blas = _SharedLimit()
