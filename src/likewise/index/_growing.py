"""Rows that are appended while other threads read them."""

from typing import Any

import numpy as np

from likewise._validation import Rows, is_sparse, n_rows


class GrowingRows:
    """Dense rows, CSR rows or objects, appended in blocks.

    Arrays that `all` returned do not change: rows are only written after their end.
    """

    def __init__(self, rows: Any = None) -> None:
        self._rows: Any = rows
        self._count = 0 if rows is None else n_rows(rows)

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Any) -> None:
        """Append rows."""
        if self._rows is None:
            self._rows = list(rows) if isinstance(rows, list | tuple) else rows.copy()
        elif isinstance(self._rows, list):
            self._rows.extend(rows)  # `all` returns copies of lists
        elif is_sparse(self._rows):
            from scipy.sparse import csr_array, vstack

            self._rows = vstack([self._rows, csr_array(rows)], format="csr")
        else:
            self._append_dense(rows)
        self._count += n_rows(rows)

    def _append_dense(self, rows: np.ndarray) -> None:
        needed = self._count + len(rows)
        dtype = np.result_type(self._rows, rows)
        if needed > len(self._rows) or dtype != self._rows.dtype or not self._rows.flags.writeable:
            # Growing by half copies each row a few times, not n times.
            larger = np.empty((max(needed, needed * 3 // 2), *rows.shape[1:]), dtype)
            larger[: self._count] = self._rows[: self._count]
            self._rows = larger
        self._rows[self._count : needed] = rows

    def cut(self, count: int) -> None:
        """Drop the rows from `count` on, which no reader has."""
        if isinstance(self._rows, list) or is_sparse(self._rows):
            self._rows = self._rows[:count]
        self._count = min(count, self._count)

    def all(self) -> Any:
        """Return all rows, without copying their values."""
        if self._rows is None or is_sparse(self._rows):
            return self._rows
        return self._rows[: self._count]

    def take(self, numbers: np.ndarray) -> Rows:
        """Return the rows with these numbers."""
        if isinstance(self._rows, list):
            return [self._rows[number] for number in numbers]
        return self._rows[numbers]
