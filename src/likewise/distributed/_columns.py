"""Mean and scale of the columns of rows in blocks, and rows that are standardized by them."""

from typing import Any, NamedTuple

import numpy as np

from likewise.distributed._executor import Executor, tree_reduce
from likewise.distributed._rows import RowBlocks
from likewise.distributed._sources import MemoryRows, load_rows
from likewise.learners.linear_map import ColumnMoments, column_moments, combined_moments
from likewise.learners.lmnn import column_scale, standardize


class Columns(NamedTuple):
    """Mean and scale of each column, and the type of the rows."""

    mean: np.ndarray
    scale: np.ndarray
    dtype: Any


def describe_columns(executor: Executor, rows: RowBlocks) -> Columns:
    """Return the mean and the scale of every column."""
    if isinstance(rows.source, MemoryRows):  # nothing to send
        moments = column_moments(rows.source.rows)
    else:
        parts = [executor.submit(moments_of_part, part, rows.name) for part in rows.parts()]
        moments = executor.result(tree_reduce(executor, combined_moments, parts))
    scale = column_scale(moments.deviation, moments.largest, moments.n_rows)
    return Columns(moments.mean, scale, moments.dtype)


def moments_of_part(part: Any, name: str) -> ColumnMoments:
    """Return the moments of a block of rows."""
    return column_moments(load_rows(part, name))


def standardized_part(rows: Any, columns: Columns) -> np.ndarray:
    """Return some rows, standardized."""
    X = load_rows(rows, "X").astype(columns.dtype, copy=False)
    return standardize(X, columns.mean, columns.scale)


def mapped_part(rows: Any, L: np.ndarray, columns: Columns) -> np.ndarray:
    """Return a block of rows, standardized and mapped."""
    return standardized_part(rows, columns) @ L.T.astype(columns.dtype)
