"""Gather the rows of triplets, optionally scaled to unit length.

The queries or items of a block of triplets are lists of nonzero (column, value) entries, or a dense
block with a row for each triplet.
"""

import numpy as np

from likewise.kernels._jit import rounded_helper, rounded_kernel


@rounded_helper
def _scale(values, unit):
    """Return 1/length of a row, 0 for a zero row; 1 if rows are not normalized."""
    if not unit:
        return 1.0
    total = 0.0
    for j in range(values.shape[0]):
        total += np.float64(values[j]) * np.float64(values[j])
    return 1 / np.sqrt(total) if total > 0 else 0.0


@rounded_kernel
def add_rows(rows, index, sign, unit, out):
    """Add `sign` times row ``index[t]`` to row t of `out`.

    Parameters
    ----------
    rows : (n_rows, n_features)
    index : (n,) int64
    out : (n, n_features)
    """
    for t in range(index.shape[0]):
        row = rows[index[t]]
        scale = sign * _scale(row, unit)
        for j in range(row.shape[0]):
            out[t, j] += out.dtype.type(scale * row[j])


@rounded_kernel
def list_rows(rows, index, unit, starts, columns, values):
    """List the nonzero entries of dense rows.

    Parameters
    ----------
    rows : (n_rows, n_features)
    index : (n,) int64
    starts : (n + 1,) int64, written: first position of each row's entries
    columns, values : uint32 and float arrays of sufficient length, written
    """
    at = 0
    starts[0] = 0
    for t in range(index.shape[0]):
        row = rows[index[t]]
        scale = _scale(row, unit)
        n_zeros = 0
        for j in range(row.shape[0]):
            n_zeros += row[j] == 0
        if n_zeros == 0:
            row_columns = columns[at : at + row.shape[0]]
            row_values = values[at : at + row.shape[0]]
            for j in range(row.shape[0]):
                row_columns[j] = j
                row_values[j] = scale * row[j]
            at += row.shape[0]
        else:
            for j in range(row.shape[0]):
                if row[j] != 0:
                    columns[at] = j
                    values[at] = scale * row[j]
                    at += 1
        starts[t + 1] = at


@rounded_kernel
def list_csr_rows(data, indices, indptr, index, unit, starts, columns, values):
    """List the nonzero entries of CSR rows; like `list_rows`."""
    at = 0
    starts[0] = 0
    for t in range(index.shape[0]):
        begin, end = indptr[index[t]], indptr[index[t] + 1]
        scale = _scale(data[begin:end], unit)
        for e in range(begin, end):
            if data[e] != 0:
                columns[at] = indices[e]
                values[at] = scale * data[e]
                at += 1
        starts[t + 1] = at


@rounded_kernel
def list_csr_differences(
    data, indices, indptr, closer, farther, unit, places, starts, columns, values
):
    """List the entries of row ``closer[t]`` minus row ``farther[t]``; like `list_rows`.

    Columns of the closer row come first. To merge rows in the order of their columns takes twice
    the time, because which of them has the next column cannot be predicted.

    Parameters
    ----------
    data, indices, indptr : CSR rows, no column twice in a row
    closer, farther : (n,) int64
    places : (n_features,) uint32, a scratch array of zeros, which it is again afterwards
    starts, columns, values : as in `list_rows`
    """
    kind = values.dtype.type
    at = 0
    starts[0] = 0
    for t in range(closer.shape[0]):
        first, n_zeros = at, 0
        begin, end = indptr[closer[t]], indptr[closer[t] + 1]
        scale = _scale(data[begin:end], unit)
        for e in range(begin, end):
            columns[at] = indices[e]
            values[at] = scale * data[e]
            n_zeros += values[at] == 0
            at += 1
            places[indices[e]] = at - first
        f_begin, f_end = indptr[farther[t]], indptr[farther[t] + 1]
        scale = _scale(data[f_begin:f_end], unit)
        for f in range(f_begin, f_end):
            place = places[indices[f]]
            value = kind(scale * data[f])  # rounded, so that equal entries leave zero
            if place > 0:
                values[first + place - 1] -= value
                n_zeros += values[first + place - 1] == 0
            else:
                columns[at] = indices[f]
                values[at] = -value
                n_zeros += value == 0
                at += 1
        for e in range(begin, end):
            places[indices[e]] = 0
        if n_zeros > 0:
            at = _without_zeros(columns, values, first, at)
        starts[t + 1] = at


@rounded_helper
def _without_zeros(columns, values, first, end):
    """Move the entries that are not zero together; return their end."""
    at = first
    for k in range(first, end):
        columns[at] = columns[k]
        values[at] = values[k]
        at += values[k] != 0
    return at


@rounded_kernel
def scatter_lists(starts, columns, values, out):
    """Write listed entries into the rows of `out`, which holds zeros."""
    for t in range(starts.shape[0] - 1):
        for e in range(starts[t], starts[t + 1]):
            out[t, columns[e]] = values[e]
