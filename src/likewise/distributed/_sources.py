"""Sources of rows: memory, NPY, NPZ and Parquet files, Dask arrays, or several of them.

A source knows its shape and gives *parts*: small objects from which `load_rows` reads rows on a
worker. Only shapes are read in this process.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from likewise._validation import Rows, check_rows, is_sparse
from likewise.distributed._blocks import RemoteRows, blocks_of
from likewise.distributed._parquet import ParquetRows


class Source(Protocol):
    """Rows that need not be in memory."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def blocks(self) -> list[slice]:
        """Cut the rows where that is cheap; always in the same way."""

    def part(self, rows: slice) -> Any:
        """Return an object from which `load_rows` reads these rows."""


def as_source(rows: Any, name: str) -> Source:
    """Return the source of rows that a user gave.

    Parameters
    ----------
    rows : array, CSR, memory-mapped array, Dask array, path, list of CSR or paths, or Source
        A path is that of an .npy, a .npz (of `scipy.sparse.save_npz`) or a .parquet file, or of a
        folder of Parquet files. It must name the same file on every worker.
    name : argument name for errors
    """
    if isinstance(rows, MemoryRows | RemoteRows):
        return rows  # type: ignore[return-value]
    if isinstance(rows, str | os.PathLike):
        return _source_of_path(Path(rows), name)
    if hasattr(rows, "__dask_graph__"):
        return DaskRows(rows, name)
    if _is_memory_map(rows):
        return NpyRows.of_map(rows)
    if _is_stacked(rows):
        return StackedRows([as_source(piece, name) for piece in rows], name)
    return MemoryRows(check_rows(rows, name))


def load_rows(part: Any, name: str = "rows", *, finite: bool = True) -> Rows:
    """Return the checked rows of a part, on the worker that needs them."""
    return check_rows(load(part), name, finite=finite)


def load(part: Any) -> Any:
    """Return the content of a part, unchecked."""
    if isinstance(part, list):
        return stack_rows([load(piece) for piece in part])
    if hasattr(part, "__dask_graph__"):
        return part.compute(scheduler="synchronous")
    return part.load() if hasattr(part, "load") else part


