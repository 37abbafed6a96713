"""Rows of a block of triplets, in the form that the online kernels take."""

import math
from typing import Any, TypeAlias

import numpy as np

from likewise import kernels
from likewise._validation import Rows, is_sparse

Lists: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, columns, values

_ENTRIES_PER_BLOCK = 65_536  # of dense rows, so that they stay in the cache
_MIN_ROWS, _MAX_ROWS = 64, 1024
_CACHE_LINE = 64  # bytes, and the width of the largest vector registers


class TripletBatches:
    """Gathers the queries and items of triplets, from dense or CSR rows of any precision.

    Parameters
    ----------
    queries, items : array or CSR
    unit : bool
        Whether to scale rows to unit length.
    dtype : float32 or float64, the precision of the kernels
    """

    def __init__(self, queries: Rows, items: Rows, *, unit: bool, dtype: Any) -> None:
        self.queries = queries
        self.items = items
        self.unit = unit
        self.dtype = np.dtype(dtype)
        self._scratch: dict[str, np.ndarray] = {}
        self._double: TripletBatches | None = None

    def in_precision(self, dtype: Any) -> "TripletBatches":
        """Return these batches, or the same in double precision."""
        if self.dtype == dtype:
            return self
        if self._double is None:
            self._double = TripletBatches(
                self.queries, self.items, unit=self.unit, dtype=np.float64
            )
        return self._double

    @property
    def block_size(self) -> int:
        """Number of triplets in a block."""
        dense = [part.shape[1] for part in (self.queries, self.items) if not is_sparse(part)]
        return max(_MIN_ROWS, min(_MAX_ROWS, _ENTRIES_PER_BLOCK // max(dense, default=1)))

    def query_lists(self, triplets: np.ndarray) -> Lists:
        """Return the nonzero entries of the queries."""
        rows, index = self.queries, triplets[:, 0]
        if is_sparse(rows):
            lists = self._lists("query", _entries(rows, index), len(index))
            kernels.list_csr_rows(rows.data, rows.indices, rows.indptr, index, self.unit, *lists)
        else:
            lists = self._lists("query", len(index) * rows.shape[1], len(index))
            kernels.list_rows(rows, index, self.unit, *lists)
        return lists

    def item_lists(self, triplets: np.ndarray) -> Lists:
        """Return the nonzero entries of closer minus farther items."""
        rows, closer, farther = self.items, triplets[:, 1], triplets[:, 2]
        if not is_sparse(rows):
            differences = self.item_rows(triplets)
            lists = self._lists("item", differences.size, len(closer))
            kernels.list_rows(differences, np.arange(len(closer)), False, *lists)
            return lists
        lists = self._lists("item", _entries(rows, closer) + _entries(rows, farther), len(closer))
        places = self._zeros("item places", (rows.shape[1],), np.uint32)
        kernels.list_csr_differences(
            rows.data, rows.indices, rows.indptr, closer, farther, self.unit, places, *lists
        )
        return lists

    def query_rows(self, triplets: np.ndarray) -> np.ndarray:
        """Return the queries as a dense block."""
        out = self._zeros("query rows", (len(triplets), self.queries.shape[1]))
        if is_sparse(self.queries):
            kernels.scatter_lists(*self.query_lists(triplets), out)
        else:
            kernels.add_rows(self.queries, triplets[:, 0], 1, self.unit, out)
        return out

    def item_rows(self, triplets: np.ndarray) -> np.ndarray:
        """Return the closer minus the farther items as a dense block."""
        out = self._zeros("item rows", (len(triplets), self.items.shape[1]))
        if is_sparse(self.items):
            kernels.scatter_lists(*self.item_lists(triplets), out)
        else:
            kernels.add_rows(self.items, triplets[:, 1], 1, self.unit, out)
            kernels.add_rows(self.items, triplets[:, 2], -1, self.unit, out)
        return out

    def scratch(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> np.ndarray:
        """Return a named scratch array, reused between blocks and not initialized."""
        size = math.prod(shape)
        if name not in self._scratch or self._scratch[name].size < size:
            self._scratch[name] = aligned_empty((size,), dtype or self.dtype)
        return self._scratch[name][:size].reshape(shape)

    def _zeros(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> np.ndarray:
        out = self.scratch(name, shape, dtype)
        out.fill(0)
        return out

    def _lists(self, side: str, n_entries: int, n_lists: int) -> Lists:
        return (
            self.scratch(f"{side} starts", (n_lists + 1,), np.int64),
            self.scratch(f"{side} columns", (n_entries,), np.uint32),
            self.scratch(f"{side} values", (n_entries,)),
        )


def aligned_empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array that begins at a cache line.

    NumPy's arrays may begin anywhere, so that each access of a full vector register is to two
    cache lines.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + _CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


def is_aligned(array: np.ndarray) -> bool:
    """Return whether an array begins at a cache line."""
    return bool(array.ctypes.data % _CACHE_LINE == 0)


def _entries(rows: Any, index: np.ndarray) -> int:
    return int((rows.indptr[index + 1] - rows.indptr[index]).sum())
