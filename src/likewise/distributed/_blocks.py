"""Rows that are not in memory, and how rows are cut into blocks."""

from typing import Any

import numpy as np

from likewise._threads import slices

_ROWS_IN_BLOCK = 16_384
_BYTES_IN_BLOCK = 32_000_000


class RemoteRows:
    """Base of sources whose rows are not in memory; outside `run_on` they are refused."""

    shape: tuple[int, int]

    def __array__(self, *args: Any, **options: Any) -> np.ndarray:
        raise TypeError("rows that are not in memory are read by workers, inside run_on")

    def __len__(self) -> int:
        return self.shape[0]


def blocks_of(n_rows: int, bytes_per_row: int) -> list[slice]:
    """Cut rows into blocks of limited size."""
    limit = min(_ROWS_IN_BLOCK, max(1, _BYTES_IN_BLOCK // max(1, bytes_per_row)))
    return even_blocks(n_rows, limit)


def even_blocks(n_rows: int, max_rows: int) -> list[slice]:
    """Cut rows into blocks of about the same size, at most `max_rows`."""
    n_blocks = max(1, -(-n_rows // max_rows))
    return list(slices(n_rows, max(1, -(-n_rows // n_blocks))))
