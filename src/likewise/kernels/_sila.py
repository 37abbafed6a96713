"""SiLA's perceptron: visits of rows, updates at mistakes, and lower bounds of margins."""

import numpy as np

from likewise.kernels._jit import kernel
from likewise.kernels._sila_scores import (
    add_pairs,
    changed_scores,
    current_query,
    dot,
    exact_margin,
    list_others,
    nearest_others,
    normalize,
    rounding,
    sum_of_targets,
)

_TINY = 1e-30  # above the error of an underflow in single precision
_SAFETY = 1e-10  # a margin below this share of its terms is always computed


@kernel
def lower_bound(near, far, slack):
    """Return a lower bound of near − far, whose error is `slack` plus rounding."""
    return near - far - _SAFETY * (abs(near) + abs(far)) - slack


@kernel
def _lower(left, right, problem, slack, bounds):
    """Lower the bounds by the largest effect of adding left_i right_j / N_ij to every score.

    The effect on the targets is known; the scores of other rows gain at most the largest gain.
    """
    segments, reach, group = problem.segments, problem.reach, problem.group
    n_segments = segments.shape[0] - 1
    highest, lowest = np.full(n_segments, -np.inf), np.full(n_segments, np.inf)
    for s in range(n_segments):
        for j in range(segments[s], segments[s + 1]):
            highest[s] = max(highest[s], right[j])
            lowest[s] = min(lowest[s], right[j])
    n_groups = reach.shape[0]
    group_max, group_min = np.full(n_groups, -np.inf), np.full(n_groups, np.inf)
    for g in range(n_groups):
        for part in range(2):
            for s in range(reach[g, 2 * part], reach[g, 2 * part + 1]):
                group_max[g] = max(group_max[g], highest[s])
                group_min[g] = min(group_min[g], lowest[s])
    for i in range(left.shape[0]):
        weight = np.float64(left[i])
        near = 0.0
        for t in range(problem.targets.shape[1]):
            near += right[problem.targets[i, t]] * problem.target_weights[i, t]
        near *= weight
        far = max(weight * group_max[group[i]], weight * group_min[group[i]])
        far *= problem.n_others[i] * (problem.max_inverse[i] if far > 0 else problem.min_inverse[i])
        bounds[i] += lower_bound(near, far, slack)


@kernel
def lower_bounds(left, right, problem, n_features, bounds):
    """Lower the margin bound of every row by the largest effect of one mistake.

    Parameters
    ----------
    left, right : (n,), x_i · (row of the mistake) and x_i · d of every row
    problem : SilaProblem
    n_features : int, which determines their rounding error in single precision
    bounds : (n,), changed in place
    """
    k = problem.targets.shape[1]
    slack = 2 * k * rounding(left, n_features, k, 0) * 4 * k
    _lower(left, right, problem, slack, bounds)
    if problem.symmetric:
        _lower(right, left, problem, slack, bounds)


@kernel
def _add_rows(matrix, rows, weights, sign, out):
    """Add rows of a matrix times weight and sign, in the precision of the matrix."""
    for t in range(rows.shape[0]):
        weight, source = matrix.dtype.type(sign * weights[t]), matrix[rows[t]]
        if weight != 0:
            for j in range(out.shape[0]):
                out[j] += weight * source[j]


@kernel
def _write_pair(gram, row, problem, others, other_weights, left, right):
    """Write x_i · x and x_i · d of every row, for a mistake at `row`."""
    left[:] = gram[row]
    right[:] = 0
    _add_rows(gram, problem.targets[row], problem.target_weights[row], 1, right)
    _add_rows(gram, others, other_weights, -1, right)


@kernel
def _is_certain(near, far, best, n_found, k, slack):
    """Return whether scores with an error of at most `slack` decide mistake and nearest others."""
    if not (abs(near - far) > 2 * k * slack):  # also on overflow in single precision
        return False
    return near > far or n_found <= k or best[k - 1] - best[k] > 2 * slack


