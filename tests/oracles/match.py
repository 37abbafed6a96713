"""Matching in plain Python: words, cosines, candidates, leads, strings, thresholds, clusters."""

import math
import re
from collections import Counter
from fractions import Fraction


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
    jaro = (Fraction(m, len(a)) + Fraction(m, len(b)) + Fraction(m - moved, m)) / 3
    if jaro <= Fraction(7, 10):  # a prefix counts above 0.7 only
        return float(jaro)
    prefix = 0
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        prefix += 1
    return float(jaro + Fraction(prefix, 10) * (1 - jaro))


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


def is_code(word):
    return len(word) >= (5 if word.isdigit() else 4) and any(c.isdigit() for c in word)


def compare(left, right, kinds, i, j):
    """Return every feature of a pair, by field and title; None where a value is missing.

    `left` and `right` are lists of dicts of normalized values; `right` is None for one table.
    """
    one_table = right is None
    others = left if one_table else right
    found = {}
    for field, kind in [*kinds.items(), ("*", "*")]:
        texts = [[_value(record, field) for record in side] for side in (left, others)]
        a, b = texts[0][i], texts[1][j]
        values = dict(_features(texts, kind, i, j, one_table))
        if not (a and b):
            values = dict.fromkeys(values)
        if kind != "*":
            found[field, "missing in one"] = int((not a) != (not b))
            found[field, "missing in both"] = int(not a and not b)
            found[field, "same"] = int(a == b) if a and b else None
        found |= {(field, title): value for title, value in values.items()}
    return found


def _value(record, field):
    return " ".join(filter(None, record.values())) if field == "*" else record[field]


def _features(texts, kind, i, j, one_table):
    a, b = texts[0][i], texts[1][j]
    rows = {}
    for title, analyzer in (("letters", pieces), ("words", words)):
        documents = [analyzer(text) for text in texts[0] + ([] if one_table else texts[1])]
        weights, n = tfidf(documents), len(texts[0])
        rows[title] = weights[:n], weights if one_table else weights[n:], documents
    letters = cosine(rows["letters"][0][i], rows["letters"][1][j])
    yield "letters", letters
    if kind in ("string", "number"):
        yield "Jaro-Winkler", jaro_winkler(a, b) if a and b else None
        yield "edits", edit_similarity(a, b) if a and b else None
    if kind == "number":
        yield "difference", _difference(a, b)
        return
    yield "words", cosine(rows["words"][0][i], rows["words"][1][j])
    yield from _word_features(a, b, rows["words"][2], kind)
    if kind == "*":
        length = _code_inside(a, b)
        yield "code inside", int(length > 0)
        yield "length of code inside", length
        for title in ("letters", "words"):
            of_left, of_right = _leads(rows[title], i, j, one_table)
            yield f"lead of left by {title}", of_left
            yield f"lead of right by {title}", of_right
            yield f"lead by {title}", min(of_left, of_right)
    else:
        title = "letters" if kind == "string" else "words"
        yield "lead", min(_leads(rows[title], i, j, one_table))


def _leads(rows, i, j, one_table):
    left, right, _ = rows
    own = cosine(left[i], right[j])
    forbidden = {i, j} if one_table else {j}
    of_left = [cosine(left[i], row) for place, row in enumerate(right) if place not in forbidden]
    forbidden = {i, j} if one_table else {i}
    of_right = [cosine(right[j], row) for place, row in enumerate(left) if place not in forbidden]
    return own - max(of_left, default=0.0), own - max(of_right, default=0.0)


def _word_features(a, b, documents, kind):
    idf = {}
    for term in {word for document in documents for word in document}:
        n_with = sum(term in document for document in documents)
        idf[term] = math.log((1 + len(documents)) / (1 + n_with)) + 1
    one, other = set(words(a)), set(words(b))
    shared = one & other

    def weight(terms):
        return sum(idf[term] for term in terms)

    yield "Jaccard", _ratio(len(shared), len(one | other))
    yield "contained", _ratio(len(shared), min(len(one), len(other)))
    yield "contained by idf", _ratio(weight(shared), min(weight(one), weight(other)))
    n_codes = sum(map(is_code, shared))
    yield "codes shared", min(3, n_codes)
    differ = not n_codes and any(map(is_code, one)) and any(map(is_code, other))
    yield "codes differ", int(differ)
    if kind != "string":
        yield "rarest shared word", max((idf[term] for term in shared), default=0.0)
        yield "lengths", _ratio(min(len(one), len(other)), max(len(one), len(other)))


def _code_inside(a, b):
    bare = ["".join(c for c in text if c.isalnum()) for text in (a, b)]
    lengths = [len(w) for w in words(a) if is_code(w) and w in bare[1]]
    lengths += [len(w) for w in words(b) if is_code(w) and w in bare[0]]
    return min(12, max(lengths, default=0))


def _difference(a, b):
    try:
        x, y = float(a), float(b)
    except ValueError:
        return None
    return _ratio(abs(x - y), max(abs(x), abs(y)))


def _ratio(a, b):
    return a / b if b else 0.0


def levels(vector, kinds):
    """Return the level of agreement of each field and the lead of a dict of features."""
    found = []
    for field, kind in kinds.items():
        value = vector[field, "words" if kind == "text" else "edits"]
        if value is None:
            found.append(-1)
        elif vector[field, "same"]:
            found.append(3)
        else:
            found.append((value >= 0.55) + (value >= 0.8))
    lead = vector["*", "lead by letters"]
    return [*found, sum(lead >= cut for cut in (-0.2, 0.0, 0.2))]


def fellegi_sunter(patterns, n_iterations):
    """Return weights and share after some iterations of EM over levels of agreement."""
    start = p = [0.9 if pattern[-1] >= 2 else 0.05 for pattern in patterns]
    kept = 10 / (10 + len(patterns))
    for _ in range(n_iterations):
        p = [kept * s + (1 - kept) * q for s, q in zip(start, p, strict=True)]
        weights = []
        for field in range(len(patterns[0])):
            m, u = [1.0] * 4, [1.0] * 4
            for pattern, match in zip(patterns, p, strict=True):
                if pattern[field] >= 0:
                    m[pattern[field]] += match
                    u[pattern[field]] += 1 - match
            raw = [math.log(a / sum(m)) - math.log(b / sum(u)) for a, b in zip(m, u, strict=True)]
            weights.append(_pooled(raw, [a + b for a, b in zip(m, u, strict=True)]))
        share = sum(p) / len(p)
        odds = [
            math.log(share / (1 - share))
            + sum(weights[f][level] for f, level in enumerate(pattern) if level >= 0)
            for pattern in patterns
        ]
        p = [1 / (1 + math.exp(-z)) for z in odds]
    return weights, share


def _pooled(values, sizes):
    """Return the nearest values that do not fall: adjacent violators are pooled."""
    blocks = []
    for value, size in zip(values, sizes, strict=True):
        blocks.append([value, size, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            b, a = blocks.pop(), blocks.pop()
            mean = (a[0] * a[1] + b[0] * b[1]) / (a[1] + b[1])
            blocks.append([mean, a[1] + b[1], a[2] + b[2]])
    return [value for value, _, n in blocks for _ in range(n)]


def agreement_leads(candidates, agreement, lowest, i, j, own, one_table):
    """Return how far a pair is ahead of other candidates of its left, and right, record."""
    left, right = [lowest], [lowest]
    for (a, b), value in zip(candidates, agreement, strict=True):
        if (a, b) == (i, j):
            continue
        if a == i or (one_table and b == i):
            left.append(value)
        if b == j or (one_table and a == j):
            right.append(value)
    return own - max(left), own - max(right)
