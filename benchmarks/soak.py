"""A server under constant load: searches, feedback and undos, minute by minute.

``python -m benchmarks soak --minutes 30``. The 99th percentile of the search time must not exceed
twice that of the first minute, and the server's memory must not grow by more than a tenth from the
second minute on.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.serve import _ask, _Server, data

_CASE = {"items": 5_000, "features": 64}
_SEARCHES, _FEEDBACK = 100, 5  # a second
_COMPARISONS, _UNDO_SHARE = 5, 0.2  # in each request of feedback, and the share that is undone
_MAX_SLOWDOWN, _MAX_GROWTH = 2.0, 0.1


class Minute(NamedTuple):
    """The searches of a minute in milliseconds, and the state of the server after it."""

    number: int
    milliseconds: np.ndarray
    server_mb: float
    learner_mb: float
    entries: int
    undone: int
    behind: int

    @property
    def p99(self) -> float:
        """The 99th percentile of the search time."""
        return float(np.quantile(self.milliseconds, 0.99))

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        return (
            str(self.number),
            str(len(self.milliseconds)),
            f"{np.median(self.milliseconds):.2f}",
            f"{self.p99:.2f}",
            f"{self.server_mb:.0f}",
            f"{self.learner_mb:.0f}",
            str(self.entries),
            str(self.undone),
            str(self.behind),
        )


HEADS = (
    "minute",
    "searches",
    "p50 ms",
    "p99 ms",
    "server MB",
    "learner MB",
    "feedback",
    "undone",
    "behind",
)


def main(folder: Path, minutes: float = 30.0) -> None:
    """Print a row for each minute and whether the limits are kept; write them to ``soak.md``."""
    from likewise.evaluation import Table

    measured = run(minutes)
    table = Table(HEADS, [minute.cells() for minute in measured])
    kept, sentence = verdict(measured)
    print(f"\n{sentence}")
    text = f"# soak\n\n{table.to_markdown()}\n\n{sentence}\n"
    (folder / "soak.md").write_text(text, encoding="utf8")
    if not kept:
        sys.exit(1)


def run(minutes: float, seconds: float = 60.0) -> list[Minute]:
    """Return the figures of each minute, which are printed as they come."""
    items, triplets = data(_CASE)
    server = _Server(items)
    clients = [Searching(server, len(items), seed) for seed in range(2)]
    feeding = Feeding(server, triplets)
    threads = [*clients, feeding]
    connection = server.connection()
    measured: list[Minute] = []
    print("  ".join(HEADS), flush=True)
    try:
        for thread in threads:
            thread.start()
        deadline = monotonic()
        for number in range(1, round(minutes) + 1):
            deadline += seconds
            feeding.stopping.wait(max(0.0, deadline - monotonic()))
            state = _ask(connection, "GET", "/v1/feedback")
            searches = np.array([one for client in clients for one in client.take()])
            memory = megabytes(server._process.pid)
            learner = sum(megabytes(pid) for pid in children(server._process.pid))
            behind = state["acknowledged"] - state["applied"]
            counts = feeding.sent, feeding.undone
            measured.append(Minute(number, 1e3 * searches, memory, learner, *counts, behind))
            print("  ".join(measured[-1].cells()), flush=True)
            for thread in threads:
                if thread.failure is not None:
                    raise thread.failure
    finally:
        for thread in threads:
            thread.stopping.set()
        for thread in threads:
            thread.join()
        server._process.terminate()
        server._process.wait(60)
    return measured


def verdict(measured: Sequence[Minute]) -> tuple[bool, str]:
    """Return whether the limits are kept, and a sentence with the figures."""
    slowdown = max(minute.p99 for minute in measured) / measured[0].p99
    begin = measured[min(1, len(measured) - 1)].server_mb
    growth = measured[-1].server_mb / begin - 1
    kept = slowdown <= _MAX_SLOWDOWN and growth <= _MAX_GROWTH
    return kept, (
        f"{'kept' if kept else 'missed'}: the highest p99 of a minute is {slowdown:.2f} times that "
        f"of the first (limit {_MAX_SLOWDOWN:g}), and the server's memory grew by {growth:.1%} "
        f"from the second minute on (limit {_MAX_GROWTH:.0%})."
    )


class _Repeating(Thread):
    """Does something at a fixed rate until it is stopped; what it raised is in `failure`."""

    def __init__(self, server: _Server, rate: float) -> None:
        super().__init__(daemon=True)
        self.connection, self._rate = server.connection(), rate
        self.stopping = Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Act, and wait for the next time; times that have passed are left out."""
        begin, number = monotonic(), 0
        try:
            while not self.stopping.is_set():
                self.act()
                number = max(number + 1, int((monotonic() - begin) * self._rate))
                self.stopping.wait(begin + number / self._rate - monotonic())
        except BaseException as error:
            self.failure = error

    act: Callable[[], None]


class Searching(_Repeating):
    """Searches for one item after the other."""

    def __init__(self, server: _Server, n_items: int, seed: int) -> None:
        super().__init__(server, _SEARCHES / 2)
        self._rng, self._n_items = Random(seed), n_items
        self._seconds: list[float] = []

    def act(self) -> None:
        """Search once."""
        query = self._rng.randrange(self._n_items)
        started = perf_counter()
        _ask(self.connection, "POST", "/v1/search", {"id": query, "k": 10})
        self._seconds.append(perf_counter() - started)

    def take(self) -> list[float]:
        """Return the seconds of the searches since the last call."""
        taken, self._seconds = self._seconds, []
        return taken


class Feeding(_Repeating):
    """Sends feedback, and undoes some of what it has sent.

    Attributes
    ----------
    sent, undone : int
    """

    def __init__(self, server: _Server, triplets: np.ndarray) -> None:
        super().__init__(server, _FEEDBACK)
        self._triplets, self._rng = triplets, Random(0)
        self._keys: list[str] = []
        self.sent = self.undone = 0

    def act(self) -> None:
        """Send one request of feedback, and perhaps undo an earlier one."""
        start = self.sent * _COMPARISONS % (len(self._triplets) - _COMPARISONS)
        part = self._triplets[start : start + _COMPARISONS].tolist()
        body: dict[str, Any] = {
            "triplets": [{"query": q, "closer": c, "farther": f} for q, c, f in part],
            "key": f"soak-{self.sent}",
            "user": f"user-{self.sent % 50}",
        }
        _ask(self.connection, "POST", "/v1/feedback", body)
        self._keys.append(body["key"])
        self.sent += 1
        if self._rng.random() < _UNDO_SHARE:
            key = self._keys.pop(self._rng.randrange(len(self._keys)))
            _ask(self.connection, "DELETE", f"/v1/feedback/{key}")
            self.undone += 1


def megabytes(pid: int) -> float:
    """Return the memory of a process on Linux; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def children(pid: int) -> list[int]:
    """Return the processes that the threads of a process have started."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]
