"""How many of a row of scores lie above each of some thresholds, in one pass over the scores.

Each query row owns thresholds in ascending order and counts, one more than thresholds: a score goes
into the count whose number says how many thresholds lie below it. A table of equal bins over the
range of the thresholds places most scores at once; in a bin that a threshold comes near, the few
thresholds there are looked at. Equal scores lie neither above nor below each other.
"""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def _bin(score, lowest, scale, n_bins):
    """Return the bin of a score, the first one for all scores below the thresholds."""
    place = (score - lowest) * scale
    if place >= 0:
        return n_bins - 1 if place > n_bins - 3 else np.int64(place) + 1
    return 0


@kernel
def _fill_table(thresholds, slack, table):
    """Write how many thresholds, n, lie below each bin; return the lower end and the bins' density.

    A bin within `slack` of a threshold holds −1 − n instead: there may be more.
    """
    n, n_bins = thresholds.shape[0], table.shape[0]
    lowest = thresholds[0]
    span = thresholds[n - 1] - lowest
    if not (span > 0 and span < 1e300 and slack < 1e300):
        table[:] = -1
        return lowest, 0.0
    scale = (n_bins - 3) / span
    # Bins are told by arithmetic that may be rounded differently here and where it is used.
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


@kernel
def _place(thresholds, score, low):
    """Return how many of the ascending thresholds lie below the score, which are at least `low`."""
    high = thresholds.shape[0]
    for _ in range(2):  # mostly it is the next one or the one after it
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
    table : (n_bins,) int32, at least 4, to work in
    counts : (n_rows, n + 1) int64, changed in place
    """
    for i in range(block.shape[0]):
        lowest, scale = _fill_table(thresholds[i], 0.0, table)
        for j in range(block.shape[1]):
            score = np.float64(block[i, j])
            place = table[_bin(score, lowest, scale, table.shape[0])]
            if place < 0:
                place = _place(thresholds[i], score, -1 - place)
            counts[i, place] += 1


@kernel
def count_products(block, slack, thresholds, table, counts, rows, columns):
    """Add the scores of `block` that are certain to the counts; list the others, return how many.

    Parameters
    ----------
    block : (n_rows, n_items) approximate scores
    slack : (n_rows,) float64, the most by which a row's approximate scores may be off
    thresholds, table, counts : as in `count_scores`
    rows, columns : int32, room for the whole block, written: what must be scored anew
    """
    n = thresholds.shape[1]
    doubtful = 0
    for i in range(block.shape[0]):
        lowest, scale = _fill_table(thresholds[i], slack[i], table)
        for j in range(block.shape[1]):
            score = np.float64(block[i, j])
            place = table[_bin(score, lowest, scale, table.shape[0])]
            if place < 0:
                place = _place(thresholds[i], score - slack[i], -1 - place)
                # Written so that where the product overflowed to NaN, nothing is certain.
                if not (score + slack[i] < np.inf and place == n) and not (
                    place < n and thresholds[i, place] > score + slack[i]
                ):
                    rows[doubtful], columns[doubtful] = i, j
                    doubtful += 1
                    continue
            counts[i, place] += 1
    return doubtful


@kernel
def count_pairs(rows, scores, thresholds, counts):
    """Add each score to the counts of the row that is named beside it; the rest as above."""
    for e in range(rows.shape[0]):
        i = rows[e]
        counts[i, _place(thresholds[i], scores[e], 0)] += 1


@kernel
def pair_scores(queries, items, rows, columns, is_distance, out):
    """Write the score of each pair, in double precision and always summed in the same order.

    Parameters
    ----------
    queries, items : (n_queries, n_features) and (n_items, n_features) float64
    rows, columns : (n_pairs,) int32, which query and which item
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
