"""Scores of a row in SiLA, its nearest rows of other classes (others), and rounding errors.

Rows are sorted by class, so that the rows of other classes are at most two ranges of columns.
"""

from typing import NamedTuple

import numpy as np

from likewise.kernels._jit import kernel

_STRIP = 256
_SINGLE = 1.1 * 2.0**-24  # unit roundoff in single precision, including higher-order terms


class SilaProblem(NamedTuple):
    """Data that is the same for all visits.

    Attributes
    ----------
    norm : int
        0 for N = 1, 1 for Dice, 2 for Jaccard.
    symmetric : bool
        Whether a mistake adds d xᵀ as well as x dᵀ.
    sizes : (n,)
        Sums of the rows.
    original : (n,) int64
        Original row numbers, which break ties.
    segments : (n_segments + 1,) int64
        First row of each class.
    reach, spans : (n_groups, 4) int64
        The segments, and the columns, of the others of a group: from, to, from, to.
    group : (n,) int64
    targets, target_weights : (n, k) int64 and float64
        Weight 1/N; 0 for a missing target.
    max_inverse, min_inverse : (n,)
        Bounds of 1/N over a row's others.
    n_others : (n,) int64
        Number of others in a margin.
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
    max_inverse: np.ndarray
    min_inverse: np.ndarray
    n_others: np.ndarray


@kernel
def add_pairs(left, right, n_pairs, row, strip, out):
    """Add left[u, row] right[u] of every pair, four at a time for fewer passes over `out`."""
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
def changed_scores(block, left, right, n_mistakes, symmetric, row, out):
    """Write a row of scores, with the updates of the block's mistakes."""
    n = out.shape[0]
    out[:] = block
    for start in range(0, n, _STRIP):
        strip = slice(start, min(start + _STRIP, n))
        add_pairs(left, right, n_mistakes, row, strip, out[strip])
        if symmetric:
            add_pairs(right, left, n_mistakes, row, strip, out[strip])


@kernel
def _inverse_norm(norm, size, other, product):
    """Return 1/N, or 0 if N is not positive; N is 1, ‖x‖₁ + ‖y‖₁ or ‖x‖₁ + ‖y‖₁ − xᵀy."""
    if norm == 0:
        return 1.0
    N = size + other - product
    return 1.0 / N if N > 0 else 0.0


@kernel
def normalize(scores, row, problem, inner):
    """Divide the scores of a row by N."""
    for j in range(scores.shape[0]):
        product = inner[j] if problem.norm == 2 else 0.0
        size, other = problem.sizes[row], problem.sizes[j]
        scores[j] *= _inverse_norm(problem.norm, size, other, product)


@kernel
def _insert(score, j, n_found, original, best, rows):
    """Insert a score into the sorted list of the highest; return its new length.

    Ties are sorted by original row number.
    """
    size = best.shape[0]
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


@kernel
def nearest_others(scores, spans, original, best, rows):
    """List the highest scores in two ranges of columns, best first; return their number."""
    size = best.shape[0]
    n_found = 0
    for part in range(2):
        begin, end = spans[2 * part], spans[2 * part + 1]
        for start in range(begin, end, 64):
            stop = min(start + 64, end)
            if n_found == size:
                # branch-free, so that it is vectorized: most strips have none
                strip, worst, hits = scores[start:stop], best[size - 1], 0
                for j in range(strip.shape[0]):
                    hits += strip[j] >= worst
                if hits == 0:
                    continue
            for j in range(start, stop):
                n_found = _insert(scores[j], j, n_found, original, best, rows)
    return n_found


@kernel
def sum_of_targets(scores, row, problem):
    """Return the sum of a row's scores with its targets."""
    total = 0.0
    for t in range(problem.targets.shape[1]):
        if problem.target_weights[row, t] != 0:
            total += scores[problem.targets[row, t]]
    return total


@kernel
def list_others(row, nearest, problem, inner, others, weights):
    """Write the nearest others and their 1/N; weight 0 for missing ones."""
    others[:], weights[:] = 0, 0.0
    for t in range(nearest.shape[0]):
        j = nearest[t]
        product = inner[j] if problem.norm == 2 else 0.0
        others[t] = j
        weights[t] = _inverse_norm(problem.norm, problem.sizes[row], problem.sizes[j], product)


@kernel
def dot(x, y):
    """Return xᵀy."""
    total = 0.0
    for f in range(x.shape[0]):
        total += x[f] * y[f]
    return total


@kernel
def current_query(query, X, row, rows, problem, n_mistakes, mistakes, others, other_weights, out):
    """Write xᵀA with the updates of the block's mistakes, in double precision."""
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
        alike = dot(X[row], X[cause])
        for f in range(p):
            out[f] += alike * difference[f]
        if problem.symmetric:
            along = dot(X[row], difference)
            for f in range(p):
                out[f] += along * X[cause, f]


@kernel
def exact_margin(query, X, row, problem, scores, lowest, best, nearest):
    """Return the sums of the scores of a row's targets and nearest others, and their number.

    Scores are qᵀx in double precision; others with approximate scores below `lowest` are skipped.
    """
    spans, n_found = problem.spans[problem.group[row]], 0
    for part in range(2):
        for j in range(spans[2 * part], spans[2 * part + 1]):
            if not (scores[j] < lowest):
                n_found = _insert(dot(query, X[j]), j, n_found, problem.original, best, nearest)
    near = 0.0
    for t in range(problem.targets.shape[1]):
        if problem.target_weights[row, t] != 0:
            near += dot(query, X[problem.targets[row, t]])
    return near, best[:n_found].sum(), n_found


@kernel
def rounding(values, n_features, k, n_pairs):
    """Return the relative rounding error of a score in the precision of `values`.

    A sum of n products has an error of at most n unit roundoffs of their total magnitude. An added
    pair, x_a · x and d · x_b with all x of unit length and d a sum of 2k of them, has terms of
    magnitude 2k twice, because both factors have an error.
    """
    return _SINGLE * (n_features + k + n_pairs + 8) if values.itemsize == 4 else 0.0
