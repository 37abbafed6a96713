"""The k best scores of each query, in a heap that is updated block by block.

Each query has a heap of k (score, id) entries in two arrays. The root, at position 0, is the entry
to replace next: the lowest score and, among equal scores, the highest id. Empty entries hold
(-inf, no id). Blocks must come in ascending order of ids, so that a later equal score never
replaces an earlier one.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel

# Columns tested at a time for any candidate, of which most strips have none. Columns are unsigned:
# numba wraps negative indices, by which loops are not vectorized.
_STRIP = np.uint64(64)


@helper
def _replace_root(scores, ids, score, identifier):
    """Replace the root of a heap by (score, identifier) and restore the heap order."""
    size = scores.shape[0]
    position = 0
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            scores[other] < scores[child]
            or (scores[other] == scores[child] and ids[other] > ids[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and ids[child] < identifier):
            break
        scores[position] = scores[child]
        ids[position] = ids[child]
        position = child
    scores[position] = score
    ids[position] = identifier


@kernel
def scan_scores(block, first_id, skip, heap_scores, heap_ids):
    """Add the scores of `block` to the heaps of their rows.

    Parameters
    ----------
    block : (n_rows, n_items) scores; column j is item ``first_id + j``
    skip : (n_rows,) int64, an id to exclude for each row; -1 for none
    heap_scores, heap_ids : (n_rows, k) float64 and int64, changed in place
    """
    for i in range(block.shape[0]):
        worst = heap_scores[i, 0]
        for j in range(block.shape[1]):
            score = block[i, j]
            if score > worst and first_id + j != skip[i]:
                _replace_root(heap_scores[i], heap_ids[i], np.float64(score), first_id + j)
                worst = heap_scores[i, 0]


@kernel
def scan_products(block, slack, queries, items, is_distance, first_id, skip, heap_scores, heap_ids):
    """Add the pairs of `block` to the heaps of their rows, by exact scores.

    The rounding errors of a matrix product depend on the position of a pair in the block. The
    approximate scores therefore only select pairs: a pair that could enter the heap, given an error
    of at most `slack`, is scored again from its two rows in double precision and in a fixed order
    of summation. Equal pairs then tie exactly, on any number of threads.

    Parameters
    ----------
    block : (n_rows, n_items) approximate scores
    slack : (n_rows,) float64, maximum error of a row's approximate scores
    queries, items : (n_rows, n_features) and (n_items, n_features)
    is_distance : bool, score = -|q - p|² instead of q·p
    first_id, skip, heap_scores, heap_ids : as in `scan_scores`
    """
    n_columns = np.uint64(block.shape[1])
    for i in range(block.shape[0]):
        row, floor = block[i], heap_scores[i, 0] - slack[i]
        start = np.uint64(0)
        while start < n_columns:
            stop = min(start + _STRIP, n_columns)
            if _has_candidate(row, start, stop, floor):
                for j in range(start, stop):
                    identifier = first_id + np.int64(j)
                    if not (row[j] < floor) and identifier != skip[i]:
                        score = 0.0
                        if is_distance:
                            for f in range(queries.shape[1]):
                                gap = np.float64(queries[i, f]) - np.float64(items[j, f])
                                score -= gap * gap
                        else:
                            for f in range(queries.shape[1]):
                                score += np.float64(queries[i, f]) * np.float64(items[j, f])
                        if score > heap_scores[i, 0]:
                            _replace_root(heap_scores[i], heap_ids[i], score, identifier)
                            floor = heap_scores[i, 0] - slack[i]
            start = stop


@helper
def _has_candidate(row, start, stop, floor):
    """Return whether a score of a strip is not below the floor, without a branch.

    Not `>= floor`: a NaN from an overflow must be scored again.
    """
    hits = np.int32(0)
    for j in range(start, stop):
        hits |= np.int32(not (row[j] < floor))
    return hits > 0


@helper
def _kth_largest(values, heap, left_out):
    """Return the k-th largest value, at most 0 if there are fewer; `heap` is scratch of size k."""
    k = heap.shape[0]
    for h in range(k):
        heap[h] = 0.0
    for j in range(values.shape[0]):
        value = values[j]
        if value > heap[0] and j != left_out:
            position = 0
            while True:
                child = 2 * position + 1
                if child >= k:
                    break
                if child + 1 < k and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= value:
                    break
                heap[position] = heap[child]
                position = child
            heap[position] = value
    return heap[0]


@kernel
def scan_sparse(
    q_starts, q_columns, q_values, starts, columns, values,
    column_starts, column_rows, column_values, cuts, rests,
    first_id, skip, sums, dense, heap_scores, heap_ids,
):  # fmt: skip
    """Add the items of a block that score best with sparse queries to their heaps, exactly.

    Columns are ordered from rare to common, rows are at most of unit length, and no value is
    negative. The products of a query are
    summed up column by column. By Cauchy and Schwarz, the columns that are left add at most the
    norm of the query's rest times the norm of the item's rest: once few items can still enter the
    heap, these are scored from their rows, and the long columns are never read. Scores are sums in
    double precision and in the order of the item's columns.

    Parameters
    ----------
    q_starts, q_columns, q_values : CSR arrays of the queries, int64, int32 and float64
    starts, columns, values : CSR arrays of the items
    column_starts, column_rows, column_values : items by column, int64, uint16 and float32
    cuts : (n_levels,) int64, columns at which the rest is bounded
    rests : (n_levels, n_items) float32, norm of each item's columns from a cut on
    first_id, skip, heap_scores, heap_ids : as in `scan_scores`; items that score 0 stay out
    sums : (n_items,) float32, scratch
    dense : (n_columns,) float64 zeros, scratch
    """
    n_items, n_levels, k = sums.shape[0], cuts.shape[0], heap_scores.shape[1]
    slack = np.float32(1e-5)  # more than the rounding errors of the sums
    a_score = 80  # entries of columns that are read in the time of one score
    scratch = np.empty(k)
    largest = np.zeros(n_levels)
    for level in range(n_levels):
        for j in range(n_items):
            largest[level] = max(largest[level], rests[level, j])
    for i in range(q_starts.shape[0] - 1):
        begin, end = q_starts[i], q_starts[i + 1]
        rest, unread = 0.0, 0
        for q in range(begin, end):
            rest += q_values[q] * q_values[q]
            unread += column_starts[q_columns[q] + 1] - column_starts[q_columns[q]]
        if unread == 0:
            continue
        for j in range(n_items):
            sums[j] = 0.0
        floor, bound, q, level = heap_scores[i, 0], np.float32(0.0), begin, 0
        while True:
            while q < end and (level == n_levels or q_columns[q] < cuts[level]):
                column, value = q_columns[q], np.float32(q_values[q])
                for entry in range(column_starts[column], column_starts[column + 1]):
                    sums[column_rows[entry]] += value * column_values[entry]
                unread -= column_starts[column + 1] - column_starts[column]
                rest -= q_values[q] * q_values[q]
                q += 1
            if q == end:
                bound = np.float32(0.0)
                break
            bound = np.float32(np.sqrt(max(rest, 0.0)))
            if 2 * unread > n_items:  # else it is faster to read the rest
                if heap_scores[i, 0] <= 0.0:  # not full: the best so far are a lower bound
                    floor = max(floor, _kth_largest(sums, scratch, skip[i] - first_id) - slack)
                if bound * largest[level] < floor - slack:
                    limit = np.float32(floor) - slack
                    n_open = 0
                    for j in range(n_items):
                        n_open += sums[j] + bound * rests[level, j] >= limit
                    if n_open * a_score < unread:
                        break
            level += 1
        for q in range(begin, end):
            dense[q_columns[q]] = q_values[q]
        limit = max(np.float32(floor) - slack, np.float32(0.0))
        for j in range(n_items):
            highest = sums[j]
            if bound > 0.0:
                highest += bound * rests[level, j]
            if highest >= limit and highest > 0.0 and first_id + j != skip[i]:
                score = 0.0
                for entry in range(starts[j], starts[j + 1]):
                    score += dense[columns[entry]] * values[entry]
                worst = heap_scores[i, 0]
                if score > 0.0 and (
                    score > worst or (score == worst and first_id + j < heap_ids[i, 0])
                ):
                    _replace_root(heap_scores[i], heap_ids[i], score, first_id + j)
                    limit = max(limit, np.float32(heap_scores[i, 0]) - slack)
        for q in range(begin, end):
            dense[q_columns[q]] = 0.0


@helper
def _pair_bucket(a, b, n_buckets):
    """Return the bucket of a pair of words; `n_buckets` is a power of two."""
    key = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b) * np.uint64(
        0xC2B2AE3D27D4EB4F
    )
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((key >> np.uint64(32)) & np.uint64(n_buckets - 1))


@kernel
def count_word_pairs(starts, columns, n_words, counts):
    """Add, for each bucket, the number of pairs of the rows' first `n_words` columns.

    Parameters
    ----------
    starts, columns : CSR arrays of the rows, int64 and int32
    n_words : int
    counts : (n_buckets,) int64, changed in place
    """
    for i in range(starts.shape[0] - 1):
        end = min(starts[i] + n_words, starts[i + 1])
        for x in range(starts[i], end):
            for y in range(x + 1, end):
                counts[_pair_bucket(columns[x], columns[y], counts.shape[0])] += 1


@kernel
def list_word_pairs(starts, columns, values, n_words, pair_starts, places, rows, weights):
    """List the rows that have the pairs of each bucket, and the pairs' weights.

    Parameters
    ----------
    starts, columns, values, n_words : as in `count_word_pairs`; values float64
    pair_starts : (n_buckets + 1,) int64, where each list begins; empty ones stay so
    places : (n_buckets,) int64, a copy of the beginnings, changed in place
    rows, weights : int32 and float32, changed in place
    """
    for i in range(starts.shape[0] - 1):
        end = min(starts[i] + n_words, starts[i + 1])
        for x in range(starts[i], end):
            for y in range(x + 1, end):
                bucket = _pair_bucket(columns[x], columns[y], places.shape[0])
                if pair_starts[bucket + 1] > pair_starts[bucket]:
                    rows[places[bucket]] = i
                    weights[places[bucket]] = np.sqrt(values[x] * values[y])
                    places[bucket] += 1


@helper
def _read_list(value, begin, end, rows, values, sums, shortlist, n_listed):
    """Add the products of a list to the sums; return the number of rows with a sum."""
    for entry in range(begin, end):
        row = rows[entry]
        if sums[row] == 0.0:
            shortlist[n_listed] = row
            n_listed += 1
        sums[row] += value * values[entry]
    return n_listed


@kernel
def scan_shortlist(
    q_starts, q_columns, q_values, w_starts, w_columns, w_values, n_words,
    starts, columns, values, column_starts, column_rows, column_values,
    pair_starts, pair_rows, pair_values, budget, skip,
    sums, shortlist, dense, best_scores, best_ids, heap_scores, heap_ids,
):  # fmt: skip
    """Add the best items of those that share rare pairs of words with a query to its heap.

    Lists of items are read from short to long, at most `budget` entries: those of the pairs of the
    query's first words and, where these shortlist fewer items than can be kept, those of the
    columns, of which at least one is read. Those of the shortlist with the largest sums of products
    are scored from their rows, as in `scan_sparse`.

    Parameters
    ----------
    q_starts, q_columns, q_values : CSR arrays of the queries, int64, int32 and float64
    w_starts, w_columns, w_values : CSR arrays of the queries' words, from rare to common
    n_words : int, words of a query that form pairs
    starts, columns, values : CSR arrays of the items
    column_starts, column_rows, column_values : items by column, int64, int32 and float32
    pair_starts, pair_rows, pair_values : items by pair of words, as of `list_word_pairs`
    budget : int
    skip, heap_scores, heap_ids : as in `scan_scores`; items that score 0 stay out
    sums : (n_items,) float32 zeros, scratch
    shortlist : (n_items,) int32, scratch
    dense : (n_columns,) float64 zeros, scratch
    best_scores, best_ids : (n_best,) float64 and int64, scratch: the kept ones
    """
    n_best, n_buckets = best_scores.shape[0], pair_starts.shape[0] - 1
    buckets = np.empty(n_words * (n_words - 1) // 2, np.int64)
    weights = np.empty(buckets.shape[0], np.float32)
    for i in range(q_starts.shape[0] - 1):
        n_pairs = 0
        last = min(w_starts[i] + n_words, w_starts[i + 1])
        for x in range(w_starts[i], last):
            for y in range(x + 1, last):
                bucket = _pair_bucket(w_columns[x], w_columns[y], n_buckets)
                length = pair_starts[bucket + 1] - pair_starts[bucket]
                if length == 0:
                    continue
                place = n_pairs  # sorted by insertion, from short to long lists
                while place > 0:
                    before = buckets[place - 1]
                    if pair_starts[before + 1] - pair_starts[before] <= length:
                        break
                    buckets[place], weights[place] = before, weights[place - 1]
                    place -= 1
                buckets[place] = bucket
                weights[place] = np.sqrt(w_values[x] * w_values[y])
                n_pairs += 1
        n_listed, n_read = 0, 0
        for pair in range(n_pairs):
            begin, end = pair_starts[buckets[pair]], pair_starts[buckets[pair] + 1]
            n_read += end - begin
            if n_read > budget:
                break
            n_listed = _read_list(
                weights[pair], begin, end, pair_rows, pair_values, sums, shortlist, n_listed
            )
        if n_listed < n_best:
            for q in range(q_starts[i], q_starts[i + 1]):
                begin, end = column_starts[q_columns[q]], column_starts[q_columns[q] + 1]
                n_read += end - begin
                if n_listed > 0 and n_read > budget:
                    break
                n_listed = _read_list(
                    np.float32(q_values[q]), begin, end, column_rows, column_values,
                    sums, shortlist, n_listed,
                )  # fmt: skip
        for b in range(n_best):
            best_scores[b] = 0.0
            best_ids[b] = np.int64(1) << 62
        for place in range(n_listed):
            row = shortlist[place]
            total = np.float64(sums[row])
            sums[row] = 0.0
            if row != skip[i] and (
                total > best_scores[0] or (total == best_scores[0] and row < best_ids[0])
            ):
                _replace_root(best_scores, best_ids, total, np.int64(row))
        for q in range(q_starts[i], q_starts[i + 1]):
            dense[q_columns[q]] = q_values[q]
        for b in range(n_best):
            if best_scores[b] > 0.0:
                row = best_ids[b]
                score = 0.0
                for entry in range(starts[row], starts[row + 1]):
                    score += dense[columns[entry]] * values[entry]
                worst = heap_scores[i, 0]
                if score > 0.0 and (score > worst or (score == worst and row < heap_ids[i, 0])):
                    _replace_root(heap_scores[i], heap_ids[i], score, row)
        for q in range(q_starts[i], q_starts[i + 1]):
            dense[q_columns[q]] = 0.0
