"""Count the scores of each query between its thresholds, in one pass over the scores.

Each query has n ascending thresholds and n + 1 counts: a score belongs to the count whose index is
the number of thresholds below it. A table of equal bins over the range of the thresholds gives the
index of most scores at once; in a bin close to a threshold, the few candidates are compared. A
threshold equal to a score is not below it.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel


@helper
def _bin(score, lowest, scale, n_bins):
    """Return the bin of a score; 0 for all scores below the thresholds."""
    position = (score - lowest) * scale
    if position >= 0:
        return n_bins - 1 if position > n_bins - 3 else np.int64(position) + 1
    return 0


@helper
def _fill_table(thresholds, slack, table):
    """Write the number n of thresholds below each bin; return the lower end and the bin density.

    A bin within `slack` of a threshold holds −1 − n instead: its number is at least n.
    """
    n, n_bins = thresholds.shape[0], table.shape[0]
    lowest = thresholds[0]
    span = thresholds[n - 1] - lowest
    if not (span > 0 and span < 1e300 and slack < 1e300):
        for b in range(n_bins):
            table[b] = -1
        return lowest, 0.0
    scale = (n_bins - 3) / span
    # The bin of a score may be rounded differently here and in the caller.
    slack += 1e-14 * (span + abs(lowest))
    at = 0
    for k in range(n):
        first = _bin(thresholds[k] - slack, lowest, scale, n_bins)
        last = _bin(thresholds[k] + slack, lowest, scale, n_bins)
        while at < first:
            table[at] = k
            at += 1
        while at <= last:
            table[at] = -1 - k
            at += 1
    while at < n_bins:
        table[at] = n
        at += 1
    return lowest, scale


@helper
def _n_below(thresholds, score, low):
    """Return the number of ascending thresholds below the score, which is at least `low`."""
    high = thresholds.shape[0]
    for _ in range(2):  # mostly one of the next two
        if low == high or not thresholds[low] < score:
            return low
        low += 1
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] < score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_scores(block, thresholds, table, counts):
    """Add every score of `block` to the counts of its row.

    Parameters
    ----------
    block : (n_rows, n_items) scores
    thresholds : (n_rows, n) float64, ascending
    table : (n_bins,) int32, a scratch array of at least 4 bins
    counts : (n_rows, n + 1) int64, changed in place
    """
    for i in range(block.shape[0]):
        lowest, scale = _fill_table(thresholds[i], 0.0, table)
        for j in range(block.shape[1]):
            score = np.float64(block[i, j])
            index = table[_bin(score, lowest, scale, table.shape[0])]
            if index < 0:
                index = _n_below(thresholds[i], score, -1 - index)
            counts[i, index] += 1


@kernel
def count_products(block, slack, thresholds, table, counts, rows, columns):
    """Count the scores of `block` whose index is certain; list the others and return their number.

    Parameters
    ----------
    block : (n_rows, n_items) approximate scores
    slack : (n_rows,) float64, maximum error of a row's approximate scores
    thresholds, table, counts : as in `count_scores`
    rows, columns : int32 of the size of the block, written: the pairs to score exactly
    """
    n = thresholds.shape[1]
    n_uncertain = 0
    for i in range(block.shape[0]):
        lowest, scale = _fill_table(thresholds[i], slack[i], table)
        for j in range(block.shape[1]):
            score = np.float64(block[i, j])
            index = table[_bin(score, lowest, scale, table.shape[0])]
            if index < 0:
                index = _n_below(thresholds[i], score - slack[i], -1 - index)
                # Written so that a NaN from an overflow is uncertain.
                if not (score + slack[i] < np.inf and index == n) and not (
                    index < n and thresholds[i, index] > score + slack[i]
                ):
                    rows[n_uncertain], columns[n_uncertain] = i, j
                    n_uncertain += 1
                    continue
            counts[i, index] += 1
    return n_uncertain


@kernel
def count_pairs(rows, scores, thresholds, counts):
    """Count each score in the counts of its row; the arguments as in `count_products`."""
    for e in range(rows.shape[0]):
        i = rows[e]
        counts[i, _n_below(thresholds[i], scores[e], 0)] += 1


@kernel
def pair_scores(queries, items, rows, columns, is_distance, out):
    """Write the score of each pair, in double precision and with a fixed order of summation.

    Parameters
    ----------
    queries, items : (n_queries, n_features) and (n_items, n_features) float64
    rows, columns : (n_pairs,) int32, numbers of the query and the item
    is_distance : bool, score = -|q - p|² instead of q·p
    out : (n_pairs,) float64, written
    """
    for e in range(rows.shape[0]):
        i, j = rows[e], columns[e]
        score = 0.0
        if is_distance:
            for f in range(queries.shape[1]):
                gap = queries[i, f] - items[j, f]
                score -= gap * gap
        else:
            for f in range(queries.shape[1]):
                score += queries[i, f] * items[j, f]
        out[e] = score
