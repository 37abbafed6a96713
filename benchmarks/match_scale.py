"""Matching of generated people, without labels: time, memory, recall of candidates and F1 by size.

Each table has so many records, and half of the first one's people are in the second one, with one
to four errors. "MB above data" is the peak of the process above the two frames; of a cluster it is
that of the client. `--long` adds a million records a side.
"""

from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks._contender import Contender, long_runs

CASES = [{"records": n, "threads": 1} for n in (10_000, 100_000, 1_000_000)]
_LONG = 1_000_000


class Tables(NamedTuple):
    """Two tables and the row numbers of their true pairs."""

    left: Any
    right: Any
    truth: np.ndarray


class Found(NamedTuple):
    """Candidates, decided pairs by row number, the forecast, and the CPU time of this process."""

    candidates: np.ndarray
    decided: np.ndarray
    forecast: float
    cpu_seconds: float


def data(case: dict[str, Any]) -> Tables:
    """Return generated people."""
    from benchmarks._people import people

    left, right, truth = people(case["records"])
    rows = [truth[f"{side}_id"].str[1:].astype(int).to_numpy() for side in ("left", "right")]
    return Tables(left, right, np.stack(rows))


def _matched(case: dict[str, Any], data: Tables) -> Any:
    import likewise as lw

    def run() -> Found:
        started = process_time()
        matcher = lw.Matcher(one_to_one=True).fit(data.left, data.right)
        report = matcher.match(data.left, data.right)
        pairs = report.pairs[report.pairs["decided"]]
        decided = [pairs[f"{s}_id"].str[1:].astype(int).to_numpy() for s in ("left", "right")]
        found = np.stack([*matcher.candidates_])
        return Found(found, np.stack(decided), report.forecast["f1"], process_time() - started)

    return run


def _on_workers(case: dict[str, Any], data: Tables) -> Any:
    import likewise as lw
    from benchmarks._cluster import started

    client, run = started(2), _matched(case, data)

    def on_cluster() -> Found:
        with lw.distributed.run_on(client):
            return run()

    return on_cluster


def quality(case: dict[str, Any], data: Tables, result: Found) -> dict[str, float]:
    """Return CPU seconds of this process, the recall of candidates, F1 and its forecast."""
    n = len(data.right)
    truth, candidates, decided = (
        np.asarray(pairs[0], dtype=np.int64) * n + pairs[1]
        for pairs in (data.truth, result.candidates, result.decided)
    )
    n_right = np.isin(decided, truth).sum()
    return {
        "cpu s": result.cpu_seconds,
        "candidates": float(len(candidates)),
        "recall of candidates": float(np.isin(truth, candidates).mean()),
        "F1": float(2 * n_right / (len(decided) + len(truth))),
        "forecast": result.forecast,
    }


def _too_long(case: dict[str, Any]) -> str | None:
    return "--long adds it" if case["records"] >= _LONG and not long_runs() else None


def _not_on_cluster(case: dict[str, Any]) -> str | None:
    return "one process only" if case["records"] >= _LONG else None


CONTENDERS = [
    Contender("likewise", _matched, slow=True, left_out=_too_long),
    Contender("likewise, 2 workers", _on_workers, slow=True, left_out=_not_on_cluster),
]
