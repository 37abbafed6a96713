"""Triplets: row numbers (query, closer item, farther item), in an array, a frame or a file."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, all_finite, check_rows, check_same_length, n_rows, take
from likewise.exceptions import require_extra

COLUMNS = ("query", "closer", "farther")
WEIGHT = "weight"
_ROWS_PER_BLOCK = 65_536
_ROWS_PER_CHECK = 1024


def check_triplets(
    triplets: Any, queries: Any, items: Any, names: tuple[str, str] = ("queries", "items")
) -> np.ndarray:
    """Return `triplets` as an int64 array of shape (n_triplets, 3) of existing rows.

    Parameters
    ----------
    triplets : array of row numbers (query, closer item, farther item)
    queries, items : rows
    names : names of the arguments `queries` and `items` in error messages

    Examples
    --------
    >>> check_triplets([[0, 1, 2]], queries=[[1.0]], items=[[1.0], [2.0], [3.0]])
    array([[0, 1, 2]])
    """
    columns = "three columns (query, closer item, farther item)"
    array = check_row_numbers(triplets, "triplets", 3, columns, queries, items, names)
    same = array[:, 1] == array[:, 2]
    if same.any():
        first = int(same.argmax())
        raise ValueError(
            f"triplets[{first}] prefers item {array[first, 1]} to itself: closer and farther "
            "must differ."
        )
    return array


def check_row_numbers(
    given: Any,
    name: str,
    n_columns: int,
    described: str,
    queries: Any,
    items: Any,
    names: tuple[str, str] = ("queries", "items"),
) -> np.ndarray:
    """Return existing rows as an int64 array: of queries in its first column, of items beside."""
    array = np.asarray(given)
    if array.ndim != 2 or array.shape[1] != n_columns:
        raise ValueError(f"{name} must have {described}, but has shape {array.shape}.")
    if len(array) == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole row numbers, but {array.dtype} was given.")
    numbers = array.astype(np.int64, order="C")  # kernels compile anew for other arrays
    sizes = n_rows(queries), n_rows(items)
    if numbers.view(np.uint64).max() < min(sizes):  # negative numbers are large without a sign
        return numbers
    for part, size, side in zip((array[:, :1], array[:, 1:]), sizes, names, strict=True):
        outside = np.argwhere((part < 0) | (part >= size))
        if len(outside):
            row, column = outside[0]
            raise ValueError(
                f"{name} points at row {part[row, column]}, but {side} has {size} rows; "
                f"see {name}[{row}]."
            )
    return numbers


def check_weights(
    weights: Any, rows: Any, name: str = "triplets", *, argument: str = "weights"
) -> np.ndarray:
    """Return a finite non-negative weight for each row; ones if `weights` is None.

    Parameters
    ----------
    weights : array of shape (n_rows,) or None
    rows : triplets, or anything else that the weights belong to
    name, argument : str
        Names of the rows and of the weights in errors.
    """
    if weights is None:
        return np.ones(n_rows(rows))
    array = np.asarray(weights)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{argument} must be numbers, but {array.dtype} was given.")
    if array.ndim != 1:
        raise ValueError(
            f"{argument} must be 1-D, one for each row of {name}, but {array.ndim}-D was given."
        )
    check_same_length(rows, name, array, argument)
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(wrong):
        raise ValueError(
            f"{argument} must be finite and not negative, but {argument}[{wrong[0]}] is "
            f"{array[wrong[0]]}."
        )
    return array.astype(np.float64)


def check_sample_weight(sample_weight: Any, y: Any) -> np.ndarray:
    """Return the weights of labeled rows, not all zero; ones if `sample_weight` is None."""
    weights = check_weights(sample_weight, y, "y", argument="sample_weight")
    if not weights.any():
        raise ValueError("sample_weight must be above zero for at least one row, but all are zero.")
    return weights


def weighted_rows(sample_weight: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the numbers of the rows of positive weight, and their weights, of mean 1.

    Only the ratios of the weights matter: they are None if all of them are equal.
    """
    weights = check_weights(sample_weight, y, "y", argument="sample_weight")
    rows = np.flatnonzero(weights)
    if sample_weight is not None and len(rows) < 2:
        raise ValueError(
            f"sample_weight must be above zero for at least two rows, but is for {len(rows)}."
        )
    weights = weights[rows]
    return rows, None if (weights == weights[0]).all() else weights / weights.mean()


