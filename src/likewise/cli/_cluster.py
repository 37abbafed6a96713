"""The Dask cluster of a command."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

from likewise.cli._console import Console, UsageError

FinalFit: TypeAlias = Callable[[], AbstractContextManager[Any]]  # see `select_triplets`

_ON_CLUSTER = ("AROMA", "LMNN", "OASIS")  # learners that `run_on` distributes


@contextmanager
def cluster(
    console: Console, where: str | None, model: Path, *, resume: bool = False
) -> Iterator[FinalFit]:
    """Run on the cluster of ``--dask``, if it was given; yield a context for the last fit.

    The rounds of the last fit are kept beside the model until that is written.
    """
    if where is None:
        if resume:
            raise UsageError("--resume continues a run with --dask, which is not given.")
        yield nullcontext
        return
    local = re.fullmatch(r"local:([1-9]\d*)", where)
    if local is None and not re.fullmatch(r"[a-z]+://.+", where):
        raise UsageError(
            "--dask must be the address of a scheduler, such as tcp://host:8786, or local:4 for "
            f"four processes here, but {where!r} was given."
        )
    from likewise.distributed import run_on

    rounds = model.with_suffix(".rounds.safetensors")
    with _log_to(console), run_on(where if local is None else int(local[1])) as run:
        console.message(
            f"Dask: {len(run.client.nthreads())} workers at {run.client.scheduler.address}"
        )
        console.message(f"Dask dashboard: {run.client.dashboard_link}")
        run.client.run(_load_kernels)
        yield lambda: run_on(run.client, checkpoint=rounds, resume=resume)
    rounds.unlink(missing_ok=True)


def _load_kernels() -> None:
    """Search once, so that a worker does not load kernels while the budget runs."""
    from likewise.similarities import as_similarity

    as_similarity("euclidean").neighbors([[0.0]], [[0.0]], 1)


def check_families(families: list[Any]) -> None:
    """Refuse families of learners of which none runs on a cluster."""
    from likewise.selection import FAMILIES

    def is_distributed(family: Any) -> bool:
        estimator = family.estimator(family.grid[0], 0)
        return type(getattr(estimator, "learner", None)).__name__ in _ON_CLUSTER

    if not any(map(is_distributed, families)):
        names = ", ".join(family.name for family in FAMILIES if is_distributed(family))
        raise UsageError(f"--dask is for the learners {names}; others learn in this process.")


def check_triplet_learner(name: str) -> None:
    """Refuse a learner of comparisons that runs on no cluster; unknown names are refused later."""
    from likewise.selection import TRIPLET_LEARNERS

    names = [
        known for known, learner in TRIPLET_LEARNERS.items() if learner.make.__name__ in _ON_CLUSTER
    ]
    if name in TRIPLET_LEARNERS and name not in names:
        raise UsageError(
            f"--dask is for the learners {', '.join(names)} of comparisons; {name} learns in this "
            "process."
        )


@contextmanager
def _log_to(console: Console) -> Iterator[None]:
    """Show a line for each finished round."""

    class Messages(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            console.message(record.getMessage())

    log, handler = logging.getLogger("likewise.distributed"), Messages()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
