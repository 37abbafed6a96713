"""Rows that occur more than once in a table."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from likewise._validation import is_sparse
from likewise.tables._frame import Frame, as_frame


def row_groups(rows: Any, ignore: Iterable[str] = ()) -> np.ndarray:
    """Return a number for each row, the same for rows that are equal in every column.

    Parameters
    ----------
    rows : frame, array or CSR
    ignore : names of columns that may differ, such as the ids of rows

    Returns
    -------
    groups : ndarray of shape (n_rows,)
        From 0, in order of the first row of each group.

    Examples
    --------
    >>> row_groups(np.array([[1.0, 2.0], [3.0, np.nan], [1.0, 2.0], [3.0, np.nan]]))
    array([0, 1, 0, 1])
    """
    if is_sparse(rows):
        return _sparse_groups(rows)
    return frame_groups(as_frame(rows), ignore)


def frame_groups(frame: Frame, ignore: Iterable[str] = ()) -> np.ndarray:
    """Return the groups of equal rows of a frame, as `row_groups` does."""
    ignored = set(ignore)
    names = [name for name in frame.names if name not in ignored]
    numeric = [name for name in names if frame.kind(name) == "numbers"]
    table = np.empty((len(frame), len(names)))
    table[:, : len(numeric)] = frame.numbers(numeric) + 0.0  # -0.0 equals 0.0
    others = (name for name in names if name not in numeric)
    for place, name in enumerate(others, start=len(numeric)):
        table[:, place] = _codes(frame, name)
    table[np.isnan(table)] = np.nan  # one bit pattern
    return _numbered(row.tobytes() for row in table)


def _sparse_groups(rows: Any) -> np.ndarray:
    rows = rows.tocsr().copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    parts = [slice(*ends) for ends in zip(rows.indptr, rows.indptr[1:], strict=False)]
    return _numbered((rows.indices[part].tobytes(), rows.data[part].tobytes()) for part in parts)


def _codes(frame: Frame, name: str) -> np.ndarray:
    """Return a number for each value of a column."""
    if frame.kind(name) == "vectors":
        return _numbered(
            None if value is None else np.asarray(value, dtype=np.float64).tobytes()
            for value in frame.values(name)
        )
    return _numbered(map(repr, frame.values(name)))


def _numbered(keys: Iterable[Any]) -> np.ndarray:
    """Return the numbers of equal keys, in order of first occurrence."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
