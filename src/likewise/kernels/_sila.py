"""SiLA's perceptron: visits of rows, updates at mistakes, and lower bounds of margins.

Rows are sorted by class, so that the rows of other classes (others) are at most two ranges of
columns.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel

_STRIP = 256
_SINGLE = 1.1 * 2.0**-24  # unit roundoff in single precision, including higher-order terms
_TINY = 1e-30  # above the error of an underflow in single precision
_SAFETY = 1e-10  # a margin below this share of its terms is always computed


@kernel
def visit_rows(first, rows, places, order, block, queries, X, problem, inner, inner_rows, gram,
               pairs, n_mistakes, mistakes, others, other_weights, tracking, bounds, scores, best,
               nearest, vectors, extremes):  # fmt: skip
    """Visit the rows of a block from position `first`; return the stop and the number of mistakes.

    It stops at the end of the block; at the capacity for mistakes; after a mistake without a Gram
    matrix, so that the caller completes `pairs`; and before a row that is not in the block and,
    after a mistake, may be a mistake itself.

    With a block in single precision, scores are computed again in double where rounding could
    change whether a row is a mistake, or its nearest others.

    Parameters
    ----------
    first : int
    rows : (b,) int64, the rows to visit, in order
    places, order : (b,) and (n,) int64, positions in the order of all visits, and that order
    block : (b, n), xᵀAy of those rows with all, before any mistake of this block
    queries, X : (b, n_features) and (n, n_features) float64, xᵀA and all rows, of unit length;
        needed only if `block` is in single precision
    problem : SilaProblem
    inner, inner_rows : xᵀy, and its row number for each row of the block; for Dice a row of zeros
    gram : (n, n), or (0, 0) for none
    pairs : (2, capacity, n), written: each mistake's x_i · x and x_i · d
    n_mistakes : int, mistakes in the block so far
    mistakes : (capacity,) int64, written: positions in the block
    others, other_weights : (capacity, k) int64 and float64, written: the nearest others and w/N
    tracking : bool, whether to update `bounds`
    bounds : (n,), changed in place: lower bounds of the margins
    scores, best, nearest, vectors, extremes : scratch arrays
        (n,) of the precision of `block`, (k + 1,) float64 and int64, (2, n_features) float64, and
        as in `lower_bounds`
    """
    (norm, symmetric, sizes, original, segments, reach, spans, group, targets, target_weights,
     row_weights, max_inverse, min_inverse, n_others) = problem  # fmt: skip
    k, p = targets.shape[1], X.shape[1]
    sides = 2 if symmetric else 1
    single = block.itemsize == 4
    capacity = pairs.shape[1]
    n_before = n_mistakes
    for at in range(first, rows.shape[0]):
        if tracking and n_mistakes > 0:
            for place in range(places[at - 1] + 1, places[at]):
                if bounds[order[place]] <= 0:
                    return at, n_mistakes
        if n_mistakes == capacity or (n_mistakes > n_before and gram.shape[0] == 0):
            return at, n_mistakes
        row = rows[at]
        products = inner[inner_rows[at] if norm == 2 else 0]
        _write_scores(block, at, pairs, n_mistakes, sides, row, scores)
        if norm > 0:
            _normalize(scores, sizes[row], sizes, products)
        # one more than needed, for the gap after the last
        n_found = _nearest_others(scores, spans, group[row], original, k + 1, best, nearest)
        near, far, slack = _sum_of_targets(scores, row, targets, target_weights), 0.0, 0.0
        for t in range(min(n_found, k)):
            far += best[t]
        if single:
            n_pairs = n_mistakes * sides
            size = np.sqrt(_dot(queries, at, queries, at)) + 4 * k * n_pairs
            slack = _SINGLE * _roundings(p, k, n_pairs) * size + _TINY
            certain = abs(near - far) > 2 * k * slack  # false on overflow in single precision
            certain = certain and (near > far or n_found <= k or best[k - 1] - best[k] > 2 * slack)
            if not certain:
                _write_query(queries, at, X, row, rows, targets, target_weights, row_weights, sides,
                             n_mistakes, mistakes, others, other_weights, vectors)  # fmt: skip
                lowest = best[k - 1] - 2 * slack if n_found >= k else -np.inf
                near, far, n_found = _exact_margin(
                    vectors, X, row, targets, target_weights, spans, group[row], original, scores,
                    lowest, best, nearest,
                )  # fmt: skip
                slack = 0.0
        bounds[row] = _lower_bound(near, far, 2 * k * slack)
        if near - far > 0:
            continue

        u = n_mistakes
        mistakes[u] = at
        _list_others(row, nearest, min(n_found, k), norm, sizes, products, row_weights, u, others,
                     other_weights)  # fmt: skip
        if gram.shape[0] > 0:
            _write_pair(gram, row, targets, target_weights, row_weights, u, others, other_weights,
                        pairs)  # fmt: skip
            if tracking:
                _lower(pairs, u, sides, single, p, segments, reach, group, targets, target_weights,
                       max_inverse, min_inverse, n_others, extremes, bounds)  # fmt: skip
        n_mistakes += 1
    return rows.shape[0], n_mistakes


@kernel
def visit_each(order, columns, A, weighted, n_visits, diagonal, problem, inner, mistakes, others,
               other_weights, query, scores, best, nearest):  # fmt: skip
    """Visit every row with a product of its own, and update A; return the number of mistakes.

    This is faster than blocks for narrow rows and for the diagonal form.

    Parameters
    ----------
    order : (n,) int64, the rows in order of visits
    columns : (n_features, n), the transposed rows
    A, weighted : (n_features, n_features), changed in place; one row for the diagonal form
        Sum of the updates, and sum of the updates times the number of visits before them.
    n_visits : int, visits so far
    diagonal : bool
    problem : SilaProblem
    inner : (n, n), xᵀy; for Dice a row of zeros
    mistakes : (n,) int64, written: positions in the order
    others, other_weights : (n, k) int64 and float64, written: the nearest others and w/N
    query, scores, best, nearest : scratch arrays
        (2, n_features), (n,) and (k,) float64, and (k,) int64
    """
    (norm, symmetric, sizes, original, _, _, spans, group, targets, target_weights, row_weights, _,
     _, _) = problem  # fmt: skip
    p, n = columns.shape
    k = targets.shape[1]
    x, product = query[0], query[1]
    u = np.int64(0)  # not a literal, for which helpers would be compiled once more
    for at in range(n):
        row = order[at]
        for f in range(p):
            x[f] = columns[f, row]
            product[f] = x[f] * A[0, f] if diagonal else 0.0
        if not diagonal:
            _add_rows(x, A, p, 0, p, product)
        for j in range(n):
            scores[j] = 0.0
        _add_rows(product, columns, p, 0, n, scores)
        products = inner[row if norm == 2 else 0]
        if norm > 0:
            _normalize(scores, sizes[row], sizes, products)
        n_found = _nearest_others(scores, spans, group[row], original, k, best, nearest)
        near, far = _sum_of_targets(scores, row, targets, target_weights), 0.0
        for t in range(n_found):
            far += best[t]
        if near - far > 0:
            continue
        mistakes[u] = at
        _list_others(row, nearest, n_found, norm, sizes, products, row_weights, u, others,
                     other_weights)  # fmt: skip
        # d = w (Σ y/N − Σ z/N)
        for f in range(p):
            product[f] = 0.0
            for t in range(k):
                towards, away = columns[f, targets[row, t]], columns[f, others[u, t]]
                pull = row_weights[row] * target_weights[row, t]
                product[f] += pull * towards - other_weights[u, t] * away
        _update(x, product, diagonal, symmetric, n_visits + at, A, weighted)
        u += 1
    return u


@kernel
def lower_bounds(pairs, which, problem, n_features, extremes, bounds):
    """Lower the margin bound of every row by the largest effect of one mistake.

    Parameters
    ----------
    pairs : (2, capacity, n), x_i · (row of the mistake) and x_i · d of every row
    which : int, number of the mistake
    problem : SilaProblem
    n_features : int, which determines their rounding error in single precision
    extremes : (4, at least n_segments and n_groups) float64, a scratch array
    bounds : (n,), changed in place
    """
    (_, symmetric, _, _, segments, reach, _, group, targets, target_weights, _, max_inverse,
     min_inverse, n_others) = problem  # fmt: skip
    _lower(pairs, which, 2 if symmetric else 1, pairs.itemsize == 4, n_features, segments, reach,
           group, targets, target_weights, max_inverse, min_inverse, n_others, extremes,
           bounds)  # fmt: skip


@helper
def _lower(pairs, which, sides, single, n_features, segments, reach, group, targets, target_weights,
           max_inverse, min_inverse, n_others, extremes, bounds):  # fmt: skip
    """Lower the bounds by the largest effect of adding left_i right_j / N_ij to every score.

    The effect on the targets is known; the scores of other rows gain at most the largest gain.
    """
    k = targets.shape[1]
    slack = _SINGLE * _roundings(n_features, k, 0) * 8 * k * k if single else 0.0
    highest, lowest, group_max, group_min = extremes[0], extremes[1], extremes[2], extremes[3]
    for side in range(sides):
        left, right = pairs[side, which], pairs[1 - side, which]
        for s in range(segments.shape[0] - 1):
            highest[s], lowest[s] = -np.inf, np.inf
            for j in range(segments[s], segments[s + 1]):
                highest[s] = max(highest[s], right[j])
                lowest[s] = min(lowest[s], right[j])
        for g in range(reach.shape[0]):
            group_max[g], group_min[g] = -np.inf, np.inf
            for part in range(2):
                for s in range(reach[g, 2 * part], reach[g, 2 * part + 1]):
                    group_max[g] = max(group_max[g], highest[s])
                    group_min[g] = min(group_min[g], lowest[s])
        for i in range(left.shape[0]):
            weight = np.float64(left[i])
            near = 0.0
            for t in range(k):
                near += right[targets[i, t]] * target_weights[i, t]
            near *= weight
            far = max(weight * group_max[group[i]], weight * group_min[group[i]])
            far *= n_others[i] * (max_inverse[i] if far > 0 else min_inverse[i])
            bounds[i] += _lower_bound(near, far, slack)


@helper
def _lower_bound(near, far, slack):
    """Return a lower bound on near − far, whose error is `slack` plus rounding."""
    return near - far - _SAFETY * (abs(near) + abs(far)) - slack


@helper
def _roundings(n_features, k, n_pairs):
    """Return the relative rounding error of a score, in units of the roundoff.

    A sum of n products has an error of at most n unit roundoffs of their total magnitude. An added
    pair, x_a · x and d · x_b with all x of unit length and d a sum of 2k of them, has terms of
    magnitude 2k twice, because both factors have an error.
    """
    return n_features + k + n_pairs + 8


@helper
def _write_scores(block, at, pairs, n_pairs, sides, row, scores):
    """Write a row of scores, with the updates of the block's mistakes."""
    n = scores.shape[0]
    for j in range(n):
        scores[j] = block[at, j]
    for start in range(0, n, _STRIP):
        for side in range(sides):
            _add_rows(pairs[side, :, row], pairs[1 - side], n_pairs, start, min(start + _STRIP, n),
                      scores)  # fmt: skip


