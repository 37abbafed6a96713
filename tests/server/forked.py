"""Servers that start at once, forked from a process that has imported everything already.

The processes, signals, pipes and stores are those of ``likewise serve``; only the imports are
shared.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from time import sleep

from likewise.server import Client


class Zygote:
    """A process that forks servers until the end of the block."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        return self

    def __exit__(self, *error):
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def server(self, model, items, **settings):
        """Return a server on a free port; the arguments are those of `Settings`."""
        return Forked(self, {"model": model, "items": items, "port": 0, **settings})

    def _fork(self, settings):
        self._process.stdin.write(json.dumps(settings, default=str) + "\n")
        self._process.stdin.flush()
        pid, address = self._process.stdout.readline().split(maxsplit=1)
        if address.startswith("failed"):
            raise RuntimeError(f"the server did not start: {address}")
        return int(pid), address.strip()


class Forked:
    """A server until the end of the block."""

    def __init__(self, zygote, settings):
        self._zygote, self._settings = zygote, settings

    def __enter__(self):
        self.pid, self.address = self._zygote._fork(self._settings)
        return self

    def client(self, **options):
        return Client(self.address, **options)

    def kill(self):
        """End it as a power failure would."""
        self._end(signal.SIGKILL)

    def __exit__(self, *error):
        self._end(signal.SIGTERM)

    def _end(self, number):
        try:
            os.kill(self.pid, number)
            while True:
                os.kill(self.pid, 0)
                sleep(0.005)
        except ProcessLookupError:
            pass


class _ForkedProcess:
    """The part of ``Popen`` that a server uses, with a fork that runs a function.

    Parameters
    ----------
    run : callable
        Its standard input is the pipe `stdin`.
    **environment : str
    """

    def __init__(self, run, **environment):
        reading, writing = os.pipe()
        self.pid, self._code = os.fork(), None
        if self.pid == 0:
            os.close(writing)
            os.dup2(reading, 0)
            os.environ.update(environment)
            try:
                run()
            finally:
                os._exit(0)
        os.close(reading)
        self.stdin = os.fdopen(writing, "wb", buffering=0)

    def wait(self, seconds=None):
        while self.poll() is None:
            sleep(0.005)

    def poll(self):
        if self._code is None and os.waitpid(self.pid, os.WNOHANG)[0]:
            self._code = 0
        return self._code

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def _serve(settings):
    from likewise.server import Settings, _workers, serve
    from likewise.server.learning import _worker

    learner = _ForkedProcess(_worker.main)
    _worker.start_process = lambda: learner
    _workers.start_worker = lambda files, metrics: _ForkedProcess(
        _workers.main, PROMETHEUS_MULTIPROC_DIR=metrics
    )
    paths = {name: Path(settings[name]) for name in ("model", "items") if settings[name]}
    answered = []

    def answer(text):
        if not answered:  # one line for each server that was asked for
            os.write(1, f"{os.getpid()} {text}\n".encode())
            answered.append(text)

    try:
        serve(Settings(**{**settings, **paths}), answer)
    except BaseException as error:
        traceback.print_exc()
        answer(f"failed: {error}")


def main():
    import likewise.learners
    import likewise.server._app
    import likewise.server.learning._learner
    import likewise.server.store._postgres
    import likewise.server.store._sqlite
    import likewise.tables

    # Load compiled code once, too; a learner with a lower priority is slow on a busy machine.
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    aroma = likewise.learners.AROMA().fit_triplets([[0, 1, 2]], rows)
    aroma.confidence([[0, 1, 2]], rows)
    likewise.Index(aroma.similarity_).add([0, 1, 2], rows).search(rows[:1], 2)
    os.nice = lambda by: 0
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for killed processes
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(json.loads(line))
            os._exit(0)


if __name__ == "__main__":
    main()
