"""Compiler flags of all kernels, and the time that compilation took."""

import gc
import threading
from collections import defaultdict
from collections.abc import Callable
from time import monotonic
from typing import Any

import numba
from numba.core import event
from numba.core.compiler import Compiler

# Sums may be reordered, so that loops over features are vectorized. NaN and infinity keep their
# meaning, unlike with `fastmath=True`.
_SAFE_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}
# As above, but a product is rounded before it is added, so that a·x − a·x is zero.
_ROUNDED = _SAFE_FASTMATH - {"contract"}
# Sums keep their order, so that the same sum in two loops has the same bits.
_ORDERED = {"contract", "nsz"}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over plain arrays: single-threaded, without the GIL, cached on disk.

    Callers run kernels in threads (see `likewise._threads`): on some platforms, a kernel with
    threads of its own must not run in two threads at once. Division by zero follows NumPy, because
    a check at each division prevents vectorization.

    Compilation is what the first user waits for, so kernels are plain loops over elements. An
    assignment to a slice alone adds a second, because numba then compiles its error message.
    """
    return _compiled(function, _SAFE_FASTMATH)


def rounded_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `kernel`, but round each product before it is added."""
    return _compiled(function, _ROUNDED)


def ordered_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `kernel`, but keep the order of sums."""
    return _compiled(function, _ORDERED)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels of the same file call.

    It has neither wrappers for Python and C nor a cache file, and so compiles in half the time.
    Kernels of other files must not call it: a cached kernel is compiled again when its own file
    changes, and no other.
    """
    return _helper(function, _SAFE_FASTMATH)


def rounded_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `helper`, but round each product before it is added."""
    return _helper(function, _ROUNDED)


def ordered_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `helper`, but keep the order of sums."""
    return _helper(function, _ORDERED)


class _DisjointArguments(Compiler):
    """Compiles a function whose arrays do not overlap."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.noalias = True


def disjoint_helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile like `ordered_helper`, for arrays that never overlap.

    Other helpers compare the addresses of all pairs of arrays before each vectorized loop: 65
    comparisons for a loop over four rows of two matrices, a sixth of the time at 384 columns.
    """
    return _helper(function, _ORDERED, pipeline_class=_DisjointArguments, forceinline=True)


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _compiled(function: Callable[..., Any], fastmath: set[str]) -> Callable[..., Any]:
    return numba.njit(**_OPTIONS, fastmath=fastmath, cache=True)(function)


def _helper(function: Callable[..., Any], fastmath: set[str], **extra: Any) -> Callable[..., Any]:
    options = {**_OPTIONS, "no_cpython_wrapper": True, **extra}
    return numba.njit(**options, fastmath=fastmath)(function)


class _Compilations(event.Listener):
    """Adds up the seconds in which any thread compiles, and pauses the garbage collector meanwhile.

    The compiler creates millions of objects, few of which are garbage: without collections it is a
    sixth faster.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = _Stopwatch()
        self._of_thread: defaultdict[int, _Stopwatch] = defaultdict(_Stopwatch)
        self._collects = False

    def on_start(self, event: event.Event) -> None:
        with self._lock:
            now = monotonic()
            if self._all.start(now):
                self._collects = gc.isenabled()
                gc.disable()
            self._of_thread[threading.get_ident()].start(now)

    def on_end(self, event: event.Event) -> None:
        with self._lock:
            now = monotonic()
            if self._all.stop(now) and self._collects:
                gc.enable()
            self._of_thread[threading.get_ident()].stop(now)

    def seconds(self) -> float:
        """Return the seconds in which any thread compiled so far."""
        with self._lock:
            return self._all.seconds()

    def seconds_of_thread(self) -> float:
        """Return the seconds in which the calling thread compiled so far."""
        with self._lock:
            own = self._of_thread.get(threading.get_ident())
            return 0.0 if own is None else own.seconds()


class _Stopwatch:
    """Seconds between starts and stops; a kernel contains the compilations of its helpers."""

    def __init__(self) -> None:
        self._seconds, self._since, self._depth = 0.0, 0.0, 0

    def start(self, now: float) -> bool:
        """Start, and return whether it stood still."""
        if self._depth == 0:
            self._since = now
        self._depth += 1
        return self._depth == 1

    def stop(self, now: float) -> bool:
        """Undo a start, and return whether it was the last one."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += now - self._since
        return self._depth == 0

    def seconds(self) -> float:
        """Return the seconds so far."""
        return self._seconds + (monotonic() - self._since if self._depth else 0.0)


_COMPILATIONS = _Compilations()
event.register("numba:compile", _COMPILATIONS)


def compilation_seconds() -> float:
    """Return the seconds in which any thread of this process compiled so far."""
    return _COMPILATIONS.seconds()


def compilation_seconds_of_thread() -> float:
    """Return the seconds in which the calling thread compiled so far."""
    return _COMPILATIONS.seconds_of_thread()