@helper
def _add_rows(factors, rows, n_rows, start, stop, out):
    """Add factors[u] rows[u] to some columns, four rows at a time for fewer passes over `out`."""
    part = out[start:stop]
    whole = n_rows - n_rows % 4
    for u in range(0, whole, 4):
        a, b, c, d = factors[u], factors[u + 1], factors[u + 2], factors[u + 3]
        p, q = rows[u, start:stop], rows[u + 1, start:stop]
        r, s = rows[u + 2, start:stop], rows[u + 3, start:stop]
        for j in range(part.shape[0]):
            part[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for u in range(whole, n_rows):
        a, p = factors[u], rows[u, start:stop]
        for j in range(part.shape[0]):
            part[j] += a * p[j]


@helper
def _inverse(N):
    """Return 1/N, or 0 if N is not positive."""
    return 1.0 / N if N > 0 else 0.0


@helper
def _normalize(scores, size, sizes, products):
    """Divide the scores of a row by N = ‖x‖₁ + ‖y‖₁ − xᵀy; the products are 0 for Dice."""
    for j in range(scores.shape[0]):
        scores[j] *= _inverse(size + sizes[j] - products[j])


@helper
def _insert(score, j, n_found, original, size, best, rows):
    """Insert a score into the sorted list of the `size` highest; return its new length.

    Ties are sorted by original row number.
    """
    if n_found == size:
        last = best[size - 1]
        if score < last or (score == last and original[j] > original[rows[size - 1]]):
            return n_found
    position = min(n_found, size - 1)
    while position > 0 and (
        best[position - 1] < score
        or (best[position - 1] == score and original[rows[position - 1]] > original[j])
    ):
        best[position], rows[position] = best[position - 1], rows[position - 1]
        position -= 1
    best[position], rows[position] = score, j
    return min(n_found + 1, size)


@helper
def _nearest_others(scores, spans, group, original, size, best, rows):
    """List the highest scores in two ranges of columns, best first; return their number."""
    n_found = np.int64(0)
    for part in range(2):
        begin, end = spans[group, 2 * part], spans[group, 2 * part + 1]
        for start in range(begin, end, 64):
            stop = min(start + 64, end)
            if n_found == size:
                # branch-free, so that it is vectorized: most strips have none
                strip, worst, hits = scores[start:stop], scores.dtype.type(best[size - 1]), 0
                for j in range(strip.shape[0]):
                    hits += strip[j] >= worst
                if hits == 0:
                    continue
            for j in range(start, stop):
                n_found = _insert(np.float64(scores[j]), j, n_found, original, size, best, rows)
    return n_found


@helper
def _sum_of_targets(scores, row, targets, target_weights):
    """Return the sum of a row's scores with its targets."""
    total = 0.0
    for t in range(targets.shape[1]):
        if target_weights[row, t] != 0:
            total += scores[targets[row, t]]
    return total


@helper
def _list_others(row, nearest, n_found, norm, sizes, products, row_weights, u, others, weights):
    """Write the nearest others and their w/N, with w of the row; weight 0 for missing ones."""
    for t in range(others.shape[1]):
        j = nearest[t] if t < n_found else 0
        others[u, t] = j
        weights[u, t] = row_weights[row] if t < n_found else 0.0
        if norm > 0:
            weights[u, t] *= _inverse(sizes[row] + sizes[j] - products[j])


@helper
def _dot(X, i, Y, j):
    """Return the inner product of two rows."""
    total = 0.0
    for f in range(X.shape[1]):
        total += X[i, f] * Y[j, f]
    return total


@helper
def _write_query(queries, at, X, row, rows, targets, target_weights, row_weights, sides, n_mistakes,
                 mistakes, others, other_weights, vectors):  # fmt: skip
    """Write xᵀA with the updates of the block's mistakes, in double precision."""
    p = X.shape[1]
    for f in range(p):
        vectors[0, f] = queries[at, f]
    for u in range(n_mistakes):
        cause = rows[mistakes[u]]
        for f in range(p):
            vectors[1, f] = 0.0
        for t in range(targets.shape[1]):
            towards, away = targets[cause, t], others[u, t]
            plus, minus = row_weights[cause] * target_weights[cause, t], other_weights[u, t]
            for f in range(p):
                vectors[1, f] += plus * X[towards, f] - minus * X[away, f]
        alike = _dot(X, row, X, cause)
        along = _dot(X, row, vectors, 1) if sides == 2 else 0.0
        for f in range(p):
            vectors[0, f] += alike * vectors[1, f]
        if sides == 2:
            for f in range(p):
                vectors[0, f] += along * X[cause, f]


@helper
def _exact_margin(vectors, X, row, targets, target_weights, spans, group, original, scores, lowest,
                  best, nearest):  # fmt: skip
    """Return the sums of the scores of a row's targets and nearest others, and their number.

    Scores are qᵀx in double precision; others with approximate scores below `lowest` are skipped.
    """
    k, n_found = targets.shape[1], np.int64(0)
    for part in range(2):
        for j in range(spans[group, 2 * part], spans[group, 2 * part + 1]):
            if not (scores[j] < lowest):
                n_found = _insert(_dot(vectors, 0, X, j), j, n_found, original, k, best, nearest)
    near, far = 0.0, 0.0
    for t in range(k):
        if target_weights[row, t] != 0:
            near += _dot(vectors, 0, X, targets[row, t])
    for t in range(n_found):
        far += best[t]
    return near, far, n_found


@helper
def _write_pair(gram, row, targets, target_weights, row_weights, u, others, other_weights,
                pairs):  # fmt: skip
    """Write x_i · x and x_i · d of every row, for a mistake at `row`."""
    k, n = targets.shape[1], gram.shape[0]
    for j in range(n):
        pairs[0, u, j] = gram[row, j]
        pairs[1, u, j] = 0.0
    for t in range(2 * k):
        source = targets[row, t] if t < k else others[u, t - k]
        weight = row_weights[row] * target_weights[row, t] if t < k else -other_weights[u, t - k]
        weight = gram.dtype.type(weight)
        if weight != 0:
            for j in range(n):
                pairs[1, u, j] += weight * gram[source, j]


@helper
def _update(x, d, diagonal, symmetric, n_visits, A, weighted):
    """Add x dᵀ, and for the symmetric form d xᵀ, so that A stays exactly symmetric."""
    p = x.shape[0]
    if diagonal:
        for f in range(p):
            A[0, f] += x[f] * d[f]
            weighted[0, f] += n_visits * (x[f] * d[f])
        return
    for f in range(p):
        for g in range(f if symmetric else 0, p):
            change = x[f] * d[g]
            if symmetric:
                change += d[f] * x[g]
            A[f, g] += change
            weighted[f, g] += n_visits * change
            if symmetric:
                A[g, f], weighted[g, f] = A[f, g], weighted[f, g]
