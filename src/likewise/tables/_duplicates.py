"""Rows that occur more than once, in a table or in two."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
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
        return _numbered(_sparse_keys(rows))
    return frame_groups(as_frame(rows), ignore)


def row_digests(X: Any) -> np.ndarray:
    """Return a digest of each row of numbers, by which equal rows of two tables are found.

    Rows that differ have different digests, but for a chance of 2⁻⁶⁴.

    Parameters
    ----------
    X : array or CSR of shape (n_rows, n_features)
        Such as `Columns.transform` returns it.

    Returns
    -------
    digests : uint64 array of shape (n_rows,)

    Examples
    --------
    >>> known = row_digests(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> np.isin(row_digests(np.array([[3.0, 4.0], [5.0, 6.0]])), known)
    array([ True, False])
    """
    if is_sparse(X):
        keys: Iterable[bytes] = (indices + data for indices, data in _sparse_keys(X))
    else:
        keys = (row.tobytes() for row in np.asarray(X, dtype=np.float64) + 0.0)  # -0.0 equals 0.0
    digests = b"".join(blake2b(key, digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


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


def _sparse_keys(rows: Any) -> Iterator[tuple[bytes, bytes]]:
    """Yield the columns and the numbers of each row, as bytes."""
    rows = rows.tocsr().copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    indices, data = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    for start, end in zip(rows.indptr, rows.indptr[1:], strict=False):
        yield indices[start:end].tobytes(), data[start:end].tobytes()


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
