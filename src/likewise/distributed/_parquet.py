"""Parquet files as rows: which row groups there are, and how a worker reads some of them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from likewise.distributed._blocks import blocks_of
from likewise.exceptions import require_extra


def read_parquet(path: Any, columns: Sequence[str] | None = None) -> "ParquetRows":
    """Return the rows of a Parquet file or of a folder of them, without reading them.

    Parameters
    ----------
    path : str or path-like
        On every worker the same.
    columns : sequence of str, optional
        Columns of numbers, or one column of lists of numbers, such as embeddings; all by default.

    Examples
    --------
    >>> import tempfile, pyarrow, pyarrow.parquet
    >>> file = Path(tempfile.mkdtemp()) / "items.parquet"
    >>> pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "b": [0, 1]}), file)
    >>> read_parquet(file, ["a"]).shape
    (2, 1)
    """
    return ParquetRows.of_path(Path(path), "path", columns)


@dataclass(frozen=True)
class ParquetRows:
    """Parquet files: which rows of which row groups, and which columns."""

    groups: tuple[tuple[str, int, int, int], ...]  # file, row group, first and last row in it
    columns: tuple[str, ...]
    shape: tuple[int, int]

    @classmethod
    def of_path(cls, path: Path, name: str, columns: Sequence[str] | None = None) -> "ParquetRows":
        """Read the lists of row groups, and nothing else."""
        parquet = require_extra("pyarrow.parquet", "dask", "reading Parquet")
        if not path.exists():
            raise FileNotFoundError(f"{name}: there is no file or folder {path}.")
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise FileNotFoundError(f"{name}: there is no .parquet file in {path}.")
        groups = []
        wanted: tuple[str, ...] = ()
        for file in files:
            with parquet.ParquetFile(file) as opened:
                names = opened.schema_arrow.names
                wanted = wanted or tuple(names if columns is None else columns)
                for column in wanted:
                    if column not in names:
                        raise ValueError(f"{name}: {file} has no column {column!r}.")
                groups += [
                    (os.path.abspath(file), i, 0, opened.metadata.row_group(i).num_rows)
                    for i in range(opened.num_row_groups)
                ]
        n_rows = sum(stop for *_, stop in groups)
        if n_rows == 0:
            raise ValueError(f"{name} has no rows; {path} is empty.")
        first = next(group for group in groups if group[3])
        width = _group_rows(*first[:2], wanted)[:1].shape[1]
        return cls(tuple(groups), wanted, (n_rows, width))

    @classmethod
    def column_of(cls, path: Path, column: str) -> "ParquetRows | None":
        """Return one column, or None where there is no such."""
        parquet = require_extra("pyarrow.parquet", "dask", "reading Parquet")
        file = next(iter(sorted(path.rglob("*.parquet"))), path) if path.is_dir() else path
        there = column in parquet.read_schema(file).names
        return cls.of_path(path, column, (column,)) if there else None

    def blocks(self) -> list[slice]:
        """Cut at row groups, and these by size."""
        found, begin = [], 0
        for *_, first, stop in self.groups:
            size = blocks_of(stop - first, self.shape[1] * 8)
            found += [slice(begin + block.start, begin + block.stop) for block in size]
            begin += stop - first
        return found

    def part(self, rows: slice) -> "ParquetRows":
        """Return those pieces of row groups that hold the rows."""
        kept, begin = [], 0
        for file, group, first, stop in self.groups:
            end = begin + stop - first
            low, high = max(rows.start, begin), min(rows.stop, end)
            if low < high:
                kept.append((file, group, first + low - begin, first + high - begin))
            begin = end
        return ParquetRows(tuple(kept), self.columns, (rows.stop - rows.start, self.shape[1]))

    def load(self) -> np.ndarray:
        """Read the row groups, and keep the rows."""
        return np.concatenate(
            [
                _group_rows(file, group, self.columns)[first:stop]
                for file, group, first, stop in self.groups
            ]
        )


@lru_cache(maxsize=2)  # blocks of a row group are read one after the other
def _group_rows(file: str, group: int, columns: tuple[str, ...]) -> np.ndarray:
    """Return a row group as an array."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as opened:
        table = opened.read_row_group(group, columns=list(columns))
    found = []
    for name in columns:
        column = table.column(name).combine_chunks()
        if hasattr(column.type, "value_type"):  # lists of numbers
            values = column.flatten().to_numpy(zero_copy_only=False)
            if len(values) % max(1, len(column)):
                raise ValueError(f"column {name!r} of {file} holds lists of unequal length.")
            found.append(values.reshape(len(column), -1))
        else:
            found.append(column.to_numpy(zero_copy_only=False)[:, None])
    return np.hstack(found)
