"""Splits by a pair of examples: f(x) = d(x, x′) − d(x, x″) against a threshold.

Columns of dissimilarities lie in rows of `columns`. An example has weights w[i, l] for its labels,
positive for one of them, `targets[i]` (−1: for none), and negative for the others. A split is as
good as Z = 2 Σ √(W₊W₋), over its two blocks and the labels, is small.
"""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def draw_pairs(labels, weights, first_at, second_at, reach, firsts, seconds):
    """Draw x′ by weight, and x″ by weight among the other classes.

    Parameters
    ----------
    labels : (n,) int64, ascending, of at least two classes
    weights : (n,) float64
    first_at, second_at : (n_pairs,) float64 from 0 to below 1, drawn at random
    reach : (n + 1,) float64, written: the weights before each example
    firsts, seconds : (n_pairs,) int64, written
    """
    n = labels.shape[0]
    reach[0] = 0.0
    for i in range(n):
        reach[i + 1] = reach[i] + weights[i]
    for m in range(firsts.shape[0]):
        first = _place(reach, first_at[m] * reach[n])
        start = np.searchsorted(labels, labels[first])
        stop = np.searchsorted(labels, labels[first], side="right")
        # the other classes' weights end to end: what lies beyond x′'s own class is moved past it
        own = reach[stop] - reach[start]
        at = second_at[m] * (reach[n] - own)
        second = _place(reach, at if at < reach[start] else at + own)
        # rounding, or classes that have no weight left, can end in the class of x′ all the same
        if labels[second] == labels[first]:
            second = stop if stop < n else start - 1
        firsts[m] = first
        seconds[m] = second


@kernel
def _place(reach, at):
    return min(np.searchsorted(reach, at, side="right") - 1, reach.shape[0] - 2)


@kernel
def gather_weights(members, targets, weights, own_targets, wide, own, whole):
    """Write the targets and weights of some examples, and add their weights up.

    `wide` may have more columns than there are labels; these become 0, and change no Z. Loops over
    whole vectors of numbers are so much quicker that this pays.

    Parameters
    ----------
    members : (n,) int64, which examples
    targets : (n_all,) int64
    weights : (n_all, n_labels) float64
    own_targets : (n,) int64, written
    wide : (n, width) float64, written
    own : (n,), written: the weight of each for its target; 0 where there is none
    whole : (2, width), written: the weights of the positives, and of all
    """
    n_labels = weights.shape[1]
    whole[:] = 0.0
    for k in range(members.shape[0]):
        i = members[k]
        target = targets[i]
        own_targets[k] = target
        own[k] = 0.0
        if target >= 0:
            own[k] = weights[i, target]
            whole[0, target] += own[k]
        for c in range(n_labels):
            wide[k, c] = weights[i, c]
            whole[1, c] += weights[i, c]
        for c in range(n_labels, wide.shape[1]):
            wide[k, c] = 0.0


@kernel
def _gaps(columns, first, second, rows, out):
    """Write f of every row into `out`; return the least and the largest."""
    low, high = np.inf, -np.inf
    for i in range(rows.shape[0]):
        gap = columns[first, rows[i]] - columns[second, rows[i]]
        out[i] = gap
        low = min(low, gap)
        high = max(high, gap)
    return low, high


@kernel
def _half_normaliser(positive, total):
    """Return Σ √(W₊W₋) of one block, from the weights of its positives and of all in it."""
    z = 0.0
    for c in range(positive.shape[0]):
        z += np.sqrt(max(0.0, positive[c] * (total[c] - positive[c])))
    return z


@kernel
def _both_normalisers(positive, total, all_positive, all_total):
    """Return Σ √(W₊W₋) of a block and of the rest."""
    z = 0.0
    for c in range(positive.shape[0]):
        rest_positive = all_positive[c] - positive[c]
        rest_total = all_total[c] - total[c]
        z += np.sqrt(max(0.0, positive[c] * (total[c] - positive[c])))
        z += np.sqrt(max(0.0, rest_positive * (rest_total - rest_positive)))
    return z


@kernel
def _bin_scale(low, high, n_bins):
    return n_bins / (high - low) * (1.0 - 1e-12)


@kernel
def search_histogram(columns, firsts, seconds, rows, targets, weights, own, whole, n_bins, z, cuts):
    """Write for each pair the least Z among the borders of equal bins, and the last bin below it.

    Parameters
    ----------
    columns : (n_columns, n_all) float64
    firsts, seconds : (n_pairs,) int64, columns of x′ and x″
    rows : (n,) int64, which rows are split
    targets : (n,) int64
    weights : (n, n_labels) float64
    own : (n,) float64, the weight of each example for its target; 0 where there is none
    whole : (2, n_labels) float64, the weights of the positives, and of all, added up
    n_bins : int
    z : (n_pairs,) float64, written
    cuts : (n_pairs,) int64, written; −1 where all rows are alike
    """
    n, n_labels = weights.shape
    gaps = np.empty(n)
    bins = np.empty(n, dtype=np.int32)
    all_positive, all_total = whole[0], whole[1]
    total = np.empty((n_bins, n_labels))
    positive = np.empty((n_bins, n_labels))
    for m in range(firsts.shape[0]):
        low, high = _gaps(columns, firsts[m], seconds[m], rows, gaps)
        z[m] = 2.0 * _half_normaliser(all_positive, all_total)
        cuts[m] = -1
        if not low < high:
            continue
        total[:] = 0.0
        positive[:] = 0.0
        scale = _bin_scale(low, high, n_bins)
        # three short loops: each keeps the processor's pipes fuller than one long one
        for i in range(n):
            bins[i] = np.int32((gaps[i] - low) * scale)
        for i in range(n):
            of_bin, own_weights = total[bins[i]], weights[i]
            for c in range(n_labels):
                of_bin[c] += own_weights[c]
        for i in range(n):
            if targets[i] >= 0:
                positive[bins[i], targets[i]] += own[i]
        best = np.inf
        for b in range(n_bins - 1):
            if b > 0:
                for c in range(n_labels):
                    total[b, c] += total[b - 1, c]
                    positive[b, c] += positive[b - 1, c]
            found = _both_normalisers(positive[b], total[b], all_positive, all_total)
            if found < best:
                best = found
                cuts[m] = b
        z[m] = 2.0 * best


