"""Several processes that serve one address and one store, and the supervisor that starts them.

The supervisor opens the socket, on which every worker accepts connections, and runs the only
learning process. A pipe from each worker says that it is ready and wakes the learner; the end of
the pipe to a worker, which comes however the supervisor ends, stops it.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from likewise.server._settings import Settings
from likewise.server._shared import RemoteLearning, SharedMemory
from likewise.server.learning._worker import LearningProcess, read_line

_POLL_SECONDS = 0.2
_MIN_PAUSE, _MAX_PAUSE = 0.5, 30.0
_STOP_SECONDS = 15.0  # a little more than running requests get


def serve_workers(
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[], None],
    on_notice: Callable[[str], None] = lambda notice: None,
) -> None:
    """Serve with several workers until SIGINT or SIGTERM.

    Parameters
    ----------
    settings : Settings
    listener : socket
        Bound to the address.
    on_ready : callable
        Called when all workers accept requests.
    on_notice : callable
        Called with each notice of the service, once for all workers.
    """
    if os.name != "posix":
        raise ValueError("workers must be 1 on this system: others need POSIX.")
    listener.listen(2048)
    with (
        tempfile.TemporaryDirectory(prefix="likewise-metrics-") as folder,
        tempfile.TemporaryFile() as file,
    ):
        memory = SharedMemory(file.fileno())
        config = {"settings": asdict(settings), "metrics": folder, "path": sys.path}
        supervisor = _Supervisor(config, (listener.fileno(), file.fileno()), memory)
        learning = LearningProcess(settings.location, settings.schema)
        with _stop_on_signals(supervisor):
            supervisor.run(settings.workers, learning, on_ready, on_notice)


@contextmanager
def _stop_on_signals(supervisor: "_Supervisor") -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        supervisor.stopping = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Supervisor:
    """Keeps workers and a learning process running."""

    def __init__(
        self, config: dict[str, Any], files: tuple[int, int], memory: SharedMemory
    ) -> None:
        self._config, self._files, self._memory = config, files, memory
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self.stopping = False

    def run(
        self,
        n: int,
        learning: LearningProcess,
        on_ready: Callable[[], None],
        on_notice: Callable[[str], None],
    ) -> None:
        """Start everything, replace workers that end, and stop everything."""
        learns = False
        try:
            self._add_workers(1)  # fills a new store, on which the others are then ready at once
            for notice in self._workers[0].notices:
                on_notice(notice)
            learns = self._workers[0].learns and not self.stopping
            self._add_workers(n - 1)
            if learns:
                learning.start()
            if not self.stopping:
                on_ready()
            while not self.stopping:
                self._read(learning)
                self._memory.learner_runs = learns and learning.running
                for worker in self._workers:
                    if worker.restart_if_ended() and learns:
                        learning.wake()  # the one that ended may have said so last
        finally:
            for worker in self._workers:
                worker.close()
            for worker in self._workers:
                worker.wait(_STOP_SECONDS)
            if learns:
                learning.stop()

    def _add_workers(self, n: int) -> None:
        """Start workers, and wait until they are ready; raise an error if one is not."""
        added = [_Worker(self._config, self._files, self._selector) for _ in range(n)]
        self._workers += added
        while not self.stopping and not all(worker.ready for worker in added):
            self._read(None)
            for worker in added:
                worker.raise_if_failed()

    def _read(self, learning: LearningProcess | None) -> None:
        for key, _ in self._selector.select(_POLL_SECONDS):
            if key.data.read() and learning is not None:
                learning.wake()


class _Worker:
    """A worker process, and the one that replaces it if it ends.

    Attributes
    ----------
    ready, learns : bool
        Whether it accepts requests, and whether its model can learn.
    notices : list of str
        Sentences for the person who starts the server.
    """

    def __init__(
        self, config: dict[str, Any], files: tuple[int, int], selector: selectors.BaseSelector
    ) -> None:
        self._config, self._files, self._selector = config, files, selector
        self._pause, self._restart_at = _MIN_PAUSE, 0.0
        self._start()

    def _start(self) -> None:
        self.ready = self.learns = False
        self._error: str | None = None
        self.notices: list[str] = []
        self._unread = b""
        self._started = monotonic()
        self._pipe, writing = os.pipe()
        os.set_blocking(self._pipe, False)
        self._selector.register(self._pipe, selectors.EVENT_READ, self)
        self._reading = True
        self._process = start_worker((*self._files, writing), self._config["metrics"])
        os.close(writing)
        listener, memory = self._files
        files = {"listener": listener, "memory": memory, "pipe": writing}
        assert self._process.stdin is not None
        line = json.dumps({**self._config, "files": files}, default=str).encode() + b"\n"
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def read(self) -> bool:
        """Read what the worker says, and return whether the learner shall wake up."""
        said = os.read(self._pipe, 65_536)
        if not said:
            self._stop_reading()
        *lines, self._unread = (self._unread + said).split(b"\n")
        for line in lines:
            if line.startswith(b"ready"):
                self.ready, self.learns = True, line == b"ready to learn"
            elif line.startswith(b"notice "):
                self.notices.append(json.loads(line.removeprefix(b"notice ")))
            elif line.startswith(b"error "):
                self._error = line.removeprefix(b"error ").decode()
        return b"wake" in lines

    def raise_if_failed(self) -> None:
        """Raise an error if the process has ended before it was ready."""
        if self._process.poll() is not None and not self.ready:
            if self._reading:
                return  # what it said is read first
            raise ValueError(self._error or "a worker ended; its error is above.")

    def restart_if_ended(self) -> bool:
        """Start another process if this one has ended; wait longer after each failure.

        Returns
        -------
        restarted : bool
        """
        if self._process.poll() is None:
            return False
        now = monotonic()
        if not self._restart_at:
            lasted = now - self._started
            self._pause = _MIN_PAUSE if lasted > _MAX_PAUSE else min(2 * self._pause, _MAX_PAUSE)
            self._restart_at = now if self.ready else now + self._pause
        if now < self._restart_at:
            return False
        self._restart_at = 0.0
        self._stop_reading()
        self.close()
        self._start()
        return True

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._selector.unregister(self._pipe)
            os.close(self._pipe)

    def close(self) -> None:
        """Close the pipe to the process, which then answers its requests and ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended; kill it after a time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def start_worker(files: tuple[int, ...], metrics: str) -> subprocess.Popen[bytes]:
    """Start a worker process that waits for its configuration.

    Parameters
    ----------
    files : tuple of int
        Descriptors that it inherits.
    metrics : path
        The folder in which prometheus_client shares the metrics of all workers.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "likewise.server._workers"],
        stdin=subprocess.PIPE,
        pass_fds=files,
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": metrics},
    )


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the supervisor, too
    line = read_line()
    if not line:
        return
    config = json.loads(line)
    files = config["files"]
    os.set_blocking(files["pipe"], False)
    sys.path[:] = config["path"]  # the encoder is found where the supervisor finds it
    try:
        server, listener = _prepare(config, files)
    except (ValueError, OSError, ImportError) as error:
        os.write(files["pipe"], f"error {' '.join(str(error).split())}\n".encode())
        raise SystemExit(1) from None
    Thread(target=_stop_at_end_of_input, args=(server,), daemon=True).start()
    server.run(sockets=[listener])


def _prepare(config: dict[str, Any], files: dict[str, int]) -> tuple[Any, socket.socket]:
    from likewise.server._app import build_app
    from likewise.server._run import make_server
    from likewise.server._service import Service
    from likewise.server.api._monitoring import Metrics

    given = config["settings"]
    shape = given["image_shape"]
    settings = Settings(
        **given | {"model": Path(given["model"]), "image_shape": shape and tuple(shape)}
    )
    memory = SharedMemory(files["memory"])
    service = Service(settings, learning=RemoteLearning(memory, files["pipe"]), memory=memory)
    said = b"".join(f"notice {json.dumps(notice)}\n".encode() for notice in service.notices)
    said += b"ready to learn\n" if service.learning is not None else b"ready\n"
    app = build_app(service, Metrics(config["metrics"]))
    # With the protocol, as in `_listen`.
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    kind = socket.SOCK_STREAM, socket.IPPROTO_TCP
    listener = socket.socket(family, *kind, fileno=files["listener"])
    return make_server(app, lambda: os.write(files["pipe"], said)), listener


def _stop_at_end_of_input(server: Any) -> None:
    while os.read(0, 65_536):
        pass
    server.should_exit = True


if __name__ == "__main__":
    main()