def stack_rows(parts: list[Rows]) -> Rows:
    """Stack rows vertically: CSR where any of them is sparse."""
    if len(parts) == 1:
        return parts[0]
    if any(is_sparse(part) for part in parts):
        from scipy.sparse import csr_array, vstack

        return vstack([csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """An array or CSR in memory."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.shape

    def blocks(self) -> list[slice]:
        """Cut by size."""
        values = self.rows.data if is_sparse(self.rows) else self.rows
        return blocks_of(self.shape[0], values.nbytes // max(1, self.shape[0]))

    def part(self, rows: slice | np.ndarray) -> Rows:
        """Return the rows themselves."""
        return self.rows[rows]


@dataclass(frozen=True)
class NpyRows(RemoteRows):
    """An NPY file, of which a worker maps the rows it needs into memory."""

    path: str
    dtype: str
    shape: tuple[int, int]
    offset: int

    @classmethod
    def of_map(cls, rows: np.memmap) -> "NpyRows":
        """Return the file behind a memory-mapped array, or behind some consecutive rows of one."""
        root = rows
        while isinstance(root.base, np.memmap):
            root = root.base
        offset = root.offset + rows.ctypes.data - root.ctypes.data
        return cls(os.path.abspath(str(rows.filename)), rows.dtype.str, rows.shape, offset)

    def blocks(self) -> list[slice]:
        """Cut by size."""
        return blocks_of(self.shape[0], self.shape[1] * np.dtype(self.dtype).itemsize)

    def part(self, rows: slice | np.ndarray) -> "NpyRows | NpySelection":
        """Return some rows of the file."""
        if isinstance(rows, np.ndarray):
            return NpySelection(self, rows)
        width = self.shape[1] * np.dtype(self.dtype).itemsize
        shape = rows.stop - rows.start, self.shape[1]
        return NpyRows(self.path, self.dtype, shape, self.offset + rows.start * width)

    def load(self) -> np.ndarray:
        """Map the rows into memory, so that nothing is read before it is used.

        Copy-on-write, because kernels are compiled anew for arrays that cannot be written to.
        """
        return np.asarray(np.memmap(self.path, self.dtype, "c", self.offset, self.shape))


@dataclass(frozen=True, eq=False)
class NpySelection:
    """Rows of an NPY file by their numbers: a part, not a source."""

    file: NpyRows
    index: np.ndarray

    def load(self) -> np.ndarray:
        """Read the rows."""
        return self.file.load()[self.index]


@dataclass(frozen=True)
class NpzRows(RemoteRows):
    """CSR in a file of `scipy.sparse.save_npz`."""

    path: str
    shape: tuple[int, int]
    rows: tuple[int, int]

    def blocks(self) -> list[slice]:
        """One block: such a file is read whole."""
        return [slice(0, self.shape[0])]

    def part(self, rows: slice) -> "NpzRows":
        """Return some rows of the file."""
        first = self.rows[0]
        shape = rows.stop - rows.start, self.shape[1]
        return NpzRows(self.path, shape, (first + rows.start, first + rows.stop))

    def load(self) -> Rows:
        """Read the file and return the rows."""
        from scipy.sparse import load_npz

        return load_npz(self.path).tocsr()[slice(*self.rows)]


class DaskRows(RemoteRows):
    """A Dask array, of which each block is computed where it is needed."""

    def __init__(self, array: Any, name: str) -> None:
        if not hasattr(array, "chunks"):
            raise TypeError(
                f"{name} is a Dask {type(array).__name__}; an array is needed, such as "
                f"{name}.to_dask_array(lengths=True)."
            )
        if array.ndim != 2:
            raise ValueError(f"{name} must be 2-D, but {array.ndim}-D was given.")
        if any(np.isnan(size) for size in array.chunks[0]):
            raise ValueError(f"{name} has blocks of unknown size: {name}.compute_chunk_sizes().")
        self.array = array.rechunk({1: -1})
        self.shape = array.shape

    def blocks(self) -> list[slice]:
        """Cut into the chunks of the array."""
        stops = np.cumsum(self.array.chunks[0]).tolist()
        return [slice(a, b) for a, b in zip([0, *stops[:-1]], stops, strict=True) if b > a]

    def part(self, rows: slice) -> Any:
        """Return the rows as one lazy value."""
        array = self.array[rows]
        chunks = array.to_delayed().ravel().tolist()
        return chunks[0] if len(chunks) == 1 else list(chunks)


class StackedRows(RemoteRows):
    """Several sources, stacked vertically, such as blocks of CSR."""

    def __init__(self, sources: list[Source], name: str) -> None:
        widths = {source.shape[1] for source in sources}
        if len(widths) > 1:
            raise ValueError(
                f"{name} has parts of {' and '.join(map(str, sorted(widths)))} columns, but all "
                "must have the same number."
            )
        self._sources = sources
        self._starts = np.cumsum([0, *(source.shape[0] for source in sources)]).tolist()
        self.shape = self._starts[-1], widths.pop()

    def blocks(self) -> list[slice]:
        """Cut between the sources, and each source as it is cut by itself."""
        return [
            slice(start + block.start, start + block.stop)
            for start, source in zip(self._starts, self._sources, strict=False)
            for block in source.blocks()
        ]

    def part(self, rows: slice) -> Any:
        """Return the parts of the sources that hold the rows."""
        parts = [
            source.part(slice(max(rows.start - start, 0), min(rows.stop - start, source.shape[0])))
            for start, source in zip(self._starts, self._sources, strict=False)
            if rows.start < start + source.shape[0] and rows.stop > start
        ]
        return parts[0] if len(parts) == 1 else parts


def _source_of_path(path: Path, name: str) -> Source:
    readers: dict[str, Callable[[Path, str], Source]] = {
        ".npy": _source_of_npy,
        ".npz": _source_of_npz,
        ".parquet": ParquetRows.of_path,
    }
    if not path.exists():
        raise FileNotFoundError(f"{name}: there is no file or folder {path}.")
    if path.is_dir():
        return ParquetRows.of_path(path, name)
    if path.suffix.lower() not in readers:
        raise ValueError(
            f"{name} must be an .npy, .npz or .parquet file, or a folder of Parquet files, but "
            f"{path} was given."
        )
    return readers[path.suffix.lower()](path, name)


def _source_of_npy(path: Path, name: str) -> Source:
    rows = np.load(path, mmap_mode="r")
    if rows.ndim != 2:
        raise ValueError(f"{name} must be 2-D, but {path} holds an array of {rows.ndim}-D.")
    return NpyRows.of_map(rows) if rows.flags.c_contiguous else MemoryRows(check_rows(rows, name))


def _source_of_npz(path: Path, name: str) -> Source:
    with np.load(path) as file:
        if "shape" not in file or "format" not in file:
            raise ValueError(f"{name}: {path} was not written by scipy.sparse.save_npz.")
        shape = tuple(int(n) for n in file["shape"])
    return NpzRows(os.path.abspath(path), (shape[0], shape[1]), (0, shape[0]))


def is_remote(rows: Any) -> bool:
    """Tell whether rows are not simply an array, CSR or frame in memory."""
    return (
        isinstance(rows, RemoteRows | str | os.PathLike)
        or hasattr(rows, "__dask_graph__")
        or _is_memory_map(rows)
        or _is_stacked(rows)
    )


def _is_memory_map(rows: Any) -> bool:
    return (
        isinstance(rows, np.memmap)
        and rows.filename is not None
        and rows.ndim == 2
        and rows.dtype.kind in "fiub"
        and bool(rows.flags.c_contiguous)
    )


def _is_stacked(rows: Any) -> bool:
    return isinstance(rows, list | tuple) and any(
        is_sparse(piece) or isinstance(piece, str | os.PathLike | np.memmap) for piece in rows
    )
