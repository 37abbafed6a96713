"""Compilation of kernels ahead of their first use: with progress, or in the background."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from time import monotonic

from likewise import kernels
from likewise._progress import LongWork, defer_interrupt


def clock() -> float:
    """Return seconds, like `time.monotonic`, but stopped during compilation."""
    return monotonic() - kernels.compilation_seconds()


def compile_kernels(names: Iterable[str], stop: Event | None = None) -> int:
    """Compile kernels that are not in numba's cache; return their number.

    Parameters
    ----------
    names : names of kernels
    stop : Event, optional
        Ends the work after the current kernel.
    """
    names, n_compiled = list(dict.fromkeys(names)), 0
    with ExitStack() as stack:
        work = None
        for done, name in enumerate(names, start=1):
            if stop is not None and stop.is_set():
                break
            with defer_interrupt():  # LLVM calls back where a kernel is loaded from the cache
                n_compiled += kernels.compile_ahead(name)
            if n_compiled and work is None:  # nothing to show if all are in the cache
                work = stack.enter_context(
                    LongWork("compiling, once", total=len(names), unit="kernels")
                )
                work.advance(done)
            elif work is not None:
                work.advance()
    return n_compiled


@contextmanager
def compiling_in_background(names: Iterable[str]) -> Iterator[None]:
    """Compile kernels in a thread during this block; its end waits for the current kernel.

    LLVM, about half of a compilation, runs without the GIL, and the rest competes with the block.
    """
    stop = Event()
    thread = Thread(target=compile_kernels, args=(names, stop), name="likewise-compilation")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