@kernel
def histogram_threshold(columns, first, second, rows, n_bins, cut):
    """Return the middle between the largest f in bins up to `cut` and the least f beyond."""
    gaps = np.empty(rows.shape[0])
    low, high = _gaps(columns, first, second, rows, gaps)
    scale = _bin_scale(low, high, n_bins)
    below, above = low, high
    for i in range(gaps.shape[0]):
        if int((gaps[i] - low) * scale) <= cut:
            below = max(below, gaps[i])
        else:
            above = min(above, gaps[i])
    return _middle(below, above)


@kernel
def _middle(below, above):
    """Return a number from below up to, and not reaching, above."""
    middle = below + (above - below) / 2.0
    return middle if middle < above else below


@kernel
def search_exact(columns, firsts, seconds, rows, targets, weights, own, whole, z, thresholds):
    """Write for each pair the least Z among all thresholds, and the threshold.

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
        total[:] = 0.0
        positive[:] = 0.0
        best = _half_normaliser(all_positive, all_total)
        thresholds[m] = high
        any_split = False
        for k in range(n - 1):
            i = order[k]
            for c in range(n_labels):
                total[c] += weights[i, c]
            if targets[i] >= 0:
                positive[targets[i]] += own[i]
            here, then = gaps[i], gaps[order[k + 1]]
            if here < then:
                found = _both_normalisers(positive, total, all_positive, all_total)
                if found < best or not any_split:
                    any_split = True
                    best = found
                    thresholds[m] = _middle(here, then)
        z[m] = 2.0 * best


@kernel
def search_zero(columns, firsts, seconds, rows, targets, weights, own, z):
    """Write for each pair the Z of the split at 0: nearer to x′, or as near, against nearer to x″.

    Parameters as in `search_histogram`.
    """
    n, n_labels = weights.shape
    total = np.empty((2, n_labels))
    positive = np.empty((2, n_labels))
    for m in range(firsts.shape[0]):
        total[:] = 0.0
        positive[:] = 0.0
        for i in range(n):
            b = int(columns[firsts[m], rows[i]] > columns[seconds[m], rows[i]])
            for c in range(n_labels):
                total[b, c] += weights[i, c]
            if targets[i] >= 0:
                positive[b, targets[i]] += own[i]
        z[m] = 2.0 * (
            _half_normaliser(positive[0], total[0]) + _half_normaliser(positive[1], total[1])
        )


@kernel
def leaf_weights(leaves, targets, weights, positive, total):
    """Add up the weights of the positives, and of all, in each leaf.

    Parameters
    ----------
    leaves : (n,) int64
    positive, total : (n_leaves, n_labels), zeros, written
    """
    for i in range(leaves.shape[0]):
        leaf = leaves[i]
        for c in range(weights.shape[1]):
            total[leaf, c] += weights[i, c]
        if targets[i] >= 0:
            positive[leaf, targets[i]] += weights[i, targets[i]]


@kernel
def reweigh(leaves, targets, outputs, weights, scores, masses):
    """Multiply each weight by exp(−Y h) and scale all to sum to 1; add h to the scores.

    Returns by what the weights were scaled, Z = Σ w exp(−Y h), and how many examples have a score
    that is the highest, or above 0 of a single label, for a class that is not theirs.

    Parameters
    ----------
    leaves : (n,) int64
    outputs : (n_leaves, n_labels), h
    weights, scores : (n, n_labels), changed
    masses : (n,), written: the sum of each example's weights
    """
    n, n_labels = weights.shape
    for_positive = np.exp(-outputs)
    for_negative = np.exp(outputs)
    normaliser = 0.0
    n_wrong = 0
    for i in range(n):
        leaf, own = leaves[i], targets[i]
        mass = 0.0
        best = 0
        for c in range(n_labels):
            weights[i, c] *= for_positive[leaf, c] if c == own else for_negative[leaf, c]
            mass += weights[i, c]
            scores[i, c] += outputs[leaf, c]
            if scores[i, c] > scores[i, best]:
                best = c
        masses[i] = mass
        normaliser += mass
        if n_labels == 1:
            n_wrong += (scores[i, 0] > 0) != (own == 0)
        else:
            n_wrong += best != own
    for i in range(n):
        masses[i] /= normaliser
        for c in range(n_labels):
            weights[i, c] /= normaliser
    return normaliser, n_wrong
