"""Parquet files as rows: lists of row groups, of which workers read some."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from likewise.distributed._blocks import RemoteRows, blocks_of
from likewise.exceptions import require_extra


def read_parquet(path: Any, columns: Sequence[str] | None = None) -> "ParquetRows":
    """Return the rows of a Parquet file or of a folder of them, without reading them.

    Parameters
    ----------
    path : str or path-like
        It must name the same file or folder on every worker.
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
class ParquetRows(RemoteRows):
    """Some columns of some rows of the row groups of Parquet files."""

    groups: tuple[tuple[str, int, int, int], ...]  # file, row group, first row in it and stop
    columns: tuple[str, ...]
    shape: tuple[int, int]

    @classmethod
    def of_path(cls, path: Path, name: str, columns: Sequence[str] | None = None) -> "ParquetRows":
        """Read only the lists of row groups."""
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
        """Return one column, or None if there is none of that name."""
        parquet = require_extra("pyarrow.parquet", "dask", "reading Parquet")
        file = next(iter(sorted(path.rglob("*.parquet"))), path) if path.is_dir() else path
        exists = column in parquet.read_schema(file).names
        return cls.of_path(path, column, (column,)) if exists else None

    def blocks(self) -> list[slice]:
        """Cut between row groups, and large row groups by size."""
        blocks, begin = [], 0
        for *_, first, stop in self.groups:
            cuts = blocks_of(stop - first, self.shape[1] * 8)
            blocks += [slice(begin + cut.start, begin + cut.stop) for cut in cuts]
            begin += stop - first
        return blocks

    def part(self, rows: slice) -> "ParquetRows":
        """Return the parts of row groups that hold the rows."""
        kept, begin = [], 0
        for file, group, first, stop in self.groups:
            end = begin + stop - first
            low, high = max(rows.start, begin), min(rows.stop, end)
            if low < high:
                kept.append((file, group, first + low - begin, first + high - begin))
            begin = end
        return ParquetRows(tuple(kept), self.columns, (rows.stop - rows.start, self.shape[1]))

    def load(self) -> np.ndarray:
        """Read the row groups and return the rows."""
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
    arrays = []
    for name in columns:
        column = table.column(name).combine_chunks()
        if hasattr(column.type, "value_type"):  # lists of numbers
            values = column.flatten().to_numpy(zero_copy_only=False)
            if len(values) % max(1, len(column)):
                raise ValueError(f"column {name!r} of {file} holds lists of unequal length.")
            arrays.append(values.reshape(len(column), -1))
        else:
            arrays.append(column.to_numpy(zero_copy_only=False)[:, None])
    return np.hstack(arrays)
