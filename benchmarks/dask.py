"""One process beside a Dask cluster of one and of two worker processes, and how cost grows.

AROMA learns from triplets of 20 newsgroups, LMNN from MNIST, and each of MNIST's rows is a query
for the others that show the same digit. Rows of LMNN and of the evaluation lie in a file that
workers map, so that "MB above data" is what the client itself takes. "CPU s" are those of all
processes together. The floor is what the machine allows: each worker learns from half of
the triplets, and nothing is sent. `--repeats 2` takes 20 minutes on two cores.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._cluster import started
from benchmarks._contender import Contender
from benchmarks._shared import kept, newsgroups_triplets

_STEPS = 10  # of LMNN, after which impostors are searched again
_DEPTH = 100  # of a ranking

CASES = [
    case | {"threads": 1}
    for times in (4, 2, 1)
    for case in (
        {"task": "aroma", "triplets": 250_000 * times},
        {"task": "lmnn", "rows": 15_000 * times, "features": 164},
        {"task": "evaluate", "rows": 15_000 * times, "features": 164},
    )
]


def data(case: dict[str, Any]) -> Any:
    """Return newsgroups and triplets, or the name of a file of MNIST's rows, and labels."""
    if case["task"] == "aroma":
        return newsgroups_triplets(case["triplets"])
    from benchmarks.lmnn import _mnist

    def save(file: Path) -> None:
        X, y, _, _ = _mnist(case["features"])
        np.savez(file, X=X, y=y)

    with np.load(kept(f"mnist-{case['features']}.npz", save)) as stored:
        rows, labels = stored["X"][: case["rows"]], stored["y"][: case["rows"]]
    return kept(f"mnist-{case['features']}-{case['rows']}.npy", lambda f: np.save(f, rows)), labels


def _plain(case: dict[str, Any], data: Any) -> Any:
    import likewise

    if case["task"] == "aroma":
        likewise.AROMA().fit_triplets(data[1][:100], data[0])
        return _clocked(lambda: likewise.AROMA().fit_triplets(data[1], data[0]))
    rows, labels = np.load(data[0]), data[1]
    if case["task"] == "lmnn":
        return _clocked(lambda: _fitted(likewise.LMNN(max_iter=_STEPS), rows, labels))
    evaluate = likewise.evaluate_retrieval
    return _clocked(lambda: evaluate("euclidean", rows, labels=labels, depth=_DEPTH))


def _clocked(work: Callable[[], Any], client: Any = None) -> Callable[[], tuple[Any, float]]:
    """Return a call that also returns the CPU seconds of this process and of the workers.

    They are read from the system, because asking the workers would be timed, too.
    """
    import psutil

    workers = [] if client is None else client.run(os.getpid).values()
    processes = [psutil.Process(pid) for pid in (os.getpid(), *workers)]

    def seconds() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    def run() -> tuple[Any, float]:
        before = seconds()
        return work(), seconds() - before

    return run


def _fitted(learner: Any, rows: Any, labels: np.ndarray) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten steps do not converge, on purpose
        return learner.fit(rows, labels)


def _on_workers(n_workers: int) -> Any:
    def prepare(case: dict[str, Any], data: Any) -> Any:
        import likewise

        client = started(n_workers)

        def on_cluster(work: Callable[..., Any], *args: Any, **options: Any) -> Any:
            with likewise.distributed.run_on(client) as run:
                result = work(*args, **options)
            return result, run.finished_rounds, n_workers

        # every worker loads the kernels before the clock runs
        if case["task"] == "aroma":
            on_cluster(likewise.AROMA().fit_triplets, data[1][:1000], data[0])
            learner = likewise.AROMA()
            return _clocked(lambda: on_cluster(learner.fit_triplets, data[1], data[0]), client)
        path, labels = data
        some = np.load(path, mmap_mode="r")[:2000]
        if case["task"] == "lmnn":
            learner = likewise.LMNN(max_iter=_STEPS)
            on_cluster(_fitted, learner, some, labels[:2000])
            return _clocked(lambda: on_cluster(_fitted, learner, path, labels), client)
        evaluate = likewise.evaluate_retrieval
        given = {"depth": _DEPTH}
        on_cluster(evaluate, "euclidean", some, labels=labels[:2000], **given)
        return _clocked(
            lambda: on_cluster(evaluate, "euclidean", path, labels=labels, **given), client
        )

    return prepare


def _apart(case: dict[str, Any], data: Any) -> Any:
    client, n = started(2), case["triplets"]
    client.run(_fit_some, n, 1000)

    def fit_halves() -> None:
        client.run(_fit_some, n, n // 2)

    return _clocked(fit_halves, client)


def _fit_some(n_triplets: int, n: int) -> None:
    import likewise

    rows, triplets, *_ = _loaded(n_triplets)
    likewise.AROMA().fit_triplets(triplets[:n], rows)


_loaded = cache(newsgroups_triplets)


CONTENDERS = [
    Contender("likewise", _plain),
    Contender("1 worker", _on_workers(1)),
    Contender("2 workers", _on_workers(2)),
    Contender(
        "floor: 2 workers, apart",
        _apart,
        left_out=lambda case: None if case["task"] == "aroma" else "only triplets are cut in two",
    ),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the quality of the result, and how the time of the rounds was spent."""
    result, cpu = result
    if result is None:
        return {"CPU s": cpu}
    result, rounds, n_workers = result if isinstance(result, tuple) else (result, [], 1)
    if case["task"] == "lmnn":
        return {"CPU s": cpu, "objective": result.objective_}
    if case["task"] == "evaluate":
        return {"CPU s": cpu, "map@100": result["map"], "precision@10": result["precision@10"]}
    found = {"CPU s": cpu, "map": result.score(data[2], data[3])}
    if rounds:
        total = {key: sum(r[key] for r in rounds) for key in rounds[0]}
        found |= {
            "rounds": len(rounds),
            "share learning": total["learning"] / n_workers / total["seconds"],
            "share merging": total["merging"] / n_workers / total["seconds"],
        }
    return found
