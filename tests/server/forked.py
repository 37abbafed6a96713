"""Servers that start at once: forked from a process in which everything is imported already.

The processes, signals, pipes and stores are those of ``likewise serve``; only what comes before the
first line of it is shared. Used where servers are killed and started many times.
"""

import json
import os
import signal
import subprocess
import sys
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

    def server(self, **settings):
        return Forked(self, settings)

    def _fork(self, settings):
        self._process.stdin.write(json.dumps(settings, default=str) + "\n")
        self._process.stdin.flush()
        pid, address = self._process.stdout.readline().split()
        return int(pid), address


class Forked:
    """A server until the end of the block."""

    def __init__(self, zygote, settings):
        self._zygote, self._settings = zygote, settings

    def __enter__(self):
        self._pid, self.address = self._zygote._fork(self._settings)
        return self

    def client(self, **given):
        return Client(self.address, **given)

    def kill(self):
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


class _Started:
    """A learner that was forked before; what a server needs of ``Popen``."""

    def __init__(self, pid, pipe):
        self._pid, self.stdin = pid, pipe

    def wait(self):
        os.waitpid(self._pid, 0)

    def poll(self):
        return None


def _serve(given):
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
    _worker.start_process = lambda: _Started(learner, os.fdopen(writing, "wb", buffering=0))
    settings = Settings(**{**given, "model": Path(given["model"]), "items": Path(given["items"])})
    serve(settings, lambda address: os.write(1, f"{os.getpid()} {address}\n".encode()))


def main():
    import likewise.learners
    import likewise.server._app
    import likewise.server.learning._learner
    import likewise.server.store._postgres
    import likewise.tables

    # Compiled code is loaded once, too, and a learner that gives way takes long on a busy machine.
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    likewise.learners.AROMA().fit_triplets([[0, 1, 2]], rows).confidence([[0, 1, 2]], rows)
    os.nice = lambda by: 0
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are killed
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(json.loads(line))
            os._exit(0)


if __name__ == "__main__":
    main()
