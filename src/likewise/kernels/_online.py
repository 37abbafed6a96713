"""Updates of OASIS, and of AROMA with a diagonal covariance, one triplet at a time.

Queries are lists of (column, value) entries, items such lists or dense rows; an item here is the
closer item minus the farther item. Columns are unsigned, because numba wraps negative indices.
Each kernel adds the losses to ``totals[0]`` and the number of updates to ``totals[1]``. A weight w
replaces AROMA's r by r/w and OASIS's C by wC.
"""

from likewise.kernels._jit import (
    disjoint_helper,
    helper,
    kernel,
    ordered_helper,
    ordered_kernel,
)


@ordered_kernel
def oasis_dense(starts, columns, values, items, weights, C, W, products, totals):
    """Learn from queries in lists and dense items.

    If two queries in a row have the same columns, one pass over W applies the update of the first
    and multiplies by the second, because memory access costs more than the arithmetic. Sums run
    over the rows of W in order, so that a stream gives the same bits wherever it is cut.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items : (n, n_item_features)
    weights : (n,)
    C : float, maximum step
    W : (n_query_features, n_item_features), changed
    products : (n_item_features,), a scratch array
    totals : (2,) float64, changed
    """
    kind = W.dtype.type
    size, n = items.shape
    step = 0.0
    for t in range(size + 1):
        a, a_end = (starts[t - 1], starts[t]) if step > 0 else (0, 0)
        b, b_end = (starts[t], starts[t + 1]) if t < size else (0, 0)
        last, p = items[t - 1 if t > 0 else 0], items[t if t < size else 0]
        together = _same_columns(columns, a, a_end, b, b_end)
        if not together:
            for e in range(a, a_end):
                _update_product(W[columns[e]], kind(step * values[e]), last, kind(0), products)
        for j in range(n):
            products[j] = 0
        q_squared = kind(0)
        whole = b + (b_end - b) // 4 * 4
        for e in range(b, whole, 4):
            w0, w1, w2, w3 = (
                W[columns[e]], W[columns[e + 1]], W[columns[e + 2]], W[columns[e + 3]],
            )  # fmt: skip
            q0, q1, q2, q3 = values[e], values[e + 1], values[e + 2], values[e + 3]
            if together:
                f = a + e - b
                c0, c1 = kind(step * values[f]), kind(step * values[f + 1])
                c2, c3 = kind(step * values[f + 2]), kind(step * values[f + 3])
                _update_four_products(
                    w0, w1, w2, w3, c0, c1, c2, c3, last, q0, q1, q2, q3, products
                )
            else:
                for j in range(n):
                    products[j] = (
                        ((products[j] + q0 * w0[j]) + q1 * w1[j]) + q2 * w2[j]
                    ) + q3 * w3[j]
        for e in range(whole, b_end):
            change = kind(step * values[a + e - b]) if together else kind(0)
            _update_product(W[columns[e]], change, last, values[e], products)
        for e in range(b, b_end):
            q_squared += values[e] * values[e]
        step = 0.0
        loss = 1 - _dot(products, p)
        if t == size or not loss > 0:
            continue
        totals[0] += loss
        norm = q_squared * _dot(p, p)
        if norm > 0 and weights[t] > 0:
            totals[1] += 1
            step = min(weights[t] * C, loss / norm)


@ordered_helper
def _same_columns(columns, a, a_end, b, b_end):
    """Return whether two lists, the first of which is not empty, have the same columns."""
    if not a < a_end or a_end - a != b_end - b:
        return False
    different = 0
    for e in range(b_end - b):  # all of them, because a loop that can end early is not vectorized
        different |= columns[a + e] ^ columns[b + e]
    return different == 0


@disjoint_helper
def _update_four_products(w0, w1, w2, w3, c0, c1, c2, c3, last, q0, q1, q2, q3, products):
    """Like `_update_product`, for four rows: the products are read and written once."""
    for j in range(w0.shape[0]):
        x0, x1 = w0[j] + c0 * last[j], w1[j] + c1 * last[j]
        x2, x3 = w2[j] + c2 * last[j], w3[j] + c3 * last[j]
        w0[j], w1[j], w2[j], w3[j] = x0, x1, x2, x3
        products[j] = (((products[j] + q0 * x0) + q1 * x1) + q2 * x2) + q3 * x3


@ordered_helper
def _update_product(w, change, last, q, products):
    """Add a multiple of `last` to a row, and `q` times the row to the products."""
    for j in range(w.shape[0]):
        w[j] += change * last[j]
        products[j] += q * w[j]