@kernel
def visit_rows(first, rows, places, order, block, queries, X, problem, inner, inner_rows, gram,
               left, right, n_mistakes, mistakes, others, other_weights, tracking,
               bounds):  # fmt: skip
    """Visit the rows of a block from position `first`; return the stop and the number of mistakes.

    It stops at the end of the block; at the capacity for mistakes; after a mistake without a Gram
    matrix, so that the caller completes `left` and `right`; and before a row that is not in the
    block and, after a mistake, may be a mistake itself.

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
    inner, inner_rows : xᵀy, and its row number for each row of the block; for Jaccard
    gram : (n, n), or (0, 0) for none
    left, right : (capacity, n), written: each mistake's x_i · x and x_i · d
    n_mistakes : int, mistakes in the block so far
    mistakes : (capacity,) int64, written: positions in the block
    others, other_weights : (capacity, k) int64 and float64, written: the nearest others and 1/N
    tracking : bool, whether to update `bounds`
    bounds : (n,), changed in place: lower bounds of the margins
    """
    n, k, p = block.shape[1], problem.targets.shape[1], X.shape[1]
    single = block.itemsize == 4
    scores = np.empty(n, block.dtype)
    # one more than needed, for the gap after the last
    best, nearest = np.empty(k + 1, block.dtype), np.empty(k + 1, np.int64)
    exact, query = np.empty(k), np.empty(p)
    capacity = left.shape[0]
    n_before = n_mistakes
    for at in range(first, rows.shape[0]):
        if tracking and n_mistakes > 0:
            for place in range(places[at - 1] + 1, places[at]):
                if bounds[order[place]] <= 0:
                    return at, n_mistakes
        if n_mistakes == capacity or (n_mistakes > n_before and gram.shape[0] == 0):
            return at, n_mistakes
        row = rows[at]
        products = inner[inner_rows[at] if problem.norm == 2 else 0]
        changed_scores(block[at], left, right, n_mistakes, problem.symmetric, row, scores)
        if problem.norm > 0:
            normalize(scores, row, problem, products)
        spans = problem.spans[problem.group[row]]
        n_found = nearest_others(scores, spans, problem.original, best, nearest)
        near, far, slack = sum_of_targets(scores, row, problem), 0.0, 0.0
        for t in range(min(n_found, k)):
            far += best[t]
        if single:
            n_pairs = n_mistakes * (2 if problem.symmetric else 1)
            size = np.sqrt(dot(queries[at], queries[at])) + 4 * k * n_pairs
            slack = rounding(block, p, k, n_pairs) * size + _TINY
            if not _is_certain(near, far, best, n_found, k, slack):
                current_query(queries[at], X, row, rows, problem, n_mistakes, mistakes, others,
                              other_weights, query)  # fmt: skip
                lowest = best[k - 1] - 2 * slack if n_found >= k else -np.inf
                near, far, n_found = exact_margin(query, X, row, problem, scores, lowest, exact,
                                                nearest)  # fmt: skip
                slack = 0.0
        bounds[row] = lower_bound(near, far, 2 * k * slack)
        if near - far > 0:
            continue

        u = n_mistakes
        mistakes[u] = at
        list_others(row, nearest[: min(n_found, k)], problem, products, others[u], other_weights[u])
        if gram.shape[0] > 0:
            _write_pair(gram, row, problem, others[u], other_weights[u], left[u], right[u])
            if tracking:
                lower_bounds(left[u], right[u], problem, p, bounds)
        n_mistakes += 1
    return rows.shape[0], n_mistakes


@kernel
def visit_each(order, columns, A, weighted, n_visits, diagonal, problem, inner, mistakes, others,
               other_weights):  # fmt: skip
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
    inner : (n, n), xᵀy; for Jaccard
    mistakes : (n,) int64, written: positions in the order
    others, other_weights : (n, k) int64 and float64, written: the nearest others and 1/N
    """
    p, n = columns.shape
    k = problem.targets.shape[1]
    query, scores = np.empty(p), np.empty(n)
    best, nearest = np.empty(k), np.empty(k, np.int64)
    features, rows = slice(0, p), slice(0, n)
    u = 0
    for at in range(n):
        row = order[at]
        query[:], scores[:] = 0.0, 0.0
        if diagonal:
            query[:] = columns[:, row] * A[0]
        else:
            add_pairs(columns, A, p, row, features, query)
        add_pairs(query.reshape(p, 1), columns, p, 0, rows, scores)
        products = inner[row if problem.norm == 2 else 0]
        if problem.norm > 0:
            normalize(scores, row, problem, products)
        spans = problem.spans[problem.group[row]]
        n_found = nearest_others(scores, spans, problem.original, best, nearest)
        if sum_of_targets(scores, row, problem) - best[:n_found].sum() > 0:
            continue
        mistakes[u] = at
        list_others(row, nearest[:n_found], problem, products, others[u], other_weights[u])
        _difference(columns, row, problem, others[u], other_weights[u], query)
        _update(columns[:, row], query, diagonal, problem.symmetric, n_visits + at, A, weighted)
        u += 1
    return u


@kernel
def _difference(columns, row, problem, others, other_weights, out):
    """Write d = Σ y/N − Σ z/N of a mistake."""
    for f in range(out.shape[0]):
        out[f] = 0.0
        for t in range(others.shape[0]):
            near, far = columns[f, problem.targets[row, t]], columns[f, others[t]]
            out[f] += problem.target_weights[row, t] * near - other_weights[t] * far


@kernel
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
