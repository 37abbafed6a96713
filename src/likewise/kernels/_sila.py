"""SiLA's inner loop: visit rows one after the other, and let each mistake change what follows.

Rows are sorted by class, so that the rows of other classes are at most two spans of columns.
"""

import numpy as np

from likewise.kernels._jit import kernel

_STRIP = 256
_SAFETY = 1e-10  # a margin nearer to 0 than this share of its terms is always computed


@kernel
def _add_pairs(left, right, n_pairs, row, start, stop, out):
    """Add left[u, row] right[u] of every pair; four at a time, to pass less often over `out`."""
    whole = n_pairs - n_pairs % 4
    for u in range(0, whole, 4):
        a, b, c, d = left[u, row], left[u + 1, row], left[u + 2, row], left[u + 3, row]
        p, q, r, s = right[u], right[u + 1], right[u + 2], right[u + 3]
        for j in range(start, stop):
            out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for u in range(whole, n_pairs):
        a, p = left[u, row], right[u]
        for j in range(start, stop):
            out[j] += a * p[j]


@kernel
def _changed_scores(block, left, right, n_mistakes, symmetric, row, out):
    """Write a row of the block with what the block's mistakes have added to it."""
    n = out.shape[0]
    for start in range(0, n, _STRIP):
        stop = min(start + _STRIP, n)
        for j in range(start, stop):
            out[j] = block[j]
        _add_pairs(left, right, n_mistakes, row, start, stop, out)
        if symmetric:
            _add_pairs(right, left, n_mistakes, row, start, stop, out)


@kernel
def _inverse_norm(norm, size, other, product):
    """Return 1/N, and 0 where N is not positive: 1, ‖x‖₁ + ‖y‖₁, or that less xᵀy."""
    if norm == 0:
        return 1.0
    N = size + other - product
    return 1.0 / N if N > 0 else 0.0


@kernel
def _nearest_others(scores, spans, original, best, rows):
    """List the highest scores in two spans of columns, best first; return how many there are.

    Of equal scores the lower original row comes first.
    """
    k = best.shape[0]
    found = 0
    for part in range(2):
        begin, end = spans[2 * part], spans[2 * part + 1]
        for start in range(begin, end, 64):
            stop = min(start + 64, end)
            if found == k:
                # without a branch, so that many are compared at a time: most strips have none
                worst, hits = best[k - 1], 0
                for j in range(start, stop):
                    hits += scores[j] >= worst
                if hits == 0:
                    continue
            for j in range(start, stop):
                score = scores[j]
                if found == k and (
                    score < best[k - 1]
                    or (score == best[k - 1] and original[j] > original[rows[k - 1]])
                ):
                    continue
                place = found if found < k else k - 1
                while place > 0 and (
                    best[place - 1] < score
                    or (best[place - 1] == score and original[rows[place - 1]] > original[j])
                ):
                    best[place], rows[place] = best[place - 1], rows[place - 1]
                    place -= 1
                best[place], rows[place] = score, j
                found = min(found + 1, k)
    return found


@kernel
def _lower(left, right, segments, reach, group, targets, target_weights, most_inverse,
           least_inverse, n_others, bounds):  # fmt: skip
    """Lower the bounds by what adding left_i right_j / N_ij to every score can do to a margin.

    What it does to the targets is known; of the others each gains at most the largest gain.
    """
    n_segments = segments.shape[0] - 1
    highest, lowest = np.full(n_segments, -np.inf), np.full(n_segments, np.inf)
    for s in range(n_segments):
        for j in range(segments[s], segments[s + 1]):
            highest[s] = max(highest[s], right[j])
            lowest[s] = min(lowest[s], right[j])
    n_groups = reach.shape[0]
    most, least = np.full(n_groups, -np.inf), np.full(n_groups, np.inf)
    for g in range(n_groups):
        for part in range(2):
            for s in range(reach[g, 2 * part], reach[g, 2 * part + 1]):
                most[g] = max(most[g], highest[s])
                least[g] = min(least[g], lowest[s])
    k = targets.shape[1]
    for i in range(left.shape[0]):
        weight = left[i]
        near = 0.0
        for t in range(k):
            near += right[targets[i, t]] * target_weights[i, t]
        near *= weight
        far = max(weight * most[group[i]], weight * least[group[i]])
        far *= n_others[i] * (most_inverse[i] if far > 0 else least_inverse[i])
        bounds[i] += near - far - _SAFETY * (abs(near) + abs(far))


