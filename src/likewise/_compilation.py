"""Compilation of kernels ahead of their first use: with progress, or in the background."""

from collections.abc import Iterable
from contextlib import ExitStack
from threading import Event, Thread
from time import monotonic
from types import TracebackType
from typing import Self

from likewise import kernels
from likewise._progress import LongWork, defer_interrupt

_LABEL = "compiling, once"
_SECONDS_BETWEEN_CHECKS = 0.1


def clock() -> float:
    """Return seconds, like `time.monotonic`, but stopped while any thread compiles."""
    return monotonic() - kernels.compilation_seconds()


def thread_clock() -> float:
    """Return seconds, like `time.monotonic`, but stopped while this thread compiles."""
    return monotonic() - kernels.compilation_seconds_of_thread()


def compile_kernels(names: Iterable[str]) -> int:
    """Compile kernels that are not in numba's cache; return their number."""
    names, n_compiled = list(dict.fromkeys(names)), 0
    with ExitStack() as stack:
        work = None
        for done, name in enumerate(names, start=1):
            with defer_interrupt():  # LLVM calls back where a kernel is loaded from the cache
                n_compiled += kernels.compile_ahead(name)
            if n_compiled and work is None:  # nothing to show if all are in the cache
                work = stack.enter_context(LongWork(_LABEL, total=len(names), unit="kernels"))
                work.advance(done)
            elif work is not None:
                work.advance()
    return n_compiled


class BackgroundCompilation:
    """Compiles kernels in a thread inside a ``with`` block, whose end waits for the current kernel.

    LLVM, about half of a compilation, runs without the GIL, and the rest competes with the block.

    Parameters
    ----------
    names : names of kernels
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(dict.fromkeys(names))
        self._n_done = self._n_compiled = 0
        self._stop = Event()
        self._thread = Thread(target=self._compile, name="likewise-compilation")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self, work: LongWork) -> None:
        """Wait until all kernels are compiled or `work` is interrupted, whose label tells."""
        label = work.label
        while self._thread.is_alive() and not work.interrupted:
            if self._n_compiled:
                work.label = f"{_LABEL}: {self._n_done}/{len(self._names)} kernels"
                work.advance(0)
            self._thread.join(_SECONDS_BETWEEN_CHECKS)
        work.label = label

    def _compile(self) -> None:
        for name in self._names:
            if self._stop.is_set():
                return
            self._n_compiled += kernels.compile_ahead(name)
            self._n_done += 1