@helper
def _dot(x, y):
    total = x.dtype.type(0)
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@kernel
def oasis_lists(starts, columns, values, p_starts, p_columns, p_values, weights, C, W, totals):
    """Learn from queries and items in lists; like `oasis_dense`."""
    zero = W.dtype.type(0)
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        p_squared = zero
        for b in range(width):
            p_squared += p[b] * p[b]
        margin, q_squared = zero, zero
        for a in range(starts[t], starts[t + 1]):
            w, q = W[columns[a]], values[a]
            product = zero
            for b in range(width):
                product += w[p_columns_t[b]] * p[b]
            margin += q * product
            q_squared += q * q
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        norm = q_squared * p_squared
        if not norm > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        step = min(weights[t] * C, loss / norm)
        for a in range(starts[t], starts[t + 1]):
            w, change = W[columns[a]], W.dtype.type(step * values[a])
            for b in range(width):
                w[p_columns_t[b]] += change * p[b]


@ordered_kernel
def diagonal_dense(starts, columns, values, items, weights, r, W, S, sums, totals):
    """Learn a mean and a variance of every entry from queries in lists and dense items.

    Updates and products share one pass over W and S, as in `oasis_dense`.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items : (n, n_item_features)
    weights : (n,)
    r : float
    W, S : (n_query_features, n_item_features), changed
    sums : (2, n_item_features), a scratch array
    totals : (2,) float64, changed
    """
    kind = W.dtype.type
    size, n = items.shape
    products, spreads = sums[0], sums[1]
    step, gain = 0.0, 1.0  # gain: weight / r, by which an update adds to the precision
    for t in range(size + 1):
        a, a_end = (starts[t - 1], starts[t]) if step > 0 else (0, 0)
        b, b_end = (starts[t], starts[t + 1]) if t < size else (0, 0)
        last, p = items[t - 1 if t > 0 else 0], items[t if t < size else 0]
        together = _same_columns(columns, a, a_end, b, b_end)
        if not together:
            for e in range(a, a_end):
                v = values[e]
                _update_sums(
                    W[columns[e]], S[columns[e]], kind(step * v), kind(v * v * gain),
                    last, kind(0), products, spreads,
                )  # fmt: skip
        for j in range(n):
            products[j] = spreads[j] = 0
        whole = b + (b_end - b) // 4 * 4
        for e in range(b, whole, 4):
            w0, w1, w2, w3 = (
                W[columns[e]], W[columns[e + 1]], W[columns[e + 2]], W[columns[e + 3]],
            )  # fmt: skip
            s0, s1, s2, s3 = (
                S[columns[e]], S[columns[e + 1]], S[columns[e + 2]], S[columns[e + 3]],
            )  # fmt: skip
            q0, q1, q2, q3 = values[e], values[e + 1], values[e + 2], values[e + 3]
            k0, k1, k2, k3 = q0 * q0, q1 * q1, q2 * q2, q3 * q3
            if together:
                f = a + e - b
                v0, v1, v2, v3 = values[f], values[f + 1], values[f + 2], values[f + 3]
                _update_four_sums(
                    w0, w1, w2, w3, s0, s1, s2, s3,
                    kind(step * v0), kind(step * v1), kind(step * v2), kind(step * v3),
                    kind(v0 * v0 * gain), kind(v1 * v1 * gain),
                    kind(v2 * v2 * gain), kind(v3 * v3 * gain),
                    last, q0, q1, q2, q3, k0, k1, k2, k3, products, spreads,
                )  # fmt: skip
            else:
                for j in range(n):
                    product = (products[j] + q0 * w0[j]) + q1 * w1[j]
                    spread = (spreads[j] + k0 * s0[j]) + k1 * s1[j]
                    products[j] = (product + q2 * w2[j]) + q3 * w3[j]
                    spreads[j] = (spread + k2 * s2[j]) + k3 * s3[j]
        for e in range(whole, b_end):
            v = values[a + e - b] if together else kind(0)
            _update_sums(
                W[columns[e]], S[columns[e]], kind(step * v), kind(v * v * gain),
                last, values[e], products, spreads,
            )  # fmt: skip
        step = 0.0
        loss = 1 - _dot(products, p)
        if t == size or not loss > 0:
            continue
        totals[0] += loss
        variance = _dot_squares(spreads, p)
        if variance > 0 and weights[t] > 0:
            totals[1] += 1
            gain = weights[t] / r
            step = loss / (variance + r / weights[t])


@disjoint_helper
def _update_four_sums(
    w0, w1, w2, w3, s0, s1, s2, s3, c0, c1, c2, c3, g0, g1, g2, g3,
    last, q0, q1, q2, q3, k0, k1, k2, k3, products, spreads,
):  # fmt: skip
    """Like `_update_sums`, for four rows: the sums are read and written once."""
    one = s0.dtype.type(1)
    for j in range(w0.shape[0]):
        squared = last[j] * last[j]
        x0, x1 = w0[j] + c0 * s0[j] * last[j], w1[j] + c1 * s1[j] * last[j]
        x2, x3 = w2[j] + c2 * s2[j] * last[j], w3[j] + c3 * s3[j] * last[j]
        y0 = s0[j] / (one + g0 * squared * s0[j])
        y1 = s1[j] / (one + g1 * squared * s1[j])
        y2 = s2[j] / (one + g2 * squared * s2[j])
        y3 = s3[j] / (one + g3 * squared * s3[j])
        w0[j], w1[j], w2[j], w3[j] = x0, x1, x2, x3
        s0[j], s1[j], s2[j], s3[j] = y0, y1, y2, y3
        products[j] = (((products[j] + q0 * x0) + q1 * x1) + q2 * x2) + q3 * x3
        spreads[j] = (((spreads[j] + k0 * y0) + k1 * y1) + k2 * y2) + k3 * y3


