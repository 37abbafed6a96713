"""Balanced Winnow: multiplicative updates, with weights kept as logarithms.

Both weight vectors start at 1 and are multiplied by inverse factors, so that w⁻ = 1/w⁺ always and
one logarithm t describes both: w⁺ − w⁻ = 2 sinh t, w⁺ + w⁻ = 2 cosh t. Along with the logarithms go
both of these divided by e^unit, where no exponential overflows. The last weight belongs to a
feature that is `bias` in every row.

A row is a slice of a dense table, or values and columns of a CSR table; with `columns` empty it is
dense.
"""

import numpy as np

from likewise.kernels._jit import kernel

# Sums of weights that differ by less than this share are equal: weights take few values at first
# and cancel exactly, but for rounding.
_ROUNDING = 1e-12
_FARTHEST = 1e300  # of a logarithm
_WITHIN = 300.0  # of the unit: how large a logarithm may become before the unit is raised
_LEAST, _MOST = 1e-250, 1e250  # sums that have not lost anything to under- or overflow


@kernel
def winnow_pass_dense(X, signs, rate, margin, bias, logs):
    """Go through dense rows once; return how many mistakes were made.

    Parameters
    ----------
    X : (n_rows, n_columns)
    signs : (n_rows,) float64, the labels as ±1
    rate : float, how far a mistake moves the logarithms
    margin : float, y·s of at most this much is a mistake, s as in `winnow_scores_dense`
    bias : float, 1 or 0
    logs : (n_columns + 1,) float64, changed in place
    """
    n_columns = X.shape[1]
    differences, totals = np.empty_like(logs), np.empty_like(logs)
    unit = _take_unit(logs, differences, totals)
    every = np.arange(n_columns)
    mistakes = 0
    for i in range(X.shape[0]):
        difference, total = bias * differences[n_columns], bias * totals[n_columns]
        for j in range(n_columns):
            difference += X[i, j] * differences[j]
            total += abs(X[i, j]) * totals[j]
        if not _LEAST < total < _MOST:
            difference, total = _careful_sums(X[i], every, bias, logs)
        if signs[i] * difference <= (margin + _ROUNDING) * total:
            mistakes += 1
            unit = _update(X[i], every, rate * signs[i], bias, unit, logs, differences, totals)
    return mistakes


@kernel
def winnow_pass_sparse(data, indices, indptr, signs, rate, margin, bias, logs):
    """Go through CSR rows once; the rest as in `winnow_pass_dense`."""
    last = logs.shape[0] - 1
    differences, totals = np.empty_like(logs), np.empty_like(logs)
    unit = _take_unit(logs, differences, totals)
    mistakes = 0
    for i in range(signs.shape[0]):
        difference, total = bias * differences[last], bias * totals[last]
        for e in range(indptr[i], indptr[i + 1]):
            difference += data[e] * differences[indices[e]]
            total += abs(data[e]) * totals[indices[e]]
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        if not _LEAST < total < _MOST:
            difference, total = _careful_sums(values, columns, bias, logs)
        if signs[i] * difference <= (margin + _ROUNDING) * total:
            mistakes += 1
            change = rate * signs[i]
            unit = _update(values, columns, change, bias, unit, logs, differences, totals)
    return mistakes


@kernel
def winnow_scores_dense(X, bias, logs, out):
    """Write s = (w⁺ − w⁻)·x / (w⁺ + w⁻)·|x| of dense rows: in [−1, 1], and 0 for a zero row."""
    every = np.arange(X.shape[1])
    for i in range(X.shape[0]):
        out[i] = _ratio(*_careful_sums(X[i], every, bias, logs))


@kernel
def winnow_scores_sparse(data, indices, indptr, bias, logs, out):
    """Write the same of CSR rows."""
    for i in range(out.shape[0]):
        row = slice(indptr[i], indptr[i + 1])
        out[i] = _ratio(*_careful_sums(data[row], indices[row], bias, logs))


@kernel
def _take_unit(logs, differences, totals):
    """Write the weights in a unit that suits all of them, and return its logarithm."""
    largest = 0.0
    for j in range(logs.shape[0]):
        largest = max(largest, abs(logs[j]))
    unit = largest if largest > _WITHIN else 0.0
    for j in range(logs.shape[0]):
        plus, minus = np.exp(logs[j] - unit), np.exp(-logs[j] - unit)
        differences[j], totals[j] = plus - minus, plus + minus
    return unit


@kernel
def _update(values, columns, change, bias, unit, logs, differences, totals):
    """Move the logarithms of a row's features; return the unit, raised where it must be."""
    last = logs.shape[0] - 1
    too_large = False
    for e in range(columns.shape[0] + 1):
        j = last if e == columns.shape[0] else columns[e]
        x = bias if e == columns.shape[0] else values[e]
        if x != 0:
            t = min(max(logs[j] + change * x, -_FARTHEST), _FARTHEST)
            logs[j] = t
            if abs(t) > unit + _WITHIN:
                too_large = True
            else:
                plus, minus = np.exp(t - unit), np.exp(-t - unit)
                differences[j], totals[j] = plus - minus, plus + minus
    return _take_unit(logs, differences, totals) if too_large else unit


@kernel
def _careful_sums(values, columns, bias, logs):
    """Return both sums of one row, divided by the largest weight and value that it meets."""
    last = logs.shape[0] - 1
    largest, longest = (abs(logs[last]), 1.0) if bias else (0.0, 0.0)
    for e in range(columns.shape[0]):
        if values[e] != 0:
            largest = max(largest, abs(logs[columns[e]]))
            longest = max(longest, abs(np.float64(values[e])))
    difference = total = 0.0
    for e in range(columns.shape[0] + 1):
        j = last if e == columns.shape[0] else columns[e]
        x = bias if e == columns.shape[0] else np.float64(values[e])
        if x != 0:
            plus, minus = np.exp(logs[j] - largest), np.exp(-logs[j] - largest)
            difference += x / longest * (plus - minus)
            total += abs(x / longest) * (plus + minus)
    return difference, total


@kernel
def _ratio(difference, total):
    return 0.0 if abs(difference) <= _ROUNDING * total else difference / total
