"""Rows as tasks take them: by blocks, all at once where workers can open them, or only some."""

import os
from typing import Any

import numpy as np

from likewise._validation import Rows
from likewise.distributed._executor import Executor, Handle, mapped
from likewise.distributed._parquet import ParquetRows
from likewise.distributed._sources import (
    MemoryRows,
    NpyRows,
    as_source,
    load_rows,
    stacked,
)


class RowBlocks:
    """Rows that tasks ask for in blocks; what lies in memory is sent once.

    Parameters
    ----------
    rows : whatever `as_source` takes
    name : what the caller calls them
    executor : Executor
        Where the tasks run.

    Attributes
    ----------
    shape : tuple of int
    blocks : list of slice
    """

    def __init__(self, rows: Any, name: str, executor: Executor) -> None:
        self.name = name
        self.source = as_source(rows, name)
        self.shape = self.source.shape
        self.blocks = self.source.blocks()
        self._executor = executor
        self._sent: dict[tuple[int, int], Handle] = {}

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def can_be_opened(self) -> bool:
        """Whether a worker gets at any row without reading them all."""
        return isinstance(self.source, MemoryRows | NpyRows)

    def refuse_odd_rows(self) -> None:
        """Refuse NaN and infinity in a file that tasks will open; other rows are checked as read.

        What lies in memory was checked before.
        """
        if isinstance(self.source, NpyRows):
            tasks = ((self.part(b), self.name, b.start) for b in self.blocks)
            for _ in mapped(self._executor, refuse_odd_part, tasks):
                pass

    def part(self, rows: slice) -> Any:
        """Return some rows as an argument of a task, which calls `load_rows` on it."""
        if not isinstance(self.source, MemoryRows):
            return self.source.part(rows)
        place = rows.start, rows.stop
        if place not in self._sent:
            self._sent[place] = self._executor.share(self.source.part(rows))
        return self._sent[place]

    def parts(self) -> list[Any]:
        """Return every block as an argument of a task."""
        return [self.part(block) for block in self.blocks]

    def all(self) -> Any:
        """Return all rows as an argument of a task."""
        if self.can_be_opened:
            return self.part(slice(0, len(self)))
        return self.parts()

    def picked(self, needed: Handle, which: int) -> Any:
        """Return only rows that a task needs, as an argument: see `needed_rows`."""
        return [
            self._executor.submit(pick, part, self.name, needed, which, block.start, block.stop)
            for part, block in zip(self.parts(), self.blocks, strict=True)
        ]

    def __getitem__(self, index: np.ndarray) -> Rows:
        """Return a few rows, here."""
        index = np.asarray(index)
        if isinstance(self.source, MemoryRows):
            return self.source.rows[index]
        distinct, back = np.unique(index, return_inverse=True)
        tasks = []
        for block in self.blocks:
            low, high = np.searchsorted(distinct, [block.start, block.stop])
            if low < high:
                tasks.append((self.part(block), self.name, distinct[low:high] - block.start))
        return stacked(list(mapped(self._executor, rows_of, tasks)))[back]


def labels_here(y: Any, name: str) -> np.ndarray:
    """Return labels, which are one number a row, in memory: from an array, or from where X lies."""
    if hasattr(y, "__dask_graph__"):
        y = y.compute()
    elif isinstance(y, str | os.PathLike):
        y = np.load(y)
    elif isinstance(y, ParquetRows):
        if y.shape[1] != 1:
            raise ValueError(f"{name} must be one column, but has {y.shape[1]}.")
        y = y.load()[:, 0]
    return np.asarray(y)


def refuse_odd_part(part: Any, name: str, start: int) -> None:
    """Refuse NaN and infinity."""
    try:
        load_rows(part, name)
    except ValueError as error:
        raise ValueError(f"in the rows of {name} from {start} on: {error}") from error


def rows_of(part: Any, name: str, index: np.ndarray) -> Rows:
    """Return some rows of a part."""
    return load_rows(part, name)[index]


def pick(
    part: Any, name: str, needed: tuple[np.ndarray, ...], which: int, start: int, stop: int
) -> Rows:
    """Return those rows of a block that are needed; None where there are none."""
    distinct = needed[which]
    low, high = np.searchsorted(distinct, [start, stop])
    return rows_of(part, name, distinct[low:high] - start) if low < high else None


def together(picked: Any) -> Rows:
    """Return what was picked from blocks as one table; rows that were opened as they are."""
    return stacked([part for part in picked if part is not None])
