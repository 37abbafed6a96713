"""Rows as tasks take them: in blocks, all at once where workers can open them, or only some."""

import os
from typing import Any

import numpy as np

from likewise._validation import Rows
from likewise.distributed._executor import Executor, Handle, map_tasks
from likewise.distributed._parquet import ParquetRows
from likewise.distributed._sources import MemoryRows, NpyRows, as_source, load_rows, stack_rows


class RowBlocks:
    """Rows that tasks read in blocks; rows in memory are sent once.

    Parameters
    ----------
    rows : anything that `as_source` takes
    name : argument name for errors
    executor : Executor
    order : array of row numbers, optional
        The order of the rows, which then must have random access.

    Attributes
    ----------
    source : Source
    shape : tuple of int
    blocks : list of slice
    """

    def __init__(
        self, rows: Any, name: str, executor: Executor, order: np.ndarray | None = None
    ) -> None:
        self.name = name
        self.source = as_source(rows, name)
        self.shape = self.source.shape
        self.blocks = self.source.blocks()
        self._executor = executor
        self._order = order
        self._sent: dict[tuple[int, int], Handle] = {}
        self._reordered: tuple[np.ndarray, RowBlocks] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def random_access(self) -> bool:
        """Whether a worker can open any row without reading all of them."""
        return isinstance(self.source, MemoryRows | NpyRows)

    def reordered(self, order: np.ndarray) -> "RowBlocks":
        """Return the rows, which must have random access, in another order.

        The last order is kept, because rows in memory are sent anew for each.
        """
        if self._reordered is None or not np.array_equal(self._reordered[0], order):
            blocks = RowBlocks(self.source, self.name, self._executor, order)
            self._reordered = order, blocks
        return self._reordered[1]

    def check_finite(self) -> None:
        """Refuse NaN and infinity in an NPY file; other rows are checked when they are read."""
        if isinstance(self.source, NpyRows):
            tasks = ((self.part(b), self.name, b.start) for b in self.blocks)
            for _ in map_tasks(self._executor, check_finite_part, tasks):
                pass

    def part(self, rows: slice) -> Any:
        """Return some rows as an argument of a task, which calls `load_rows` on it."""
        which: Any = rows if self._order is None else self._order[rows]
        if not isinstance(self.source, MemoryRows):
            return self.source.part(which)
        key = rows.start, rows.stop
        if key not in self._sent:
            self._sent[key] = self._executor.share(self.source.part(which))
        return self._sent[key]

    def parts(self) -> list[Any]:
        """Return every block as an argument of a task."""
        return [self.part(block) for block in self.blocks]

    def all(self) -> Any:
        """Return all rows as an argument of a task."""
        return self.part(slice(0, len(self))) if self.random_access else self.parts()

    def select(self, needed: Handle, which: int, priority: int = 0) -> list[Handle]:
        """Return only the rows that a task needs, as an argument: see `needed_rows`."""
        return [
            self._executor.submit(
                select_rows, part, self.name, needed, which, block, priority=priority
            )
            for part, block in zip(self.parts(), self.blocks, strict=True)
        ]

    def detach(self) -> Any:
        """Return an array for rows in memory, else their source: neither needs the cluster."""
        return self.source.rows if isinstance(self.source, MemoryRows) else self.source

    def __getitem__(self, index: np.ndarray) -> Rows:
        """Return a few rows in this process."""
        index = np.asarray(index)
        if isinstance(self.source, MemoryRows):
            return self.source.rows[index if self._order is None else self._order[index]]
        distinct, inverse = np.unique(index, return_inverse=True)
        tasks = []
        for block in self.blocks:
            low, high = np.searchsorted(distinct, [block.start, block.stop])
            if low < high:
                tasks.append((self.part(block), self.name, distinct[low:high] - block.start))
        return stack_rows(list(map_tasks(self._executor, rows_of_part, tasks)))[inverse]


def load_labels(y: Any, name: str) -> np.ndarray:
    """Return labels in memory: from an array, a Dask array, an .npy file or a Parquet column."""
    if hasattr(y, "__dask_graph__"):
        y = y.compute()
    elif isinstance(y, str | os.PathLike):
        y = np.load(y)
    elif isinstance(y, ParquetRows):
        if y.shape[1] != 1:
            raise ValueError(f"{name} must be one column, but has {y.shape[1]}.")
        y = y.load()[:, 0]
    return np.asarray(y)


def check_finite_part(part: Any, name: str, start: int) -> None:
    """Refuse NaN and infinity in a part whose first row is `start`."""
    try:
        load_rows(part, name)
    except ValueError as error:
        raise ValueError(f"in the rows of {name} from {start} on: {error}") from error


def rows_of_part(part: Any, name: str, index: np.ndarray) -> Rows:
    """Return some rows of a part."""
    return load_rows(part, name)[index]


def select_rows(
    part: Any, name: str, needed: tuple[np.ndarray, ...], which: int, block: slice
) -> Rows | None:
    """Return the rows of a block that are needed; None where there are none."""
    distinct = needed[which]
    low, high = np.searchsorted(distinct, [block.start, block.stop])
    return rows_of_part(part, name, distinct[low:high] - block.start) if low < high else None


def stack_selected(selected: list[Rows | None]) -> Rows:
    """Return the rows that `select_rows` found in each block as one table."""
    return stack_rows([part for part in selected if part is not None])
