"""What LMNN needs of a cluster: the initial map, the margins and the search for impostors."""

from typing import Any

import numpy as np

from likewise.distributed._columns import describe_columns
from likewise.distributed._executor import Executor, map_tasks
from likewise.distributed._impostors import DistributedImpostorSearch
from likewise.distributed._margins import DistributedMargins
from likewise.distributed._rows import RowBlocks
from likewise.distributed._sources import MemoryRows, load_rows
from likewise.learners.linear_map import starting_map
from likewise.learners.lmnn import LargeMarginProblem


def large_margin_problem(
    executor: Executor, problem: LargeMarginProblem
) -> tuple[DistributedMargins, DistributedImpostorSearch, np.ndarray]:
    """Return the margins, the search for impostors, and the scale of each column."""
    X = problem.X  # detached where the duality gap is computed later
    rows = X if isinstance(X, RowBlocks) else RowBlocks(X, "X", executor)
    columns = describe_columns(executor, rows)
    if rows.random_access:
        problem, order = problem.in_label_order()
        rows = rows if order is None else rows.reordered(order)
    margins = DistributedMargins(
        executor, rows, columns, problem.anchors, problem.targets, problem.c, problem.weights
    )
    search = DistributedImpostorSearch(margins, columns, problem.labels, problem.impostors)
    return margins, search, columns.scale


def initial_map(
    executor: Executor,
    rows: RowBlocks,
    labels: np.ndarray | None,
    init: Any,
    n_components: int | None,
) -> np.ndarray:
    """Return the map to start from; see `learners.linear_map.starting_map`."""
    if isinstance(rows.source, MemoryRows):
        return np.asarray(starting_map(rows.source.rows, labels, init, n_components))
    if isinstance(init, str) and init == "lda":
        raise ValueError("init 'lda' needs rows in memory: use 'identity', 'pca' or an array.")
    if not (isinstance(init, str) and init == "pca"):
        return np.asarray(starting_map(rows, labels, init, n_components))  # type: ignore[arg-type]
    mean = executor.share(describe_columns(executor, rows).mean)
    scatter = sum(map_tasks(executor, scatter_part, ((part, mean) for part in rows.parts())))
    size = rows.shape[1] if n_components is None else n_components
    return np.linalg.eigh(scatter)[1][:, ::-1][:, :size].T.copy()


def scatter_part(part: Any, mean: np.ndarray) -> np.ndarray:
    """Return the scatter matrix of a block of rows around a mean."""
    centered = load_rows(part, "X") - mean
    return np.asarray(centered.T @ centered)
