"""Matching in plain Python: words, cosines, candidates, leads, strings, thresholds, clusters."""

import math
import re
from collections import Counter


def words(text):
    return [w.replace("-", "") for w in re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", text)]


def pieces(text):
    found = []
    for word in words(text):
        padded = f" {word} "
        found += [padded[i : i + 3] for i in range(len(padded) - 2)]
    return found


def tfidf(documents):
    """Return one dict of weights of unit length for each list of terms."""
    n_with = Counter(term for document in documents for term in set(document))
    rows = []
    for document in documents:
        row = {
            term: (1 + math.log(count)) * (math.log((1 + len(documents)) / (1 + n_with[term])) + 1)
            for term, count in Counter(document).items()
        }
        length = math.sqrt(sum(value**2 for value in row.values()))
        rows.append({term: value / length for term, value in row.items()})
    return rows


def cosine(a, b):
    return sum(value * b.get(term, 0.0) for term, value in a.items())


def candidates(left, right, k):
    """Return the pairs of each row with its k nearest, in both directions."""
    scores = [[cosine(a, b) for b in right] for a in left]
    found = set()
    for i in range(len(left)):
        nearest = sorted(range(len(right)), key=lambda j: (-scores[i][j], j))[:k]
        found |= {(i, j) for j in nearest if scores[i][j] > 0}
    for j in range(len(right)):
        nearest = sorted(range(len(left)), key=lambda i: (-scores[i][j], i))[:k]
        found |= {(i, j) for i in nearest if scores[i][j] > 0}
    return sorted(found)


def leads(left, right, i, j):
    """Return the lead of the left and of the right record of a pair."""
    own = cosine(left[i], right[j])
    of_left = max((cosine(left[i], b) for place, b in enumerate(right) if place != j), default=0.0)
    of_right = max((cosine(a, right[j]) for place, a in enumerate(left) if place != i), default=0.0)
    return own - of_left, own - of_right


def edit_similarity(a, b):
    """Return 1 − edits / longer length, where a swap of adjacent letters is one edit."""
    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            if i == 0 or j == 0:
                rows[i][j] = i + j
                continue
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return 1 - rows[-1][-1] / max(len(a), len(b))


def jaro_winkler(a, b):
    window = max(0, max(len(a), len(b)) // 2 - 1)
    used = set()
    matched = []
    for i, letter in enumerate(a):
        for j in range(max(0, i - window), min(len(b), i + window + 1)):
            if j not in used and b[j] == letter:
                used.add(j)
                matched.append(letter)
                break
    if not matched:
        return 0.0
    others = [b[j] for j in sorted(used)]
    moved = sum(x != y for x, y in zip(matched, others, strict=True)) // 2
    m = len(matched)
    jaro = (m / len(a) + m / len(b) + (m - moved) / m) / 3
    if jaro <= 0.7:
        return jaro
    prefix = 0
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro)


def best_threshold(p):
    """Return the threshold of the largest expected F1, by trying every probability."""

    def expected(threshold):
        chosen = [x for x in p if x >= threshold]
        return 2 * sum(chosen) / (len(chosen) + sum(p))

    return max(sorted(set(p), reverse=True), key=expected)


def average_clusters(n, p, threshold):
    """Return clusters as sorted lists; `p` maps pairs (a, b), a < b, to probabilities."""
    cluster_of = {i: frozenset([i]) for i in range(n)}
    for (a, b), probability in sorted(p.items(), key=lambda item: (-item[1], item[0])):
        one, other = cluster_of[a], cluster_of[b]
        if probability < threshold or one is other:
            continue
        cross = [p.get((min(x, y), max(x, y)), 0.02) for x in one for y in other]
        if sum(cross) / len(cross) >= threshold - 1e-12:
            joined = one | other
            for member in joined:
                cluster_of[member] = joined
    return sorted(sorted(c) for c in set(cluster_of.values()))
