"""SiLA's inner loop: visit rows one after the other, and let each mistake change what follows.

Rows are sorted by class, so that the rows of other classes are at most two spans of columns.
"""

from typing import NamedTuple

import numpy as np

from likewise.kernels._jit import kernel

_STRIP = 256
_SAFETY = 1e-10  # a margin nearer to 0 than this share of its terms is always computed
_SINGLE = 1.1 * 2.0**-24  # a unit of rounding in single precision, and what its powers add
_TINY = 1e-30  # far above what is lost where single precision underflows


class SilaProblem(NamedTuple):
    """What stays the same in all visits.

    Attributes
    ----------
    norm : int
        0 for N = 1, 1 for Dice, 2 for Jaccard.
    symmetric : bool
        Whether a mistake adds d xᵀ as well as x dᵀ.
    sizes : (n,)
        Sums of the rows.
    original : (n,) int64
        Decides between equal scores.
    segments : (n_segments + 1,) int64
        Where the classes begin.
    reach, spans : (n_groups, 4) int64
        The segments, and the columns, that are others to a group: from, to and again from, to.
    group : (n,) int64
    targets, target_weights : (n, k) int64 and float64
        Weight 1/N, 0 where there is no target.
    most_inverse, least_inverse : (n,)
        Bounds of 1/N over a row's others.
    n_others : (n,) int64
        How many others are in a margin.
    """

    norm: int
    symmetric: bool
    sizes: np.ndarray
    original: np.ndarray
    segments: np.ndarray
    reach: np.ndarray
    spans: np.ndarray
    group: np.ndarray
    targets: np.ndarray
    target_weights: np.ndarray
    most_inverse: np.ndarray
    least_inverse: np.ndarray
    n_others: np.ndarray


@kernel
def _add_pairs(left, right, n_pairs, row, strip, out):
    """Add left[u, row] right[u] of every pair; four at a time, to pass less often over `out`."""
    whole = n_pairs - n_pairs % 4
    for u in range(0, whole, 4):
        a, b, c, d = left[u, row], left[u + 1, row], left[u + 2, row], left[u + 3, row]
        p, q, r, s = right[u, strip], right[u + 1, strip], right[u + 2, strip], right[u + 3, strip]
        for j in range(out.shape[0]):
            out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for u in range(whole, n_pairs):
        a, p = left[u, row], right[u, strip]
        for j in range(out.shape[0]):
            out[j] += a * p[j]


@kernel
def _changed_scores(block, left, right, n_mistakes, symmetric, row, out):
    """Write a row of the block with what the block's mistakes have added to it."""
    n = out.shape[0]
    out[:] = block
    for start in range(0, n, _STRIP):
        strip = slice(start, min(start + _STRIP, n))
        _add_pairs(left, right, n_mistakes, row, strip, out[strip])
        if symmetric:
            _add_pairs(right, left, n_mistakes, row, strip, out[strip])


@kernel
def _inverse_norm(norm, size, other, product):
    """Return 1/N, and 0 where N is not positive: 1, ‖x‖₁ + ‖y‖₁, or that less xᵀy."""
    if norm == 0:
        return 1.0
    N = size + other - product
    return 1.0 / N if N > 0 else 0.0


@kernel
def _normalise(scores, row, problem, inner):
    """Divide the scores of a row by N."""
    for j in range(scores.shape[0]):
        product = inner[j] if problem.norm == 2 else 0.0
        size, other = problem.sizes[row], problem.sizes[j]
        scores[j] *= _inverse_norm(problem.norm, size, other, product)


@kernel
def _insert(score, j, found, original, best, rows):
    """Put a score into its place in the list of the highest; return how many it has now.

    Of equal scores the lower original row comes first.
    """
    size = best.shape[0]
    if found == size:
        last = best[size - 1]
        if score < last or (score == last and original[j] > original[rows[size - 1]]):
            return found
    place = min(found, size - 1)
    while place > 0 and (
        best[place - 1] < score
        or (best[place - 1] == score and original[rows[place - 1]] > original[j])
    ):
        best[place], rows[place] = best[place - 1], rows[place - 1]
        place -= 1
    best[place], rows[place] = score, j
    return min(found + 1, size)


