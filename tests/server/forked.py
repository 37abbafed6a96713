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
        pid, address = self._process.stdout.readline().split()
        if address == "failed":
            raise RuntimeError("the server did not start; its error is in the output")
        return int(pid), address


class Forked:
    """A server until the end of the block."""

    def __init__(self, zygote, settings):
        self._zygote, self._settings = zygote, settings

    def __enter__(self):
        self._pid, self.address = self._zygote._fork(self._settings)
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
            os.kill(self._pid, number)
            while True:
                os.kill(self._pid, 0)
                sleep(0.005)
        except ProcessLookupError:
            pass


class _ForkedLearner:
    """A learning process that was forked before; the part of ``Popen`` that a server uses."""

    def __init__(self, pid, pipe):
        self._pid, self.stdin = pid, pipe

    def wait(self):
        os.waitpid(self._pid, 0)

    def poll(self):
        return None


def _serve(settings):
    from likewise.server import Settings, serve
    from likewise.server.learning import _worker

    reading, writing = os.pipe()
    learner = os.fork()
    if learner == 0:
        os.close(writing)
        os.dup2(reading, 0)
        _worker.main()
        os._exit(0)
    os.close(reading)
    _worker.start_process = lambda: _ForkedLearner(learner, os.fdopen(writing, "wb", buffering=0))
    paths = {name: Path(settings[name]) for name in ("model", "items")}
    serve(Settings(**{**settings, **paths}), lambda address: _answer(address))


def _answer(address):
    os.write(1, f"{os.getpid()} {address}\n".encode())


def main():
    import likewise.learners
    import likewise.server._app
    import likewise.server.learning._learner
    import likewise.server.store._postgres
    import likewise.server.store._sqlite
    import likewise.tables

    # Load compiled code once, too; a learner with a lower priority is slow on a busy machine.
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    likewise.learners.AROMA().fit_triplets([[0, 1, 2]], rows).confidence([[0, 1, 2]], rows)
    os.nice = lambda by: 0
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for killed processes
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                _serve(json.loads(line))
            except BaseException:
                traceback.print_exc()
                _answer("failed")
            os._exit(0)


if __name__ == "__main__":
    main()
