"""The Dask cluster that a command was told to use."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from likewise.cli._show import Show, WrongUse

Adapt: TypeAlias = Callable[[Any, bool], Any]  # see `select_triplets`


@contextmanager
def cluster(
    show: Show, where: str | None, model: Path, *, resume: bool = False
) -> Iterator[Adapt | None]:
    """Yield what turns a learner into its namesake on the cluster; None where none is wanted.

    Rounds of the last fit are kept beside the model until that is written.
    """
    if where is None:
        if resume:
            raise WrongUse("--resume goes on with what was begun with --dask, which is not given.")
        yield None
        return
    n_workers = re.fullmatch(r"local:([1-9]\d*)", where)
    if n_workers is None and not re.fullmatch(r"[a-z]+://.+", where):
        raise WrongUse(
            "--dask must be the address of a scheduler, such as tcp://host:8786, or local:4 for "
            f"four processes here, but {where!r} was given."
        )
    from likewise.distributed import spread
    from likewise.distributed._executor import opened
    from likewise.distributed._spread import can_be_spread
    from likewise.exceptions import require_extra

    distributed = require_extra("distributed", "dask", "--dask")
    rounds = model.with_suffix(".rounds.safetensors")
    with ExitStack() as stack:
        stack.enter_context(_told(show))
        if n_workers is not None:
            where = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=int(n_workers[1]),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",
                )
            ).scheduler_address
        client = stack.enter_context(opened(where, "--dask"))
        if n_workers is not None:
            client.wait_for_workers(int(n_workers[1]))
        show.remark(f"Dask: {len(client.nthreads())} workers at {client.scheduler.address}")
        show.remark(f"Dask dashboard: {client.dashboard_link}")

        def adapt(learner: Any, final: bool) -> Any:
            if not can_be_spread(learner):
                if final:
                    show.remark(f"{type(learner).__name__} learns in this process.")
                return learner
            kept = {"checkpoint": rounds, "resume": resume} if final else {}
            return spread(learner, client, **kept)

        yield adapt
    rounds.unlink(missing_ok=True)


def adapted(family: Any, adapt: Adapt | None) -> Any:
    """Return a family whose learner, where it has a namesake on the cluster, is that."""
    if adapt is None or not _can_be_spread(family):
        return family
    make = family.make

    def on_cluster(settings: dict[str, Any], seed: int) -> Any:
        estimator = make(settings, seed)
        return estimator.set_params(learner=adapt(estimator.learner, False))

    return replace(family, make=on_cluster)


def refuse_learner_elsewhere(families: list[Any]) -> None:
    """Refuse learners of which none runs on a cluster."""
    from likewise.selection import FAMILIES

    if not any(_can_be_spread(family) for family in families):
        able = ", ".join(family.name for family in FAMILIES if _can_be_spread(family))
        raise WrongUse(f"--dask is for the learners {able}; others learn in this process.")


def refuse_triplet_learner_elsewhere(name: str) -> None:
    """Refuse a learner of comparisons that runs on no cluster; unknown names are refused later."""
    from likewise.distributed._spread import can_be_spread
    from likewise.selection import TRIPLET_LEARNERS

    able = [known for known, learner in TRIPLET_LEARNERS.items() if can_be_spread(learner.make())]
    if name in TRIPLET_LEARNERS and name not in able:
        raise WrongUse(
            f"--dask is for the learners {', '.join(able)} of comparisons; {name} learns in this "
            "process."
        )


def _can_be_spread(family: Any) -> bool:
    from likewise.distributed._spread import can_be_spread

    return can_be_spread(getattr(family.estimator(family.grid[0], 0), "learner", None))


@contextmanager
def _told(show: Show) -> Iterator[None]:
    """Say every round as it ends."""

    class Remarks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show.remark(record.getMessage())

    log, handler = logging.getLogger("likewise.distributed"), Remarks()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
