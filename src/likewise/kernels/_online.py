"""Updates of OASIS, and of AROMA with a diagonal covariance, one triplet at a time.

Queries are lists of (column, value) entries, items such lists or dense rows; an item here is the
closer item minus the farther item. Each kernel adds the losses to ``totals[0]`` and the number
of updates to ``totals[1]``. A weight w replaces AROMA's r by r/w and OASIS's C by wC.
"""

from likewise.kernels._jit import kernel


@kernel
def oasis_dense(starts, columns, values, items, weights, C, W, totals):
    """Learn from queries in lists and dense items.

    One pass over a row of W applies the last update and reads it for the next triplet, because
    memory access costs more than the arithmetic. A single loop for both would be a quarter faster,
    but sums would round differently wherever a stream is cut between the two.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items : (n, n_item_features)
    weights : (n,)
    C : float, maximum step
    W : (n_query_features, n_item_features), changed
    totals : (2,) float64, changed
    """
    kind = W.dtype.type
    size, n = items.shape
    step = 0.0
    for t in range(size + 1):
        a, a_end = (starts[t - 1], starts[t]) if step > 0 else (0, 0)
        b, b_end = (starts[t], starts[t + 1]) if t < size else (0, 0)
        last, p = items[t - 1 if t > 0 else 0], items[t if t < size else 0]
        margin, q_squared = kind(0), kind(0)
        while a < a_end or b < b_end:
            column = columns[b] if a >= a_end else columns[a]
            if b < b_end and columns[b] < column:
                column = columns[b]
            w = W[column]
            if a < a_end and columns[a] == column:
                change = kind(step * values[a])
                for j in range(n):
                    w[j] += change * last[j]
                a += 1
            if b < b_end and columns[b] == column:
                product = kind(0)
                for j in range(n):
                    product += w[j] * p[j]
                margin += values[b] * product
                q_squared += values[b] * values[b]
                b += 1
        step = 0.0
        loss = 1 - margin
        if t == size or not loss > 0:
            continue
        totals[0] += loss
        p_squared = kind(0)
        for j in range(n):
            p_squared += p[j] * p[j]
        norm = q_squared * p_squared
        if norm > 0 and weights[t] > 0:
            totals[1] += 1
            step = min(weights[t] * C, loss / norm)


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


@kernel
def diagonal_dense(starts, columns, values, items, squares, weights, r, W, S, totals):
    """Learn a mean and a variance of every entry from queries in lists and dense items.

    Updates and reads share one pass over each row, as in `oasis_dense`.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items, squares : (n, n_item_features), the items and their squares
    weights : (n,)
    r : float
    W, S : (n_query_features, n_item_features), changed
    totals : (2,) float64, changed
    """
    kind = W.dtype.type
    one = kind(1)
    size, n = items.shape
    step, noise = 0.0, 1.0
    for t in range(size + 1):
        a, a_end = (starts[t - 1], starts[t]) if step > 0 else (0, 0)
        b, b_end = (starts[t], starts[t + 1]) if t < size else (0, 0)
        last_t, this_t = t - 1 if t > 0 else 0, t if t < size else 0
        last, last_squared = items[last_t], squares[last_t]
        p, p_squared = items[this_t], squares[this_t]
        margin, variance = kind(0), kind(0)
        while a < a_end or b < b_end:
            column = columns[b] if a >= a_end else columns[a]
            if b < b_end and columns[b] < column:
                column = columns[b]
            w, s = W[column], S[column]
            if a < a_end and columns[a] == column:
                q = values[a]
                change, gain = kind(step * q), kind(q * q / noise)
                for j in range(n):
                    w[j] += change * s[j] * last[j]
                    s[j] /= one + gain * last_squared[j] * s[j]
                a += 1
            if b < b_end and columns[b] == column:
                q = values[b]
                product, item_variance = kind(0), kind(0)
                for j in range(n):
                    product += w[j] * p[j]
                    item_variance += s[j] * p_squared[j]
                margin += q * product
                variance += q * q * item_variance
                b += 1
        step = 0.0
        loss = 1 - margin
        if t == size or not loss > 0:
            continue
        totals[0] += loss
        if variance > 0 and weights[t] > 0:
            totals[1] += 1
            noise = r / weights[t]
            step = loss / (variance + noise)


@kernel
def diagonal_lists(
    starts, columns, values, p_starts, p_columns, p_values, weights, r, W, S, totals
):
    """Learn from queries and items in lists; like `diagonal_dense`."""
    kind = W.dtype.type
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        margin, variance = kind(0), kind(0)
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            product, item_variance = kind(0), kind(0)
            for b in range(width):
                product += w[p_columns_t[b]] * p[b]
                item_variance += s[p_columns_t[b]] * p[b] * p[b]
            margin += q * product
            variance += q * q * item_variance
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        if not variance > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        noise = r / weights[t]
        step = loss / (variance + noise)
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            change, gain = kind(step * q), kind(q * q / noise)
            for b in range(width):
                j, old = p_columns_t[b], s[p_columns_t[b]]
                w[j] += change * old * p[b]
                s[j] = old / (kind(1) + gain * p[b] * p[b] * old)