@ordered_helper
def _update_sums(w, s, change, gain, last, q, products, spreads):
    """Update a row of W and of S, and add them, times `q` and its square, to the sums."""
    one, q_squared = s.dtype.type(1), q * q
    for j in range(w.shape[0]):
        w[j] += change * s[j] * last[j]
        s[j] /= one + gain * (last[j] * last[j]) * s[j]
        products[j] += q * w[j]
        spreads[j] += q_squared * s[j]


@helper
def _dot_squares(x, y):
    total = x.dtype.type(0)
    for j in range(x.shape[0]):
        total += x[j] * (y[j] * y[j])
    return total


@kernel
def diagonal_lists(
    starts, columns, values, p_starts, p_columns, p_values, weights, r, W, S, totals
):
    """Learn from queries and items in lists; like `diagonal_dense`.

    The variance is read only if there is a loss: most triplets have none after some training.
    """
    kind = W.dtype.type
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        margin = kind(0)
        for a in range(starts[t], starts[t + 1]):
            w = W[columns[a]]
            product = kind(0)
            for b in range(width):
                product += w[p_columns_t[b]] * p[b]
            margin += values[a] * product
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        variance = kind(0)
        for a in range(starts[t], starts[t + 1]):
            s, q = S[columns[a]], values[a]
            item_variance = kind(0)
            for b in range(width):
                item_variance += s[p_columns_t[b]] * p[b] * p[b]
            variance += q * q * item_variance
        if not variance > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        noise = r / weights[t]
        step = loss / (variance + noise)
        for a in range(starts[t], starts[t + 1]):
            q = values[a]
            change, gain = kind(step * q), kind(q * q / noise)
            _update_entries(W[columns[a]], S[columns[a]], change, gain, p_columns_t, p)


@disjoint_helper
def _update_entries(w, s, change, gain, columns, p):
    """Update the listed entries of a row of W and of S.

    Four at a time, because their divisions then are one instruction. No column is listed twice.
    """
    one = s.dtype.type(1)
    whole = columns.shape[0] // 4 * 4
    for b in range(0, whole, 4):
        i, j, k, m = columns[b], columns[b + 1], columns[b + 2], columns[b + 3]
        p0, p1, p2, p3 = p[b], p[b + 1], p[b + 2], p[b + 3]
        s0, s1, s2, s3 = s[i], s[j], s[k], s[m]
        x0, x1 = w[i] + change * s0 * p0, w[j] + change * s1 * p1
        x2, x3 = w[k] + change * s2 * p2, w[m] + change * s3 * p3
        y0, y1 = s0 / (one + gain * p0 * p0 * s0), s1 / (one + gain * p1 * p1 * s1)
        y2, y3 = s2 / (one + gain * p2 * p2 * s2), s3 / (one + gain * p3 * p3 * s3)
        w[i], w[j], w[k], w[m] = x0, x1, x2, x3
        s[i], s[j], s[k], s[m] = y0, y1, y2, y3
    for b in range(whole, columns.shape[0]):
        j, old = columns[b], s[columns[b]]
        w[j] += change * old * p[b]
        s[j] = old / (one + gain * p[b] * p[b] * old)


@kernel
def diagonal_mistakes(
    starts, columns, values, p_starts, p_columns, p_values, weights, r, W, S, totals
):
    """Learn from mistakes, in dual form; arguments as in `diagonal_lists`.

    W = S∘Θ, where Θ sums the weighted qpᵀ of the mistakes. For entries z of qpᵀ, s of S and w of W,
    s' = s/(1 + z²s/r) includes the triplet: the test is Σ zws'/s ≤ 0, and then w = ws'/s + zs'.
    """
    kind = W.dtype.type
    one = kind(1)
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        weight = kind(weights[t])
        gain = kind(weights[t] / r)
        margin, tested, variance = kind(0), kind(0), kind(0)
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            for b in range(width):
                j, z = p_columns_t[b], q * p[b]
                spread = z * z * s[j]
                margin += z * w[j]
                tested += z * w[j] / (one + gain * spread)
                variance += spread
        if margin < 1:
            totals[0] += 1 - margin
        if tested > 0 or not variance > 0 or not weight > 0:
            continue
        totals[1] += 1
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            for b in range(width):
                j, z = p_columns_t[b], q * p[b]
                shrink = one / (one + gain * z * z * s[j])
                s[j] *= shrink
                w[j] = w[j] * shrink + weight * z * s[j]
