"""The time of a round of AROMA on a Dask cluster, and of moving its data alone.

These are the constants, and the points to check them by, of the page that computes what a large
cluster would do. Shards of 500 triplets leave little but what a round costs besides learning; on
two cores more workers than that have to wait for each other. `--repeats 3` takes 10 minutes.
"""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._cluster import started
from benchmarks._contender import Contender
from benchmarks._shared import newsgroups_triplets

_ROUNDS_OF_LITTLE = 20
_PARTS_MOVED = 10
_TRIPLETS_LEARNED, _TURNS = 200_000, 5
_TASKS = 500

CASES: list[dict[str, Any]] = [
    {"parts": "moved", "workers": 2, "threads": 1},
    *(
        {"workers": n_workers, "triplets": n_triplets, "shard_size": shard_size, "threads": 1}
        for n_workers, n_triplets, shard_size in (
            (2, 1_000_000, 50_000),
            (1, 1_000_000, 50_000),
            (2, 1_000_000, 25_000),
            (2, 1_000_000, 100_000),
            (2, 1_000_000, 250_000),
            (1, 500_000, 50_000),
            (2, 500_000, 50_000),
            (1, 250_000, 50_000),
            (2, 250_000, 50_000),
            *((n, _ROUNDS_OF_LITTLE * n * 500, 500) for n in (2, 4, 8, 16)),
        )
    ),
]


def data(case: dict[str, Any]) -> Any:
    """Return posts of 20 newsgroups and triplets, or data like those of a round."""
    if "parts" not in case:
        return newsgroups_triplets(case["triplets"])
    numbers = np.random.default_rng(0).random((2, 1000, 1000), np.float32)
    return numbers, *newsgroups_triplets(_TRIPLETS_LEARNED)[:2]


def _prepare(case: dict[str, Any], data: Any) -> Any:
    import likewise

    client = started(case["workers"])
    if "parts" in case:
        return lambda: _moved(client, data[0]) | _learned(client, *data[1:])

    def fit(n_triplets: int) -> tuple[Any, list[dict[str, Any]]]:
        with likewise.distributed.run_on(client, shard_size=case["shard_size"]) as run:
            return likewise.AROMA().fit_triplets(data[1][:n_triplets], data[0]), run.finished_rounds

    fit(1000)  # every worker loads the kernels before the clock runs
    return lambda: fit(len(data[1]))


CONTENDERS = [Contender("likewise", _prepare)]


def _moved(client: Any, part: np.ndarray) -> dict[str, float]:
    """Move data as a round does, repeatedly, and return the median ms in each direction.

    A start, and what was gained since, are two arrays each, as wide as W.
    """
    from likewise.distributed._executor import Executor

    executor, (one, other) = Executor(client), client.scheduler_info()["workers"]
    found: dict[str, list[float]] = {}

    def clocked(name: str, work: Any) -> Any:
        began = perf_counter()
        result = work()
        found.setdefault(name, []).append(perf_counter() - began)
        return result

    def at(worker: str, part: Any) -> Any:
        return _waited(client.submit(np.shape, part, workers=[worker], pure=False))

    for _ in range(_PARTS_MOVED):
        sent = clocked("ms to send a part", lambda: _waited(executor.share(part)))
        clocked("ms to return a part", sent.result)
        made = _waited(client.submit(np.copy, part, workers=[one], pure=False))
        clocked("ms to hand a part on", lambda made=made: at(other, made))
        clocked("ms of a task", lambda: at(one, 0))
    put_together = [
        client.submit(_put_together, part, workers=[one], pure=False).result()
        for _ in range(_PARTS_MOVED)
    ]
    found |= {name: [each[name] for each in put_together] for name in put_together[0]}
    clocked("ms of a task among many", lambda: client.gather(client.map(abs, range(_TASKS))))
    found["ms of a task among many"][0] /= _TASKS
    return {name: 1000 * float(np.median(seconds)) for name, seconds in found.items()}


def _put_together(numbers: np.ndarray) -> dict[str, float]:
    """Return the seconds of a worker outside learning."""
    from likewise.learners.online import DiagonalState, copy_state, sum_evidence

    start = DiagonalState(numbers[0].copy(), np.ones_like(numbers[0]))
    times = [perf_counter()]
    after = copy_state(start)
    times.append(perf_counter())
    after.S *= 0.5
    after.W += 1
    times.append(perf_counter())
    evidence = after.evidence_since(start, 1.0)
    times.append(perf_counter())
    total = sum_evidence([evidence, evidence])
    times.append(perf_counter())
    start.with_evidence(total, 2.0, 0.5)
    times.append(perf_counter())
    copying, _, finding, adding, applying = np.diff(times)
    return {
        "ms to copy the start": copying,
        "ms to find what was gained": finding,
        "ms to add what was gained": adding,
        "ms to apply what was gained": applying,
    }


def _learned(client: Any, X: Any, triplets: np.ndarray) -> dict[str, float]:
    """Return the cost of a triplet and of an update, with all workers busy."""
    workers = client.scheduler_info()["workers"]
    rows, stream = client.scatter([X, triplets], broadcast=True)
    measured = [
        client.submit(_rates, rows, stream, workers=[worker], pure=False) for worker in workers
    ]
    look, update = np.mean(client.gather(measured), axis=0)
    return {"µs of a triplet": 1e6 * look, "µs more of an update": 1e6 * update}


def _rates(X: Any, triplets: np.ndarray) -> tuple[float, float]:
    """Learn from the same triplets twice: the second time fewer of them cause an update."""
    import likewise

    passes: list[list[tuple[float, int]]] = [[], []]
    for _ in range(_TURNS):
        learner, n_before = likewise.AROMA(), 0
        for taken in passes:
            began = perf_counter()
            learner.partial_fit_triplets(triplets, X)
            taken.append((perf_counter() - began, learner.n_updates_ - n_before))
            n_before = learner.n_updates_
    (first, n_first), (second, n_second) = (np.median(taken, axis=0) for taken in passes)
    update = (first - second) / (n_first - n_second)
    return (first - n_first * update) / len(triplets), update


def _waited(handle: Any) -> Any:
    from distributed import wait

    wait(handle)
    return handle


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the figures of moving data, or how the time of the rounds was spent."""
    if isinstance(result, dict):
        return result
    learner, rounds = result
    return {
        "rounds": len(rounds),
        "updates": learner.n_updates_,
        "s of rounds": sum(r["seconds"] for r in rounds),
        "s of learning a worker": sum(r["learning"] for r in rounds) / case["workers"],
        "ms of merging a round": 1000 * sum(r["merging"] for r in rounds) / len(rounds),
    }
