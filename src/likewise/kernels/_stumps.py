"""Splits by a pair of examples: f(x) = d(x, x′) − d(x, x″) against a threshold.

Row i of `columns` holds the distances of all examples to example i. An example has weights w[i, l]
for its labels; it is positive for the label `targets[i]` (−1: none), and negative for the others.
The best split minimizes Z = 2 Σ √(W₊W₋) over its two blocks and the labels.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel


@helper
def _gaps(columns, first, second, rows, out):
    """Write f of every row into `out`; return its minimum and maximum."""
    low, high = np.inf, -np.inf
    for i in range(rows.shape[0]):
        gap = columns[first, rows[i]] - columns[second, rows[i]]
        out[i] = gap
        low = min(low, gap)
        high = max(high, gap)
    return low, high


@helper
def _half_normalizer(positive, total):
    """Return Σ √(W₊W₋) of one block, from the total weights of its positives and of all."""
    z = 0.0
    for c in range(positive.shape[0]):
        z += np.sqrt(max(0.0, positive[c] * (total[c] - positive[c])))
    return z


@helper
def _both_normalizers(positive, total, all_positive, all_total):
    """Return Σ √(W₊W₋) of a block and of the rest."""
    z = 0.0
    for c in range(positive.shape[0]):
        rest_positive = all_positive[c] - positive[c]
        rest_total = all_total[c] - total[c]
        z += np.sqrt(max(0.0, positive[c] * (total[c] - positive[c])))
        z += np.sqrt(max(0.0, rest_positive * (rest_total - rest_positive)))
    return z


@kernel
def search_histogram(columns, firsts, seconds, rows, targets, weights, own, whole, gaps, bins,
                     sums, z, cuts, scales):  # fmt: skip
    """Write the minimum Z over the edges of equal bins for each pair, and the last bin below it.

    Bin b holds the rows with b <= (f - low) * scale < b + 1.

    Parameters
    ----------
    columns : (n_columns, n_all) float64
    firsts, seconds : (n_pairs,) int64, columns of x′ and x″
    rows : (n,) int64, the rows to split
    targets : (n,) int64
    weights : (n, n_labels) float64
    own : (n,) float64, the weight of each example for its target; 0 without a target
    whole : (2, n_labels) float64, total weight of the positives, and of all
    gaps, bins, sums : (n,) float64, (n,) int32 and (2, n_bins, n_labels) float64, scratch arrays
    z : (n_pairs,) float64, written
    cuts : (n_pairs,) int64, written; −1 if the range of f is zero, infinite or too small
    scales : (n_pairs, 2) float64, written: low and scale
    """
    n, n_labels = weights.shape
    n_bins = sums.shape[1]
    all_positive, all_total = whole[0], whole[1]
    total, positive = sums[0], sums[1]
    unsplit = 2.0 * _half_normalizer(all_positive, all_total)
    for m in range(firsts.shape[0]):
        low, high = _gaps(columns, firsts[m], seconds[m], rows, gaps)
        z[m] = unsplit
        cuts[m] = -1
        scale = n_bins / (high - low) * (1.0 - 1e-12)
        scales[m, 0], scales[m, 1] = low, scale
        if not 0.0 < scale < np.inf:  # the range is infinite, zero or too small
            continue
        for b in range(n_bins):
            for c in range(n_labels):
                total[b, c] = positive[b, c] = 0.0
        for i in range(n):
            bins[i] = np.int32((gaps[i] - low) * scale)
        if n_labels == 1:
            for i in range(n):
                total[bins[i], 0] += weights[i, 0]
                positive[bins[i], 0] += own[i]
        else:  # here two short loops are faster than one
            for i in range(n):
                bin_total, own_weights = total[bins[i]], weights[i]
                for c in range(n_labels):
                    bin_total[c] += own_weights[c]
            for i in range(n):  # without a target, 0 is added to the last label
                positive[bins[i], targets[i]] += own[i]
        best = np.inf
        for b in range(n_bins - 1):
            if b > 0:
                for c in range(n_labels):
                    total[b, c] += total[b - 1, c]
                    positive[b, c] += positive[b - 1, c]
            value = _both_normalizers(positive[b], total[b], all_positive, all_total)
            if value < best:
                best = value
                cuts[m] = b
        z[m] = 2.0 * best


@helper
def _middle(below, above):
    """Return the midpoint of [below, above), which is less than above."""
    middle = below + (above - below) / 2.0
    return middle if middle < above else below


@kernel
def search_exact(columns, firsts, seconds, rows, targets, weights, own, whole, z, thresholds):
    """Write the minimum Z over all thresholds for each pair, and the threshold.

    Parameters as in `search_histogram`; thresholds : (n_pairs,) float64, written
    """
    n, n_labels = weights.shape
    gaps = np.empty(n)
    total = np.empty(n_labels)
    positive = np.empty(n_labels)
    all_positive, all_total = whole[0], whole[1]
    for m in range(firsts.shape[0]):
        _, high = _gaps(columns, firsts[m], seconds[m], rows, gaps)
        order = np.argsort(gaps)
        for c in range(n_labels):
            total[c] = positive[c] = 0.0
        best = _half_normalizer(all_positive, all_total)
        thresholds[m] = high
        any_split = False
        for k in range(n - 1):
            i = order[k]
            for c in range(n_labels):
                total[c] += weights[i, c]
            if targets[i] >= 0:
                positive[targets[i]] += own[i]
            gap, next_gap = gaps[i], gaps[order[k + 1]]
            if gap < next_gap:
                value = _both_normalizers(positive, total, all_positive, all_total)
                if value < best or not any_split:
                    any_split = True
                    best = value
                    thresholds[m] = _middle(gap, next_gap)
        z[m] = 2.0 * best


@kernel
def search_zero(columns, firsts, seconds, rows, targets, weights, own, z):
    """Write the Z of the split at 0 for each pair: closer to x″, or not.

    Parameters as in `search_histogram`.
    """
    n, n_labels = weights.shape
    total = np.empty((2, n_labels))
    positive = np.empty((2, n_labels))
    for m in range(firsts.shape[0]):
        for c in range(n_labels):
            total[0, c] = total[1, c] = positive[0, c] = positive[1, c] = 0.0
        for i in range(n):
            b = int(columns[firsts[m], rows[i]] > columns[seconds[m], rows[i]])
            for c in range(n_labels):
                total[b, c] += weights[i, c]
            if targets[i] >= 0:
                positive[b, targets[i]] += own[i]
        z[m] = 2.0 * (
            _half_normalizer(positive[0], total[0]) + _half_normalizer(positive[1], total[1])
        )
