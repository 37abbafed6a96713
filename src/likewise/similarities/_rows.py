"""Arithmetic on dense or CSR rows, with maps that are numbers, diagonals or matrices."""

from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, is_sparse

_PAIRS_AT_A_TIME = 4096


def frozen_map(values: Any, name: str) -> np.ndarray:
    """Return a read-only array of 0, 1 or 2 dimensions.

    An array that is already read-only is not copied, so that learners can hand over large ones.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of unequal length
        raise ValueError(f"{name} must be a matrix, a diagonal or a number: {error}") from error
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers, but {array.dtype} was given.")
    if array.ndim > 2 or array.size == 0:
        raise ValueError(
            f"{name} must be a matrix, a diagonal (1-D) or a number, "
            f"but an array of shape {array.shape} was given."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; it must be finite.")
    if array.flags.writeable or not array.flags.owndata:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def frozen_rows(rows: Rows) -> Rows:
    """Return a read-only copy of an array or of CSR rows."""
    copied = rows.copy()
    parts = (copied.data, copied.indices, copied.indptr) if is_sparse(copied) else (copied,)
    for part in parts:
        part.flags.writeable = False
    return copied


def common_dtype(*rows: Rows) -> np.dtype:
    """Return float32 if all rows are float32, otherwise float64."""
    return np.result_type(*(part.dtype for part in rows))


def map_rows(rows: Rows, linear: np.ndarray) -> Rows:
    """Return ``rows @ linear``; with a number or a diagonal, CSR rows stay sparse."""
    if linear.ndim == 2:
        return rows @ linear
    if linear.ndim == 0 and linear == 1:
        return rows
    return rows.multiply(linear).tocsr() if is_sparse(rows) else rows * linear


def products(left: Rows, right: Rows) -> np.ndarray:
    """Return the inner product of every row of `left` with every row of `right`, dense."""
    if is_sparse(left):
        product = left @ right.T
        return product.toarray() if is_sparse(product) else product
    return np.ascontiguousarray((right @ left.T).T) if is_sparse(right) else left @ right.T


def paired_products(left: Rows, right: Rows) -> np.ndarray:
    """Return the inner product of row i of `left` with row i of `right`."""
    if is_sparse(left):
        return np.asarray(left.multiply(right).sum(axis=1)).ravel()
    if is_sparse(right):
        return np.asarray(right.multiply(left).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)


def lengths(rows: Rows) -> np.ndarray:
    """Return the Euclidean length of every row."""
    return np.sqrt(paired_products(rows, rows))


def sums(rows: Rows) -> np.ndarray:
    """Return the sum of every row: the 1-norm of non-negative rows."""
    return np.asarray(rows.sum(axis=1)).ravel()


def inverse_lengths(rows: Rows) -> np.ndarray:
    """Return 1/length of every row as a column; 0 for a zero row."""
    size = lengths(rows)[:, None]
    return ratio(np.ones_like(size), size)


def to_unit_length(rows: Rows) -> Rows:
    """Return the rows divided by their lengths; zero rows stay zero."""
    inverse = inverse_lengths(rows)
    return rows.multiply(inverse).tocsr() if is_sparse(rows) else rows * inverse


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return numerator / denominator, and 0 where the denominator is not positive."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def squared_distances(left: Rows, right: Rows) -> np.ndarray:
    """Return |l − r|² of every pair of rows, accurate even if the rows nearly coincide.

    |l|² + |r|² − 2 l·r needs only one matrix product, but suffers from cancellation if it is small
    relative to its terms. These entries are recomputed from the difference of the rows.
    """
    square_left, square_right = paired_products(left, left), paired_products(right, right)
    squares = products(left, right)
    squares *= -2
    squares += square_left[:, None]
    squares += square_right
    inaccurate = np.sqrt(np.finfo(squares.dtype).eps) * (square_left[:, None] + square_right)
    at_left, at_right = np.nonzero(squares <= inaccurate)
    for part in slices(len(at_left), _PAIRS_AT_A_TIME):
        i, j = at_left[part], at_right[part]
        gap = to_dense(left[i]) - to_dense(right[j])
        squares[i, j] = paired_products(gap, gap)
    return squares


def to_dense(rows: Rows) -> np.ndarray:
    """Return the rows as an array."""
    return rows.toarray() if is_sparse(rows) else rows


def join_columns(left: Rows, right: np.ndarray) -> Rows:
    """Return the columns of both, side by side; CSR if `left` is sparse."""
    if is_sparse(left):
        from scipy.sparse import csr_array, hstack

        return hstack([left, csr_array(right)], format="csr")
    return np.hstack([left, right])


def described(linear: np.ndarray) -> str:
    """Return a short description of a map, for `repr`."""
    if linear.ndim == 0:
        return str(linear.item())
    return f"{'×'.join(map(str, linear.shape))} {linear.dtype}"


def one_row_each(q: Any, p: Any) -> tuple[Any, Any]:
    """Return two single rows as 2-D arrays."""
    return _as_table(q, "q"), _as_table(p, "p")


def column_names(row: Any) -> list[str] | None:
    """Return the names of the columns of a frame, or of the entries of a named row, or None."""
    for attribute in ("column_names", "columns", "index"):  # pyarrow; pandas, polars; a series
        names = getattr(row, attribute, None)
        if names is not None and not callable(names):
            return list(names) if all(isinstance(name, str) for name in names) else None
    return None


def _as_table(row: Any, name: str) -> Any:
    if is_sparse(row):
        table = row.reshape(1, -1) if len(row.shape) == 1 else row
    else:
        table = np.atleast_2d(np.asarray(row))
    if table.shape[0] != 1:
        raise ValueError(f"{name} must be one row, but {table.shape[0]} rows were given.")
    return table
