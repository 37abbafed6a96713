"""The rows that a block of triplets points at, in the form that the online kernels read."""

from typing import Any, TypeAlias

import numpy as np

from likewise import kernels
from likewise._validation import Rows, is_sparse

Lists: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # starts, columns, values

_ENTRIES_IN_BLOCK = 65_536  # of dense rows: they stay in cache until they are used
_FEWEST_ROWS, _MOST_ROWS = 64, 1024


class TripletBatches:
    """Queries and items, of which triplets take rows: dense or CSR, each in its own precision.

    Parameters
    ----------
    queries, items : array or CSR
    unit : bool
        Scale rows to unit length on the way.
    dtype : float32 or float64, what the kernels compute in
    """

    def __init__(self, queries: Rows, items: Rows, *, unit: bool, dtype: Any) -> None:
        self.queries = queries
        self.items = items
        self.unit = unit
        self.dtype = np.dtype(dtype)
        self._scratch: dict[str, np.ndarray] = {}

    @property
    def block_size(self) -> int:
        """Triplets in a block."""
        dense = [part.shape[1] for part in (self.queries, self.items) if not is_sparse(part)]
        return int(np.clip(_ENTRIES_IN_BLOCK // max(dense, default=1), _FEWEST_ROWS, _MOST_ROWS))

    def query_lists(self, triplets: np.ndarray) -> Lists:
        """Return the queries' entries that are not zero."""
        rows, index = self.queries, triplets[:, 0]
        if is_sparse(rows):
            lists = self._lists("query", _entries(rows, index), len(index))
            kernels.list_csr_rows(rows.data, rows.indices, rows.indptr, index, self.unit, *lists)
        else:
            lists = self._lists("query", len(index) * rows.shape[1], len(index))
            kernels.list_rows(rows, index, self.unit, *lists)
        return lists

    def item_lists(self, triplets: np.ndarray) -> Lists:
        """Return the entries of the closer item less the farther one, from CSR rows."""
        rows, closer, farther = self.items, triplets[:, 1], triplets[:, 2]
        lists = self._lists("item", _entries(rows, closer) + _entries(rows, farther), len(closer))
        kernels.list_csr_differences(
            rows.data, rows.indices, rows.indptr, closer, farther, self.unit, *lists
        )
        return lists

    def query_rows(self, triplets: np.ndarray) -> np.ndarray:
        """Return the queries as a dense block."""
        out = self._zeros("query rows", (len(triplets), self.queries.shape[1]))
        if is_sparse(self.queries):
            kernels.spread_lists(*self.query_lists(triplets), out)
        else:
            kernels.add_rows(self.queries, triplets[:, 0], 1, self.unit, out)
        return out

    def item_rows(self, triplets: np.ndarray) -> np.ndarray:
        """Return the closer items less the farther ones as a dense block."""
        out = self._zeros("item rows", (len(triplets), self.items.shape[1]))
        if is_sparse(self.items):
            kernels.spread_lists(*self.item_lists(triplets), out)
        else:
            kernels.add_rows(self.items, triplets[:, 1], 1, self.unit, out)
            kernels.add_rows(self.items, triplets[:, 2], -1, self.unit, out)
        return out

    def scratch_for_pairs(self, name: str, queries: Lists, items: Lists) -> np.ndarray:
        """Return room for what W holds where the entries of a query and of an item meet."""
        most = int(np.diff(queries[0]).max() * np.diff(items[0]).max())
        return self.scratch(name, (most,))

    def scratch(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> np.ndarray:
        """Return an array that is made once and lent to every block; it may hold anything."""
        size = int(np.prod(shape))
        if name not in self._scratch or self._scratch[name].size < size:
            self._scratch[name] = np.empty(size, dtype or self.dtype)
        return self._scratch[name][:size].reshape(shape)

    def _zeros(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        out = self.scratch(name, shape)
        out.fill(0)
        return out

    def _lists(self, side: str, n_entries: int, n_lists: int) -> Lists:
        return (
            self.scratch(f"{side} starts", (n_lists + 1,), np.int64),
            self.scratch(f"{side} columns", (n_entries,), np.int64),
            self.scratch(f"{side} values", (n_entries,)),
        )


def _entries(rows: Any, index: np.ndarray) -> int:
    return int((rows.indptr[index + 1] - rows.indptr[index]).sum())
