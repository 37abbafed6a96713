"""The learning process, separate from the server so that learning never delays a search.

The processes share only the store and a pipe. A line in the pipe wakes the learner; the end of the
pipe, which comes however the server ends, stops it.
"""

import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic

_LOG = logging.getLogger("likewise.server")
_POLL_SECONDS = 0.2  # other servers on the same store do not wake this learner
_NICENESS = 5  # the learner gets a third of a core that a search uses too
_MIN_PAUSE, _MAX_PAUSE = 0.5, 30.0


class LearningProcess:
    """Keeps a learning process running on a store."""

    def __init__(self, location: str, schema: str) -> None:
        self._config = json.dumps({"location": location, "schema": schema})
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = Event()
        self._thread = Thread(target=self._supervise, name="learning", daemon=True)

    def start(self) -> None:
        """Start the process."""
        self._thread.start()

    def wake(self) -> None:
        """Tell the learner that there is new feedback."""
        self._write(b"\n")

    def stop(self) -> None:
        """Let the learner write its checkpoint, and stop the process."""
        self._stopping.set()
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()
        if self._thread.is_alive():
            self._thread.join(timeout=20)

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        process = self._process
        return process is not None and process.poll() is None

    def _supervise(self) -> None:
        pause = _MIN_PAUSE
        while not self._stopping.is_set():
            started = monotonic()
            with self._lock:
                if self._stopping.is_set():
                    return
                self._process = start_process()
                assert self._process.stdin is not None
                os.set_blocking(self._process.stdin.fileno(), False)
            self._write(self._config.encode() + b"\n")
            self._process.wait()
            lasted = monotonic() - started
            pause = _MIN_PAUSE if lasted > _MAX_PAUSE else min(2 * pause, _MAX_PAUSE)
            self._stopping.wait(pause)

    def _write(self, line: bytes) -> None:
        with self._lock:
            if self._process is None or self._process.stdin is None or self._stopping.is_set():
                return
            # The process may have ended, or the pipe may be full of earlier lines.
            with suppress(BrokenPipeError, BlockingIOError):
                os.write(self._process.stdin.fileno(), line)


def start_process() -> subprocess.Popen[bytes]:
    """Start a learning process that waits for its configuration.

    With ``-P`` modules in the working directory, which may hold anybody's data, are not imported.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "likewise.server.learning._worker"], stdin=subprocess.PIPE
    )


class _Pipe:
    """Standard input: the configuration in its first line, then wake-up calls."""

    def __init__(self) -> None:
        self.first_line = read_line()
        self.closed = False
        self._woken = Event()
        Thread(target=self._read, daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait for a line or the end of the pipe, or until the time is over."""
        self._woken.wait(seconds)
        self._woken.clear()

    def _read(self) -> None:
        while os.read(0, 65_536):
            self._woken.set()
        self.closed = True
        self._woken.set()


def read_line() -> bytes:
    """Read a line byte by byte, so that no buffer takes the bytes that follow."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def _learn_or_say(pipe: _Pipe) -> None:
    """Learn; say in one sentence that the store cannot be used, and end."""
    from likewise.server.store import StoreUnavailable

    try:
        _learn(pipe)
    except StoreUnavailable as error:
        _LOG.error("learning stopped and will be tried again: %s", error)


def _learn(pipe: _Pipe) -> None:
    """Wait for the learner lock, then learn until the pipe is closed."""
    from likewise.server._tracing import start_tracing, stop_tracing
    from likewise.server.learning._learner import Learner
    from likewise.server.store import StoreUnavailable, open_store

    if pipe.closed:
        return
    start_tracing()

    if hasattr(os, "nice"):  # after the imports, which should be fast
        os.nice(_NICENESS)
    config = json.loads(pipe.first_line)
    try:
        store = open_store(config["location"], schema=config["schema"], durable=False)
    except ValueError as error:
        raise StoreUnavailable(str(error)) from error
    while not store.acquire_learner_lock():
        pipe.wait(_POLL_SECONDS)
        if pipe.closed:
            return
    learner = Learner(store)
    while not pipe.closed:
        if not learner.step():
            learner.save()
            pipe.wait(_POLL_SECONDS)
    learner.save()
    store.close()
    stop_tracing()


def main() -> None:
    """Learn until the server ends."""
    # Ctrl-C reaches all processes of a terminal, but the server stops this one through the pipe.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    pipe = _Pipe()
    if pipe.first_line:
        # Not in the main thread, where estimators install a handler for Ctrl-C.
        thread = Thread(target=_learn_or_say, args=(pipe,))
        thread.start()
        thread.join()


if __name__ == "__main__":
    main()
