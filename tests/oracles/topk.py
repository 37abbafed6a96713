"""The best of a row, by sorting all of it."""

import numpy as np

NO_ITEM = np.iinfo(np.int64).max


def best(scores, k, skip=None):
    """Return the k best scores of each row and their columns; of equal ones the lower column."""
    found_scores = np.full((len(scores), k), -np.inf)
    found_ids = np.full((len(scores), k), NO_ITEM)
    for i, row in enumerate(scores):
        ids = np.arange(len(row))
        order = [j for j in np.lexsort((ids, -row)) if skip is None or j != skip[i]][:k]
        found_scores[i, : len(order)] = row[order]
        found_ids[i, : len(order)] = order
    return found_scores, found_ids


def shortlisted(queries, items, words, limits, k, skip=None):
    """Return the k best items of each query among those that rare lists shortlist.

    Parameters
    ----------
    queries, items : (n, n_columns) arrays
    words : two (n, n_words) arrays, of the queries and of the items
    limits : dict of words, list, budget, shortlist and buckets
    """
    by_pair = {}
    for j, row in enumerate(words[1]):
        for bucket, weight in _word_pairs(row, limits):
            by_pair.setdefault(bucket, []).append((j, weight))
    by_pair = {b: found for b, found in by_pair.items() if len(found) <= limits["list"]}
    by_column = [[(j, v) for j, v in enumerate(c) if v] for c in items.T]
    scores = np.full((len(queries), len(items)), -np.inf)
    for i, row in enumerate(queries):
        pairs = [(by_pair[b], w) for b, w in _word_pairs(words[0][i], limits) if b in by_pair]
        pairs.sort(key=lambda pair: len(pair[0]))
        sums, n_read = {}, 0
        for found, weight in pairs:
            n_read += len(found)
            if n_read > limits["budget"]:
                break
            _add(sums, found, weight)
        if len(sums) < limits["shortlist"]:
            for column in np.flatnonzero(row):
                n_read += len(by_column[column])
                if sums and n_read > limits["budget"]:
                    break
                _add(sums, by_column[column], row[column])
        if skip is not None:
            sums.pop(skip[i], None)
        kept = sorted(sums, key=lambda j: (-sums[j], j))[: limits["shortlist"]]
        scores[i, kept] = items[kept] @ row
    return best(np.where(scores > 0, scores, -np.inf), k)


def _add(sums, found, weight):
    for j, value in found:
        sums[j] = sums.get(j, 0.0) + weight * value


def _word_pairs(row, limits):
    """Return the bucket and the weight of each pair of a row's first words."""
    columns = np.flatnonzero(row)[: limits["words"]].tolist()
    mask = (1 << 64) - 1
    found = []
    for place, a in enumerate(columns):
        for b in columns[place + 1 :]:
            key = (a * 0x9E3779B97F4A7C15 + b * 0xC2B2AE3D27D4EB4F) & mask
            key = ((key ^ (key >> 29)) * 0xBF58476D1CE4E5B9) & mask
            found.append(((key >> 32) % limits["buckets"], np.sqrt(row[a] * row[b])))
    return found