@kernel
def lower_bounds(left, right, symmetric, segments, reach, group, targets, target_weights,
                 most_inverse, least_inverse, n_others, bounds):  # fmt: skip
    """Lower every row's bound of its margin by what one mistake can do to it.

    Parameters
    ----------
    left, right : (n,), x_i · (row of the mistake) and x_i · d of every row
    symmetric : bool, whether the mistake added d xᵀ as well as x dᵀ
    segments : (n_segments + 1,) int64, where the classes begin
    reach : (n_groups, 4) int64, the two spans of segments that are others to a group
    group : (n,) int64
    targets, target_weights : (n, k) int64 and float64; weight 0 where there is no target
    most_inverse, least_inverse : (n,), bounds of 1/N over a row's others
    n_others : (n,), how many others are in a margin
    bounds : (n,), changed in place
    """
    _lower(left, right, segments, reach, group, targets, target_weights, most_inverse,
           least_inverse, n_others, bounds)  # fmt: skip
    if symmetric:
        _lower(right, left, segments, reach, group, targets, target_weights, most_inverse,
               least_inverse, n_others, bounds)  # fmt: skip


@kernel
def visit_rows(first, rows, places, order, block, norm, sizes, inner, inner_rows, spans, segments,
               reach, group, original, targets, target_weights, most_inverse, least_inverse,
               n_others, gram, symmetric, left, right, n_mistakes, mistakes, others,
               other_weights, tracking, bounds):  # fmt: skip
    """Visit the rows of a block from the place `first`; return where it stopped, and the mistakes.

    It stops at the end of the block; when there is no room for another mistake; after a mistake
    where there is no Gram matrix, for `left` and `right` to be completed outside; and before a
    row that was left out of the block and, after a mistake, may be one itself.

    Parameters
    ----------
    first : int
    rows : (b,) int64, the rows to visit, in order
    places, order : (b,) and (n,) int64, where they stand in the order of all visits, and that order
    block : (b, n), xᵀAy of those rows with all, before any mistake of this block
    norm : int, 0 for N = 1, 1 for Dice, 2 for Jaccard
    sizes : (n,), sums of the rows
    inner, inner_rows : xᵀy, and which of its rows belongs to each of the block; for Jaccard
    spans : (n_groups, 4) int64, the two spans of columns that are others to a group
    segments, reach, group, targets, target_weights, most_inverse, least_inverse, n_others
        As in `lower_bounds`.
    original : (n,) int64, decides between equal scores
    gram : (n, n), or (0, 0) where there is none
    left, right : (capacity, n), written: each mistake's x_i · x and x_i · d
    n_mistakes : int, how many the block has had already
    mistakes : (capacity,) int64, written: places in the block
    others, other_weights : (capacity, k) int64 and float64, written: the nearest others and 1/N
    tracking : bool, whether `bounds` is kept
    bounds : (n,), changed in place: what a row's margin is at least
    """
    n = block.shape[1]
    k = targets.shape[1]
    scores = np.empty(n)
    best, nearest = np.empty(others.shape[1]), np.empty(others.shape[1], np.int64)
    capacity = mistakes.shape[0]
    begun = n_mistakes
    for at in range(first, rows.shape[0]):
        if tracking and n_mistakes > 0:
            for place in range(places[at - 1] + 1, places[at]):
                if bounds[order[place]] <= 0:
                    return at, n_mistakes
        if n_mistakes == capacity or (n_mistakes > begun and gram.shape[0] == 0):
            return at, n_mistakes
        row = rows[at]
        _changed_scores(block[at], left, right, n_mistakes, symmetric, row, scores)
        if norm > 0:
            for j in range(n):
                product = inner[inner_rows[at], j] if norm == 2 else 0.0
                scores[j] *= _inverse_norm(norm, sizes[row], sizes[j], product)
        found = _nearest_others(scores, spans[group[row]], original, best, nearest)
        near, far = 0.0, 0.0
        for t in range(k):
            if target_weights[row, t] != 0:
                near += scores[targets[row, t]]
        for t in range(found):
            far += best[t]
        bounds[row] = near - far - _SAFETY * (abs(near) + abs(far))
        if near - far > 0:
            continue

        mistakes[n_mistakes] = at
        for t in range(others.shape[1]):
            others[n_mistakes, t], other_weights[n_mistakes, t] = 0, 0.0
        for t in range(found):
            j = nearest[t]
            product = inner[inner_rows[at], j] if norm == 2 else 0.0
            others[n_mistakes, t] = j
            other_weights[n_mistakes, t] = _inverse_norm(norm, sizes[row], sizes[j], product)
        if gram.shape[0] > 0:
            for j in range(n):
                left[n_mistakes, j] = gram[row, j]
                right[n_mistakes, j] = 0.0
            for t in range(k):
                weight, y = target_weights[row, t], targets[row, t]
                if weight != 0:
                    for j in range(n):
                        right[n_mistakes, j] += weight * gram[y, j]
            for t in range(found):
                weight, z = other_weights[n_mistakes, t], nearest[t]
                for j in range(n):
                    right[n_mistakes, j] -= weight * gram[z, j]
            if tracking:
                lower_bounds(left[n_mistakes], right[n_mistakes], symmetric, segments, reach,
                             group, targets, target_weights, most_inverse, least_inverse,
                             n_others, bounds)  # fmt: skip
        n_mistakes += 1
    return rows.shape[0], n_mistakes