@kernel
def _nearest_others(scores, spans, original, best, rows):
    """List the highest scores in two spans of columns, best first; return how many there are."""
    size = best.shape[0]
    found = 0
    for part in range(2):
        begin, end = spans[2 * part], spans[2 * part + 1]
        for start in range(begin, end, 64):
            stop = min(start + 64, end)
            if found == size:
                # without a branch, so that many are compared at a time: most strips have none
                strip, worst, hits = scores[start:stop], best[size - 1], 0
                for j in range(strip.shape[0]):
                    hits += strip[j] >= worst
                if hits == 0:
                    continue
            for j in range(start, stop):
                found = _insert(scores[j], j, found, original, best, rows)
    return found


@kernel
def _current_query(query, X, row, rows, problem, n_mistakes, mistakes, others, other_weights, out):
    """Write xᵀA as it is after the block's mistakes, in double precision."""
    p = X.shape[1]
    out[:] = query
    difference = np.empty(p)
    for u in range(n_mistakes):
        cause = rows[mistakes[u]]
        difference[:] = 0.0
        for t in range(problem.targets.shape[1]):
            near, far = X[problem.targets[cause, t]], X[others[u, t]]
            plus, minus = problem.target_weights[cause, t], other_weights[u, t]
            for f in range(p):
                difference[f] += plus * near[f] - minus * far[f]
        alike = _dot(X[row], X[cause])
        for f in range(p):
            out[f] += alike * difference[f]
        if problem.symmetric:
            along = _dot(X[row], difference)
            for f in range(p):
                out[f] += along * X[cause, f]


@kernel
def _dot(x, y):
    total = 0.0
    for f in range(x.shape[0]):
        total += x[f] * y[f]
    return total


@kernel
def _nearest_exactly(query, X, scores, lowest, spans, original, best, rows):
    """List the highest qᵀx of the columns whose approximate scores are not below `lowest`."""
    found = 0
    for part in range(2):
        for j in range(spans[2 * part], spans[2 * part + 1]):
            if not (scores[j] < lowest):
                found = _insert(_dot(query, X[j]), j, found, original, best, rows)
    return found


@kernel
def _lower(left, right, problem, slack, bounds):
    """Lower the bounds by what adding left_i right_j / N_ij to every score can do to a margin.

    What it does to the targets is known; of the others each gains at most the largest gain.
    """
    segments, reach, group = problem.segments, problem.reach, problem.group
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
    for i in range(left.shape[0]):
        weight = np.float64(left[i])
        near = 0.0
        for t in range(problem.targets.shape[1]):
            near += right[problem.targets[i, t]] * problem.target_weights[i, t]
        near *= weight
        far = max(weight * most[group[i]], weight * least[group[i]])
        far *= problem.n_others[i] * (
            problem.most_inverse[i] if far > 0 else problem.least_inverse[i]
        )
        bounds[i] += near - far - _SAFETY * (abs(near) + abs(far)) - slack


@kernel
def lower_bounds(left, right, problem, n_features, bounds):
    """Lower every row's bound of its margin by what one mistake can do to it.

    Parameters
    ----------
    left, right : (n,), x_i · (row of the mistake) and x_i · d of every row
    problem : SilaProblem
    n_features : int, from which follows how far off they are in single precision
    bounds : (n,), changed in place
    """
    k = problem.targets.shape[1]
    slack = 2 * k * _rounding(left, n_features, k, 0) * 4 * k
    _lower(left, right, problem, slack, bounds)
    if problem.symmetric:
        _lower(right, left, problem, slack, bounds)


@kernel
def _add_rows(matrix, rows, weights, sign, out):
    """Add rows of a matrix, each by its weight and the sign, in its own precision."""
    for t in range(rows.shape[0]):
        weight, source = matrix.dtype.type(sign * weights[t]), matrix[rows[t]]
        if weight != 0:
            for j in range(out.shape[0]):
                out[j] += weight * source[j]


@kernel
def _rounding(values, n_features, k, n_pairs):
    """Return what share of its terms a score in the precision of `values` may be off by.

    A product of n terms is off by at most n units of rounding of their total size. A pair that is
    added, x_a · x and d · x_b with all x of unit length and d a sum of 2k of them, has terms of
    size 2k twice, as either factor is off.
    """
    return _SINGLE * (n_features + k + n_pairs + 8) if values.itemsize == 4 else 0.0