class TripletStream:
    """Triplets and their weights, fully checked in advance, in blocks.

    Parameters
    ----------
    triplets : array, frame or path
        An int array of shape (n_triplets, 3); a frame with the columns ``query``, ``closer`` and
        ``farther``, and optionally ``weight``; or a Parquet or CSV file of such a frame, which is
        read in blocks.
    queries, items : rows that the triplets point at
    weights : array of shape (n_triplets,), optional

    Examples
    --------
    >>> rows = [[1.0], [2.0], [3.0]]
    >>> stream = TripletStream([[0, 1, 2], [1, 0, 2]], rows, rows)
    >>> len(stream)
    2
    >>> [block.tolist() for block, weights in stream.blocks(1)]
    [[[0, 1, 2]], [[1, 0, 2]]]
    """

    def __init__(self, triplets: Any, queries: Any, items: Any, weights: Any = None) -> None:
        if isinstance(triplets, str | os.PathLike):
            if weights is not None:
                raise ValueError(
                    f"weights must be None with a file, which has them in its column {WEIGHT!r}."
                )
            self._path: Path | None = Path(triplets)
            self._length = _check_file(self._path, queries, items)
            return
        self._path = None
        triplets, frame_weights = triplets_of(triplets)
        weights = frame_weights if weights is None else weights
        self._triplets = check_triplets(triplets, queries, items)
        self._weights = check_weights(weights, self._triplets)
        self._length = len(self._triplets)

    def __len__(self) -> int:
        return self._length

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all triplets and weights at once."""
        triplets, weights = zip(*self.blocks(_ROWS_PER_BLOCK), strict=True)
        return np.concatenate(triplets), np.concatenate(weights)

    def blocks(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the triplets and weights in order, in blocks of at most `size`."""
        if self._path is None:
            for block in slices(self._length, size):
                yield self._triplets[block], self._weights[block]
            return
        for triplets, weights in read_file(self._path):
            triplets, weights = triplets.astype(np.int64), check_weights(weights, triplets)
            for block in slices(len(triplets), size):
                yield triplets[block], weights[block]


def check_triplet_rows(stream: TripletStream, queries: Rows, items: Rows | None) -> None:
    """Refuse NaN and infinity in the rows of the triplets, or in all rows if these are fewer."""
    sides = [(queries, slice(0, 1), "queries"), (items, slice(1, 3), "items")]
    if items is None:
        sides = [(queries, slice(0, 3), "queries")]
    for rows, columns, name in sides:
        if len(stream) * (columns.stop - columns.start) >= rows.shape[0]:
            check_rows(rows, name)
            continue
        for triplets, _ in stream.blocks(_ROWS_PER_CHECK):
            used = take(rows, np.unique(triplets[:, columns]))
            if not all_finite(used):
                check_rows(rows, name)  # names the row


def triplets_of(triplets: Any) -> tuple[Any, np.ndarray | None]:
    """Return the triplets and weights of a frame; other input unchanged, without weights."""
    if not hasattr(triplets, "columns"):
        return triplets, None
    return _columns_of(triplets, list(triplets.columns), "triplets")


def _check_file(path: Path, queries: Any, items: Any) -> int:
    """Check the whole file before it is used, and return its number of triplets."""
    length = 0
    for triplets, weights in read_file(path):
        if len(triplets) == 0:
            continue
        try:
            check_triplets(triplets, queries, items)
            check_weights(weights, triplets)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{path}, in the rows from {length} on: {error}") from error
        length += len(triplets)
    if length == 0:
        raise ValueError(f"triplets has no rows; {path} is empty.")
    return length


def read_file(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Yield the triplets and weights of a Parquet or CSV file in blocks."""
    arrow = require_extra("pyarrow.dataset", "tables", "reading triplets from a file")
    kind = {".parquet": "parquet", ".csv": "csv"}.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"triplets must be a .parquet or .csv file, but {path} was given.")
    if not path.exists():
        raise FileNotFoundError(f"triplets: there is no file {path}.")
    table = arrow.dataset(path, format=kind)
    columns_read = [name for name in (*COLUMNS, WEIGHT) if name in table.schema.names]
    _check_columns(table.schema.names, str(path))
    for batch in table.to_batches(columns=columns_read, batch_size=_ROWS_PER_BLOCK):
        columns = {name: batch[name].to_numpy(zero_copy_only=False) for name in columns_read}
        yield _columns_of(columns, columns_read, str(path))


def _columns_of(frame: Any, names: list[str], source: str) -> tuple[np.ndarray, np.ndarray | None]:
    _check_columns(names, source)
    columns = [np.asarray(frame[name]) for name in COLUMNS]
    # Stacking signed and unsigned integers would give floats.
    whole = all(column.dtype.kind in "iu" for column in columns)
    triplets = np.column_stack([c.astype(np.int64) if whole else c for c in columns])
    return triplets, np.asarray(frame[WEIGHT]) if WEIGHT in names else None


def _check_columns(names: list[str], source: str) -> None:
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise ValueError(
            f"{source} needs the columns 'query', 'closer' and 'farther', but has no "
            f"{missing[0]!r}; its columns are {', '.join(map(repr, names))}."
        )
