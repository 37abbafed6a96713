"""The learner in a process of its own, so that it never keeps a search waiting.

The two processes share nothing but the store and a pipe: a line wakes the learner, and the end of
the pipe, which comes however the server ends, ends it.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic

_LOOK_EVERY = 0.2  # seconds; other servers on the same store do not wake this learner
_NICE = 5  # the learner gets a third of a core that a search wants too
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class LearningProcess:
    """Keeps a learner running on a store.

    Parameters
    ----------
    place, schema : as in `open_store`
    """

    def __init__(self, place: str, schema: str) -> None:
        self._told = json.dumps({"place": place, "schema": schema})
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = Event()
        self._thread = Thread(target=self._supervise, name="learning", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to learn."""
        self._write(b"\n")

    def stop(self) -> None:
        """Let the learner write down what it knows, and end it."""
        self._stopping.set()
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
        if self._thread.is_alive():
            self._thread.join(timeout=20)

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        process = self._process
        return process is not None and process.poll() is None

    def _supervise(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            begun = monotonic()
            with self._lock:
                if self._stopping.is_set():
                    return
                self._process = begin_process()
                assert self._process.stdin is not None
                os.set_blocking(self._process.stdin.fileno(), False)
            self._write(self._told.encode() + b"\n")
            self._process.wait()
            lasted = monotonic() - begun
            pause = _FIRST_PAUSE if lasted > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            self._stopping.wait(pause)

    def _write(self, line: bytes) -> None:
        with self._lock:
            if self._process is None or self._process.stdin is None or self._stopping.is_set():
                return
            # It may have ended, or have more to do already than it can.
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._process.stdin.fileno(), line)


def begin_process() -> subprocess.Popen[bytes]:
    """Start a learner that waits for its first line."""
    return subprocess.Popen(
        [sys.executable, "-m", "likewise.server.learning._worker"], stdin=subprocess.PIPE
    )


class _Pipe:
    """Standard input: its first line, whether something came since, and whether it has ended."""

    def __init__(self) -> None:
        self.first = _first_line()
        self.ended = False
        self._woken = Event()
        Thread(target=self._read, daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait until something comes or the pipe ends, so many seconds at most."""
        self._woken.wait(seconds)
        self._woken.clear()

    def _read(self) -> None:
        while os.read(0, 65_536):
            self._woken.set()
        self.ended = True
        self._woken.set()


def _first_line() -> bytes:
    """Read a line byte by byte: nothing that follows it may be lost in a buffer."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def _learn(pipe: _Pipe) -> None:
    """Wait to be the only learner, then learn until the pipe ends."""
    from likewise.server.learning._learner import Learner
    from likewise.server.store._open import open_store

    if pipe.ended:
        return

    if hasattr(os, "nice"):  # not before: imports are better over soon
        os.nice(_NICE)
    told = json.loads(pipe.first)
    store = open_store(told["place"], schema=told["schema"], synced=False)
    while not store.try_to_lead():
        pipe.wait(_LOOK_EVERY)
        if pipe.ended:
            return
    learner = Learner(store)
    while not pipe.ended:
        if not learner.step():
            learner.keep()
            pipe.wait(_LOOK_EVERY)
    learner.keep()
    store.close()


def main() -> None:
    """Learn beside the server, and give way to it."""
    # Ctrl-C reaches all processes of a terminal, but the server ends this one, in its time.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pipe = _Pipe()
    if pipe.first:
        # Beside the main thread, since there a learner would take Ctrl-C for its own end.
        thread = Thread(target=_learn, args=(pipe,))
        thread.start()
        thread.join()


if __name__ == "__main__":
    main()