@kernel
def visit_rows(first, rows, places, order, block, queries, X, problem, inner, inner_rows, gram,
               left, right, n_mistakes, mistakes, others, other_weights, tracking,
               bounds):  # fmt: skip
    """Visit the rows of a block from the place `first`; return where it stopped, and the mistakes.

    It stops at the end of the block; when there is no room for another mistake; after a mistake
    where there is no Gram matrix, for `left` and `right` to be completed outside; and before a
    row that was left out of the block and, after a mistake, may be one itself.

    A block in single precision decides only what rounding cannot: where it could make a mistake of
    a row, or another row the nearest, the scores that matter are computed anew in double.

    Parameters
    ----------
    first : int
    rows : (b,) int64, the rows to visit, in order
    places, order : (b,) and (n,) int64, where they stand in the order of all visits, and that order
    block : (b, n), xᵀAy of those rows with all, before any mistake of this block
    queries, X : (b, n_features) and (n, n_features) float64, xᵀA and all rows, of unit length;
        asked for only where `block` is in single precision
    problem : SilaProblem
    inner, inner_rows : xᵀy, and which of its rows belongs to each of the block; for Jaccard
    gram : (n, n), or (0, 0) where there is none
    left, right : (capacity, n), written: each mistake's x_i · x and x_i · d
    n_mistakes : int, how many the block has had already
    mistakes : (capacity,) int64, written: places in the block
    others, other_weights : (capacity, k) int64 and float64, written: the nearest others and 1/N
    tracking : bool, whether `bounds` is kept
    bounds : (n,), changed in place: what a row's margin is at least
    """
    n, k, p = block.shape[1], problem.targets.shape[1], X.shape[1]
    scores = np.empty(n, block.dtype)
    # one more than are needed, to see by how much the last of them leads
    best, nearest = np.empty(k + 1, block.dtype), np.empty(k + 1, np.int64)
    exact, query = np.empty(k), np.empty(p)
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
        _changed_scores(block[at], left, right, n_mistakes, problem.symmetric, row, scores)
        if problem.norm > 0:
            _normalise(scores, row, problem, inner[inner_rows[at] if problem.norm == 2 else 0])
        spans = problem.spans[problem.group[row]]
        found = _nearest_others(scores, spans, problem.original, best, nearest)
        near, far = 0.0, 0.0
        for t in range(k):
            if problem.target_weights[row, t] != 0:
                near += scores[problem.targets[row, t]]
        for t in range(min(found, k)):
            far += best[t]
        slack = 0.0
        if block.itemsize == 4:
            n_pairs = 2 * n_mistakes
            size = np.sqrt(_dot(queries[at], queries[at])) + 4 * k * n_pairs
            slack = _rounding(block, p, k, n_pairs) * size + _TINY
            clear = abs(near - far) > 2 * k * slack
            if near - far < 0 and found > k:
                clear = clear and best[k - 1] - best[k] > 2 * slack
            if not clear:
                _current_query(queries[at], X, row, rows, problem, n_mistakes, mistakes, others,
                               other_weights, query)  # fmt: skip
                lowest = best[k - 1] - 2 * slack if found >= k else -np.inf
                found = _nearest_exactly(query, X, scores, lowest, spans, problem.original,
                                         exact, nearest)  # fmt: skip
                near, far, slack = 0.0, exact[:found].sum(), 0.0
                for t in range(k):
                    if problem.target_weights[row, t] != 0:
                        near += _dot(query, X[problem.targets[row, t]])
        bounds[row] = near - far - _SAFETY * (abs(near) + abs(far)) - 2 * k * slack
        if near - far > 0:
            continue

        mistakes[n_mistakes] = at
        found = min(found, k)
        for t in range(k):
            others[n_mistakes, t], other_weights[n_mistakes, t] = 0, 0.0
        for t in range(found):
            j = nearest[t]
            product = inner[inner_rows[at], j] if problem.norm == 2 else 0.0
            others[n_mistakes, t] = j
            other_weights[n_mistakes, t] = _inverse_norm(
                problem.norm, problem.sizes[row], problem.sizes[j], product
            )
        if gram.shape[0] > 0:
            left[n_mistakes, :] = gram[row]
            right[n_mistakes, :] = 0
            _add_rows(gram, problem.targets[row], problem.target_weights[row], 1, right[n_mistakes])
            _add_rows(gram, nearest[:found], other_weights[n_mistakes], -1, right[n_mistakes])
            if tracking:
                lower_bounds(left[n_mistakes], right[n_mistakes], problem, p, bounds)
        n_mistakes += 1
    return rows.shape[0], n_mistakes
