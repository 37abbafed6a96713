"""One triplet after the other: the updates of OASIS and of AROMA with a diagonal covariance.

Queries come as lists of (column, value) entries, items as such lists or as dense rows; an item here
is the closer one less the farther one. Each kernel adds the losses to ``totals[0]`` and the number
of updates to ``totals[1]``. A weight w makes AROMA's r into r/w and OASIS's C into wC.
"""

from likewise.kernels._jit import kernel


@kernel
def oasis_dense(starts, columns, values, items, weights, C, W, totals):
    """Learn from queries in lists and dense items.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items : (n, n_item_features)
    weights : (n,)
    C : float, largest step
    W : (n_query_features, n_item_features), changed
    totals : (2,) float64, changed
    """
    zero = W.dtype.type(0)
    n = items.shape[1]
    for t in range(items.shape[0]):
        p = items[t]
        p_squared = zero
        for j in range(n):
            p_squared += p[j] * p[j]
        margin, q_squared = zero, zero
        for a in range(starts[t], starts[t + 1]):
            w, q = W[columns[a]], values[a]
            product = zero
            for j in range(n):
                product += w[j] * p[j]
            margin += q * product
            q_squared += q * q
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        reach = q_squared * p_squared
        if not reach > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        step = min(weights[t] * C, loss / reach)
        for a in range(starts[t], starts[t + 1]):
            w, change = W[columns[a]], W.dtype.type(step * values[a])
            for j in range(n):
                w[j] += change * p[j]


@kernel
def oasis_lists(
    starts, columns, values, p_starts, p_columns, p_values, weights, C, W, old_w, totals
):
    """Learn from queries and items in lists; as `oasis_dense`.

    `old_w` holds what W has where a query and an item meet, so that W is looked up once: (most
    entries of a query × most entries of an item,).
    """
    zero = W.dtype.type(0)
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        p_squared = zero
        for b in range(width):
            p_squared += p[b] * p[b]
        margin, q_squared = zero, zero
        at = 0
        for a in range(starts[t], starts[t + 1]):
            w, q = W[columns[a]], values[a]
            found = old_w[at : at + width]
            for b in range(width):
                found[b] = w[p_columns_t[b]]
            product = zero
            for b in range(width):
                product += found[b] * p[b]
            margin += q * product
            q_squared += q * q
            at += width
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        reach = q_squared * p_squared
        if not reach > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        step = min(weights[t] * C, loss / reach)
        at = 0
        for a in range(starts[t], starts[t + 1]):
            w, change = W[columns[a]], W.dtype.type(step * values[a])
            found = old_w[at : at + width]
            for b in range(width):
                w[p_columns_t[b]] = found[b] + change * p[b]
            at += width


@kernel
def diagonal_dense(starts, columns, values, items, squares, weights, r, W, S, totals):
    """Learn a mean and a variance of every entry from queries in lists and dense items.

    Parameters
    ----------
    starts, columns, values : queries, as `list_rows` writes them
    items : (n, n_item_features)
    squares : (n_item_features,), for the squares of an item
    weights : (n,)
    r : float
    W, S : (n_query_features, n_item_features), changed
    totals : (2,) float64, changed
    """
    kind = W.dtype.type
    n = items.shape[1]
    for t in range(items.shape[0]):
        p = items[t]
        for j in range(n):
            squares[j] = p[j] * p[j]
        margin, variance = kind(0), kind(0)
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            product, spread = kind(0), kind(0)
            for j in range(n):
                product += w[j] * p[j]
                spread += s[j] * squares[j]
            margin += q * product
            variance += q * q * spread
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
            for j in range(n):
                w[j] += change * s[j] * p[j]
                s[j] /= kind(1) + gain * squares[j] * s[j]


@kernel
def diagonal_lists(
    starts, columns, values, p_starts, p_columns, p_values, weights, r, W, S, old_w, old_s, totals
):
    """Learn from queries and items in lists; as `diagonal_dense` and `oasis_lists`."""
    kind = W.dtype.type
    for t in range(starts.shape[0] - 1):
        begin, width = p_starts[t], p_starts[t + 1] - p_starts[t]
        p_columns_t, p = p_columns[begin : begin + width], p_values[begin : begin + width]
        margin, variance = kind(0), kind(0)
        at = 0
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            found_w, found_s = old_w[at : at + width], old_s[at : at + width]
            for b in range(width):
                found_w[b] = w[p_columns_t[b]]
                found_s[b] = s[p_columns_t[b]]
            product, spread = kind(0), kind(0)
            for b in range(width):
                product += found_w[b] * p[b]
                spread += found_s[b] * p[b] * p[b]
            margin += q * product
            variance += q * q * spread
            at += width
        loss = 1 - margin
        if not loss > 0:
            continue
        totals[0] += loss
        if not variance > 0 or not weights[t] > 0:
            continue
        totals[1] += 1
        noise = r / weights[t]
        step = loss / (variance + noise)
        at = 0
        for a in range(starts[t], starts[t + 1]):
            w, s, q = W[columns[a]], S[columns[a]], values[a]
            found_w, found_s = old_w[at : at + width], old_s[at : at + width]
            change, gain = kind(step * q), kind(q * q / noise)
            for b in range(width):
                found_w[b] += change * found_s[b] * p[b]
                found_s[b] /= kind(1) + gain * p[b] * p[b] * found_s[b]
            for b in range(width):
                w[p_columns_t[b]] = found_w[b]
                s[p_columns_t[b]] = found_s[b]
            at += width
