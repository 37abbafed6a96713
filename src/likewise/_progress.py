"""Long computations: optional progress display, and interruption by Ctrl-C with a partial result.

Entry points (an estimator with ``verbose``, the command line) use ``with show_progress(verbose):``.
Loops at any depth below use ``with LongWork(...) as work:`` and call ``work.advance()``.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from types import FrameType, TracebackType
from typing import Any

from likewise._warnings import warn
from likewise.exceptions import InterruptedWarning

__all__ = ["LongWork", "defer_interrupt", "show_progress"]

_SHOWN: ContextVar[bool] = ContextVar("likewise_progress_shown", default=False)
_CURRENT: ContextVar["LongWork | None"] = ContextVar("likewise_long_work", default=None)
_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def show_progress(show: bool = True) -> Iterator[None]:
    """Show the progress of all long computations inside this block, if `show` is true.

    A false `show` changes nothing, so an estimator inside a command keeps the command's progress
    bar.
    """
    token = _SHOWN.set(bool(show) or _SHOWN.get())
    try:
        yield
    finally:
        _SHOWN.reset(token)


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Let Ctrl-C inside this block raise KeyboardInterrupt at its end.

    For compiled code that calls back into Python: an exception in such a callback is printed and
    lost, and with it the Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if pressed and callable(previous):
            previous(*pressed[-1])


class LongWork:
    """A computation in steps.

    Parameters
    ----------
    label : str
        Description, such as ``"comparing"``.
    total : int or None
        Number of steps, if known.
    unit : str
        Name of the steps, in the plural.
    partial_result : str or None
        Description of the result that Ctrl-C leaves, such as ``"the finished splits"``. The first
        Ctrl-C only sets `interrupted`, which the loop checks between steps; a second one raises
        KeyboardInterrupt at once. With None, Ctrl-C raises KeyboardInterrupt as usual.
    time_left : callable or None
        For work that uses a given time, whatever the number of steps: returns the seconds that are
        left. They are shown instead of an estimate.

    Examples
    --------
    >>> with LongWork("adding", total=3, unit="numbers", partial_result="the sum so far") as work:
    ...     total = 0
    ...     for number in (1, 2, 3):
    ...         if work.interrupted:
    ...             break
    ...         total += number
    ...         work.advance()
    >>> total
    6
    """

    def __init__(
        self,
        label: str,
        *,
        total: int | None = None,
        unit: str = "steps",
        partial_result: str | None = None,
        time_left: Callable[[], float] | None = None,
    ) -> None:
        self.label = label
        self.total = total
        self.unit = unit
        self.partial_result = partial_result
        self.time_left = time_left
        self.done = 0
        self.interrupted = False
        self._bar: _RichBar | _PlainLines | None = None
        self._previous_handler: Any = None

    def advance(self, steps: int = 1) -> None:
        """Record `steps` finished steps."""
        self.done += steps
        if self._bar is not None:
            self._bar.update(self)

    def __enter__(self) -> "LongWork":
        self._outer = _CURRENT.get()
        self._token = _CURRENT.set(self)
        # Only the outermost computation has a progress bar.
        if _SHOWN.get() and self._outer is None:
            self._bar = _open_bar(self)
        # Only the main thread may set signal handlers.
        if (
            self.partial_result is not None
            and threading.current_thread() is threading.main_thread()
        ):
            self._previous_handler = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)
        if self._bar is not None:
            self._bar.close(self)
        _CURRENT.reset(self._token)
        if not self.interrupted:
            return
        if self._outer is not None:
            self._outer.interrupted = True
        if error is None and self.partial_result is not None:
            of_total = "" if self.total is None else f" of {self.total}"
            warn(
                f"{self.label} was interrupted after {self.done}{of_total} {self.unit}; "
                f"kept: {self.partial_result}",
                InterruptedWarning,
            )

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


def _open_bar(work: LongWork) -> "_RichBar | _PlainLines":
    if sys.stderr.isatty():
        try:
            return _RichBar(work)
        except ImportError:
            pass
    return _PlainLines()


class _RichBar:
    def __init__(self, work: LongWork) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class TimeLeftColumn(ProgressColumn):
            """Seconds to the end of the given time."""

            def render(self, task: Task) -> Text:
                return Text(_time_left_text(work), style="progress.remaining")

        # The bar of a given time is filled by the seconds, others by the steps.
        self._seconds = None if work.time_left is None else max(work.time_left(), 1e-9)
        timed = self._seconds is not None
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[done]}") if timed else MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeLeftColumn() if timed else TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._started = monotonic()
        total = work.total if self._seconds is None else self._seconds
        self._task = self._progress.add_task(work.label, total=total, rate="", done="")
        self._progress.start()

    def update(self, work: LongWork) -> None:
        rate = _rate(work.done, monotonic() - self._started)
        completed: float = work.done
        if self._seconds is not None and work.time_left is not None:
            completed = min(self._seconds, self._seconds - work.time_left())
        self._progress.update(
            self._task,
            description=work.label,
            completed=completed,
            rate=f"{rate} {work.unit}/s",
            done=f"{work.done} {work.unit}",
        )

    def close(self, work: LongWork) -> None:
        self._progress.stop()


class _PlainLines:
    """Writes a line every few seconds, for logs and for terminals without rich."""

    def __init__(self) -> None:
        self._started = self._last = monotonic()
        self._last_written = -1

    def update(self, work: LongWork) -> None:
        now = monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self._write(work, now - self._started)

    def close(self, work: LongWork) -> None:
        if work.done != self._last_written:
            self._write(work, monotonic() - self._started)

    def _write(self, work: LongWork, seconds: float) -> None:
        self._last_written = work.done
        line = f"{work.label}: {work.done}"
        if work.total is not None:
            line += f"/{work.total}"
        line += f" {work.unit}, {_rate(work.done, seconds)} {work.unit}/s"
        if work.time_left is not None:
            line += f", {_time_left_text(work)}"
        elif work.total is not None and 0 < work.done < work.total:
            line += f", {seconds / work.done * (work.total - work.done):.0f} s left"
        sys.stderr.write(line + "\n")


def _rate(done: int, seconds: float) -> str:
    return f"{done / seconds:.3g}" if seconds > 0 else "0"


def _time_left_text(work: LongWork) -> str:
    seconds = 0.0 if work.time_left is None else max(work.time_left(), 0.0)
    return f"{seconds:.0f} s left"
