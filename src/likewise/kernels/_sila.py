"""SiLA's inner loop: visit rows one after the other, and let each mistake change what follows."""

import numpy as np

from likewise.kernels._jit import kernel
from likewise.kernels._sila_bounds import lower_bound, lower_bounds
from likewise.kernels._sila_scores import (
    add_pairs,
    changed_scores,
    current_query,
    dot,
    exact_margin,
    list_others,
    nearest_others,
    normalise,
    rounding,
    sum_of_targets,
)

_TINY = 1e-30  # far above what is lost where single precision underflows


@kernel
def _add_rows(matrix, rows, weights, sign, out):
    """Add rows of a matrix, each by its weight and the sign, in its own precision."""
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
def _is_clear(near, far, best, found, k, slack):
    """Return whether scores that are off by at most `slack` tell mistake and nearest others."""
    if not (abs(near - far) > 2 * k * slack):  # also where single precision has overflowed
        return False
    return near > far or found <= k or best[k - 1] - best[k] > 2 * slack


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
    single = block.itemsize == 4
    scores = np.empty(n, block.dtype)
    # one more than are needed, to see by how much the last of them leads
    best, nearest = np.empty(k + 1, block.dtype), np.empty(k + 1, np.int64)
    exact, query = np.empty(k), np.empty(p)
    capacity = left.shape[0]
    begun = n_mistakes
    for at in range(first, rows.shape[0]):
        if tracking and n_mistakes > 0:
            for place in range(places[at - 1] + 1, places[at]):
                if bounds[order[place]] <= 0:
                    return at, n_mistakes
        if n_mistakes == capacity or (n_mistakes > begun and gram.shape[0] == 0):
            return at, n_mistakes
        row = rows[at]
        products = inner[inner_rows[at] if problem.norm == 2 else 0]
        changed_scores(block[at], left, right, n_mistakes, problem.symmetric, row, scores)
        if problem.norm > 0:
            normalise(scores, row, problem, products)
        spans = problem.spans[problem.group[row]]
        found = nearest_others(scores, spans, problem.original, best, nearest)
        near, far, slack = sum_of_targets(scores, row, problem), 0.0, 0.0
        for t in range(min(found, k)):
            far += best[t]
        if single:
            n_pairs = n_mistakes * (2 if problem.symmetric else 1)
            size = np.sqrt(dot(queries[at], queries[at])) + 4 * k * n_pairs
            slack = rounding(block, p, k, n_pairs) * size + _TINY
            if not _is_clear(near, far, best, found, k, slack):
                current_query(queries[at], X, row, rows, problem, n_mistakes, mistakes, others,
                              other_weights, query)  # fmt: skip
                lowest = best[k - 1] - 2 * slack if found >= k else -np.inf
                near, far, found = exact_margin(query, X, row, problem, scores, lowest, exact,
                                                nearest)  # fmt: skip
                slack = 0.0
        bounds[row] = lower_bound(near, far, 2 * k * slack)
        if near - far > 0:
            continue

        u = n_mistakes
        mistakes[u] = at
        list_others(row, nearest[: min(found, k)], problem, products, others[u], other_weights[u])
        if gram.shape[0] > 0:
            _write_pair(gram, row, problem, others[u], other_weights[u], left[u], right[u])
            if tracking:
                lower_bounds(left[u], right[u], problem, p, bounds)
        n_mistakes += 1
    return rows.shape[0], n_mistakes


@kernel
def visit_each(order, columns, A, weighted, n_visits, diagonal, problem, inner, mistakes, others,
               other_weights):  # fmt: skip
    """Visit every row, each by a product of its own, and change A; return how many mistakes.

    For narrow rows or a diagonal, where blocks cost more than they save.

    Parameters
    ----------
    order : (n,) int64, the rows, as they are visited
    columns : (n_features, n), the rows as columns
    A, weighted : (n_features, n_features), changed in place; of the diagonal form one row
        What a mistake adds, and what it adds times the number of visits before it.
    n_visits : int, how many there have been
    diagonal : bool
    problem : SilaProblem
    inner : (n, n), xᵀy; for Jaccard
    mistakes : (n,) int64, written: places in the order
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
            normalise(scores, row, problem, products)
        spans = problem.spans[problem.group[row]]
        found = nearest_others(scores, spans, problem.original, best, nearest)
        if sum_of_targets(scores, row, problem) - best[:found].sum() > 0:
            continue
        mistakes[u] = at
        list_others(row, nearest[:found], problem, products, others[u], other_weights[u])
        _difference(columns, row, problem, others[u], other_weights[u], query)
        _learn(columns[:, row], query, diagonal, problem.symmetric, n_visits + at, A, weighted)
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
def _learn(x, d, diagonal, symmetric, n_visits, A, weighted):
    """Add x dᵀ, and for the symmetric form d xᵀ, which is kept symmetric to the last bit."""
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
