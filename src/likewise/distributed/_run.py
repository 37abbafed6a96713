"""`run_on`: the plain estimators and searches, run on the workers of a Dask cluster."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from likewise._execution import use_backend
from likewise._files import check_place, write_npy
from likewise._progress import LongWork
from likewise._validation import check_whole_number
from likewise.distributed import _lmnn, _search
from likewise.distributed._executor import Executor, Handle, map_tasks
from likewise.distributed._rounds import Checkpoint, RoundTrainer
from likewise.distributed._rows import RowBlocks, load_labels
from likewise.distributed._shards import TripletShards
from likewise.distributed._sources import DaskRows, is_remote, load_rows, stack_rows
from likewise.exceptions import ClusterLostError, require_extra
from likewise.learners.lmnn import LargeMarginProblem
from likewise.learners.online import UpdateRule
from likewise.similarities import Best, Matches, Similarity

_SECONDS_TO_START = 120  # of worker processes
# Dask's monitors take .10 of a core while two workers wait, and its profiler 2 % of the time of a
# worker; with these settings, the monitors take .015 of a core.
_MONITORING = {
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
# Bytes: smaller allocations than the first reuse freed memory, of which the second is kept. With
# the limits of the C library, training on two workers takes 2 % longer, for clearing pages.
_ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 64 << 20}


@contextmanager
def run_on(
    client: Any,
    rounds: int | None = None,
    shard_size: int | None = None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Iterator["ClusterRun"]:
    """Run estimators and searches inside this block on the workers of a Dask cluster.

    `AROMA`, `OASIS`, `LMNN`, `NCA`, `MLKR`, `SimilarityClassifier`, `SimilarityRegressor`,
    `LandmarkFeatures`, `Similarity.neighbors` and `evaluate_retrieval` use the cluster; everything
    else runs in this process. Rows may be arrays and CSR, memory-mapped arrays, Dask arrays, paths
    of .npy, .npz and Parquet files or of folders of Parquet files, lists of CSR or of paths, and
    the rows of `read_parquet`. Fitted estimators are the same objects as without a cluster.

    Parameters
    ----------
    client : distributed.Client, str or int
        A client, the address of a scheduler, or a number of local worker processes to start.
    rounds : int, optional
        Number of times that the shards of `AROMA` and `OASIS` are merged.
    shard_size : int, optional
        Approximate number of triplets of a shard. Unless `rounds` and `shard_size` are both given,
        every worker trains one shard per round, and the result depends on the number of workers;
        with neither, there are 1.25 √n rounds for n workers, or as many as keep shards at 250,000
        triplets, and at least four where held-out queries are scored after each.
    checkpoint : path, optional
        A model file that receives the state of `AROMA` or `OASIS` after every round.
    resume : bool, default=False
        Continue from the checkpoint, if the file exists, with the same triplets and rounds.

    Yields
    ------
    ClusterRun

    Examples
    --------
    >>> import numpy as np
    >>> import likewise as lw
    >>> from dask.distributed import Client
    >>> digits = lw.datasets.load("digits")
    >>> triplets = lw.supervision.LabelTriplets(digits.y).draw(4000, np.random.default_rng(0))
    >>> with Client(processes=False, n_workers=2, dashboard_address=None) as client:
    ...     with lw.distributed.run_on(client, rounds=2, shard_size=1000) as run:
    ...         aroma = lw.AROMA().fit_triplets(triplets, digits.X)
    >>> len(run.finished_rounds), type(aroma) is lw.AROMA
    (2, True)
    """
    if rounds is not None:
        check_whole_number(rounds, "rounds")
    if shard_size is not None:
        check_whole_number(shard_size, "shard_size")
    if checkpoint is not None:
        check_place(checkpoint)
    elif resume:
        raise ValueError("resume continues from a checkpoint, but checkpoint is None.")
    with _connect(client) as connected:
        file = None if checkpoint is None else Checkpoint(checkpoint, resume)
        run = ClusterRun(Executor(connected), rounds, shard_size, file)
        with use_backend(run):
            yield run


@contextmanager
def _connect(client: Any) -> Iterator[Any]:
    """Yield a connected client; close it only if it was opened here."""
    distributed = require_extra("distributed", "dask", "run_on")
    if isinstance(client, distributed.Client):
        if client.status != "running":
            raise ClusterLostError(f"client is {client.status}; it must be connected.")
        yield client
        return
    n_workers = 0
    with ExitStack() as stack:
        if isinstance(client, int) and not isinstance(client, bool):
            n_workers = check_whole_number(client, "client")
            client = stack.enter_context(local_cluster(n_workers)).scheduler_address
        elif not isinstance(client, str | os.PathLike):
            raise TypeError(
                "client must be a dask.distributed Client, the address of a scheduler or a number "
                f"of worker processes, but {client!r} was given."
            )
        try:
            # Results of workers on this machine need not pass through the scheduler.
            opened = distributed.Client(
                os.fspath(client), set_as_default=False, direct_to_workers=n_workers > 0 or None
            )
        except (OSError, ValueError) as error:
            raise ClusterLostError(f"there is no scheduler at {client}: {error}") from error
        stack.enter_context(opened)
        if n_workers:
            wait_for_workers(opened, n_workers)
        yield opened


def local_cluster(n_workers: int, **options: Any) -> Any:
    """Return a cluster of so many worker processes on this machine, with one thread each.

    Dask starts workers with a `MALLOC_TRIM_THRESHOLD_` by which they return freed memory to the
    system at once, which then clears every page of the next array anew. Here they keep up to 64 MB.
    """
    import dask

    distributed = require_extra("distributed", "dask", "run_on")
    key = "distributed.nanny.pre-spawn-environ"
    environment = {**dask.config.get(key), **_ALLOCATION}
    with dask.config.set({key: environment, **_MONITORING}):
        return distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            **options,
        )


def wait_for_workers(client: Any, n_workers: int) -> None:
    """Wait until so many workers are there, but not forever: a process may have failed to start."""
    try:
        client.wait_for_workers(n_workers, timeout=_SECONDS_TO_START)
    except TimeoutError as error:
        n_there = len(client.scheduler_info()["workers"])
        raise ClusterLostError(
            f"{n_there} of {n_workers} worker processes started within {_SECONDS_TO_START} s."
        ) from error


class ClusterRun:
    """The backend that `run_on` sets; see `likewise._execution.Backend` for its methods.

    Attributes
    ----------
    client : distributed.Client
    finished_rounds : list of dict
        For each round of the last fit of `AROMA` or `OASIS` its ``triplets``, the ``seconds`` it
        took, and the seconds spent on ``learning``, summed over workers, and on ``merging``.
    """

    def __init__(
        self,
        executor: Executor,
        n_rounds: int | None = None,
        shard_size: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.client = executor.client
        self.finished_rounds: list[dict[str, Any]] = []
        self._executor = executor
        self._n_rounds, self._shard_size, self._checkpoint = n_rounds, shard_size, checkpoint

    is_remote = staticmethod(is_remote)
    labels = staticmethod(load_labels)

    def rows(self, rows: Any, name: str, n_features: int | None = None) -> RowBlocks:
        if isinstance(rows, RowBlocks):
            return rows
        blocks = RowBlocks(rows, name, self._executor)
        if n_features not in (None, blocks.shape[1]):
            raise ValueError(f"{name} has {blocks.shape[1]} columns, but {n_features} are needed.")
        blocks.check_finite()
        return blocks

    def share(self, value: Any) -> Handle:
        return self._executor.share(value)

    def neighbors(
        self, similarity: Similarity, Q: Any, P: Any, k: int, *, exclude_self: bool
    ) -> Matches:
        if similarity.takes != "rows":
            with use_backend(None):
                return similarity.neighbors(Q, P, k, exclude_self=exclude_self)
        queries = self.rows(Q, "Q")
        items = queries if P is Q else self.rows(P, "P")
        parts = self.search(
            similarity,
            queries,
            items,
            k,
            _search.unchanged,
            lambda block: (),
            exclude_self=exclude_self,
        )
        return _search.as_matches(list(parts))

    def search(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        return _search.search(self._executor, *arguments, **options)

    def map_rows(self, function: Callable[..., Any], rows: Any, *shared: Any) -> Iterator[Any]:
        handles = [self.share(value) for value in shared]
        tasks = ((function, part, rows.name, *handles) for part in rows.parts())
        return map_tasks(self._executor, call_on_part, tasks)

    def map_tasks(
        self, function: Callable[..., Any], tasks: Iterable[Any], *shared: Any
    ) -> Iterator[Any]:
        handles = [self.share(value) for value in shared]
        return map_tasks(self._executor, function, ((task, *handles) for task in tasks))

    def transform(
        self, function: Callable[..., Any], rows: Any, fitted: Any, n_columns: int, path: Any
    ) -> Any:
        """Return ``function(rows, fitted)``, computed by blocks.

        A Dask array gives a lazy Dask array; with a path, an NPY file is written and mapped.
        """
        if path is None and isinstance(rows.source, DaskRows):
            array = rows.source.array
            dtype = np.result_type(array.dtype, np.float32)
            return array.map_blocks(
                function, fitted, dtype=dtype, chunks=(array.chunks[0], (n_columns,))
            )
        with LongWork("transforming", total=len(rows), unit="rows") as work:
            parts = _advancing(self.map_rows(function, rows, fitted), rows.blocks, work)
            if path is None:
                return stack_rows(list(parts))
            write_npy(path, parts, len(rows))
        return np.load(path, mmap_mode="r")

    def best_of_class(self, similarity: Similarity, rows: Any, y: np.ndarray, k: int) -> Best:
        blocks = self.rows(rows, "X")
        return _search.best_of_class_in_blocks(self._executor, similarity, blocks, y, k)

    def initial_map(
        self, X: Any, labels: np.ndarray | None, init: Any, n_components: int | None
    ) -> np.ndarray:
        return _lmnn.initial_map(self._executor, X, labels, init, n_components)

    def large_margin_problem(self, problem: LargeMarginProblem) -> tuple[Any, Any, np.ndarray]:
        return _lmnn.large_margin_problem(self._executor, problem)

    def triplets(self, triplets: Any, queries: Any, items: Any, weights: Any) -> TripletShards:
        return TripletShards(triplets, queries, items, weights, self._executor)

    def trainer(self, learner: Any, rule: UpdateRule, queries: Any, items: Any) -> RoundTrainer:
        return RoundTrainer(
            self._executor,
            learner,
            rule,
            queries,
            items,
            self._n_rounds,
            self._shard_size,
            self._checkpoint,
            self.finished_rounds,
        )

    def resumed_validation(self) -> dict[str, Any] | None:
        """Return the result of validation in the checkpoint, if the run resumes from one."""
        kept = None if self._checkpoint is None else self._checkpoint.load()
        return getattr(kept, "validation_", None)


def call_on_part(function: Callable[..., Any], part: Any, name: str, *shared: Any) -> Any:
    """Return ``function(rows, *shared)`` of a part of rows, on the worker that reads them."""
    return function(load_rows(part, name), *shared)


def _advancing(parts: Iterator[Any], blocks: list[slice], work: LongWork) -> Iterator[Any]:
    for part, block in zip(parts, blocks, strict=True):
        yield part
        work.advance(block.stop - block.start)
