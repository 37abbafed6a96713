"""Balanced Winnow: multiplicative updates, with weights stored as logarithms.

Both weight vectors start at 1 and are multiplied by inverse factors, so that w⁻ = 1/w⁺ and one
logarithm t describes both: w⁺ − w⁻ = 2 sinh t, w⁺ + w⁻ = 2 cosh t. Both are stored divided by
e^unit, so that no exponential overflows. The last weight belongs to a feature that is `bias` in
every row.

A row is a slice of a dense table, or the values and columns of a CSR row.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel

# Sums of weights with a smaller relative difference are equal: weights take few values at first and
# cancel exactly, except for rounding.
_ROUNDING = 1e-12
_MAX_LOG = 1e300
_MAX_ABOVE_UNIT = 300.0  # a logarithm further above the unit raises the unit
_MIN_SUM, _MAX_SUM = 1e-250, 1e250  # sums within this range had no underflow or overflow


@kernel
def winnow_pass_dense(X, columns, signs, rates, margin, bias, logs, differences, totals):
    """Learn from dense rows in one pass; return the number of mistakes.

    Parameters
    ----------
    X : (n_rows, n_columns)
    columns : (n_columns,) int64, 0 to n_columns − 1
    signs : (n_rows,) float64, the labels as ±1
    rates : (n_rows,) float64, change of the logarithms at a mistake, times the feature; rows with a
        rate of 0 are skipped
    margin : float, a mistake has y·s of at most this, with s as in `winnow_scores_dense`
    bias : float, 1 or 0
    logs : (n_columns + 1,) float64, changed in place
    differences, totals : (n_columns + 1,) float64, scratch arrays
    """
    n_columns = X.shape[1]
    unit = _rescale(logs, differences, totals)
    mistakes = 0
    for i in range(X.shape[0]):
        difference, total = bias * differences[n_columns], bias * totals[n_columns]
        for j in range(n_columns):
            difference += X[i, j] * differences[j]
            total += abs(X[i, j]) * totals[j]
        if not _MIN_SUM < total < _MAX_SUM:
            difference, total = _scaled_sums(X[i], columns, bias, logs)
        if rates[i] > 0 and signs[i] * difference <= (margin + _ROUNDING) * total:
            mistakes += 1
            change = rates[i] * signs[i]
            unit = _update(X[i], columns, change, bias, unit, logs, differences, totals)
    return mistakes


@kernel
def winnow_pass_sparse(
    data, indices, indptr, signs, rates, margin, bias, logs, differences, totals
):
    """Learn from CSR rows in one pass; the rest as in `winnow_pass_dense`."""
    last = logs.shape[0] - 1
    unit = _rescale(logs, differences, totals)
    mistakes = 0
    for i in range(signs.shape[0]):
        difference, total = bias * differences[last], bias * totals[last]
        for e in range(indptr[i], indptr[i + 1]):
            difference += data[e] * differences[indices[e]]
            total += abs(data[e]) * totals[indices[e]]
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        if not _MIN_SUM < total < _MAX_SUM:
            difference, total = _scaled_sums(values, columns, bias, logs)
        if rates[i] > 0 and signs[i] * difference <= (margin + _ROUNDING) * total:
            mistakes += 1
            change = rates[i] * signs[i]
            unit = _update(values, columns, change, bias, unit, logs, differences, totals)
    return mistakes


@kernel
def winnow_scores_dense(X, columns, bias, logs, out):
    """Write s = (w⁺ − w⁻)·x / (w⁺ + w⁻)·|x| of dense rows, in [−1, 1]; 0 for a zero row."""
    for i in range(X.shape[0]):
        out[i] = _ratio(*_scaled_sums(X[i], columns, bias, logs))


@kernel
def winnow_scores_sparse(data, indices, indptr, bias, logs, out):
    """Write the scores of CSR rows, as in `winnow_scores_dense`."""
    for i in range(out.shape[0]):
        row = slice(indptr[i], indptr[i + 1])
        out[i] = _ratio(*_scaled_sums(data[row], indices[row], bias, logs))


@helper
def _rescale(logs, differences, totals):
    """Write the weights in a unit in which none overflows; return its logarithm."""
    largest = 0.0
    for j in range(logs.shape[0]):
        largest = max(largest, abs(logs[j]))
    unit = largest if largest > _MAX_ABOVE_UNIT else 0.0
    for j in range(logs.shape[0]):
        plus, minus = np.exp(logs[j] - unit), np.exp(-logs[j] - unit)
        differences[j], totals[j] = plus - minus, plus + minus
    return unit


@helper
def _update(values, columns, change, bias, unit, logs, differences, totals):
    """Update the logarithms of a row's features; return the unit, raised if necessary."""
    last = logs.shape[0] - 1
    too_large = False
    for e in range(columns.shape[0] + 1):
        j = last if e == columns.shape[0] else columns[e]
        x = bias if e == columns.shape[0] else values[e]
        if x != 0:
            t = min(max(logs[j] + change * x, -_MAX_LOG), _MAX_LOG)
            logs[j] = t
            if abs(t) > unit + _MAX_ABOVE_UNIT:
                too_large = True
            else:
                plus, minus = np.exp(t - unit), np.exp(-t - unit)
                differences[j], totals[j] = plus - minus, plus + minus
    return _rescale(logs, differences, totals) if too_large else unit


@helper
def _scaled_sums(values, columns, bias, logs):
    """Return both sums of one row, divided by its largest weight and value."""
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


@helper
def _ratio(difference, total):
    return 0.0 if abs(difference) <= _ROUNDING * total else difference / total
