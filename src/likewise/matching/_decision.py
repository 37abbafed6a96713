"""Decisions from probabilities: one-to-one pairs, and clusters of one table."""

from dataclasses import dataclass

import numpy as np

from likewise.matching._candidates import Candidates

LINKS = ("average", "single")
_NOT_A_CANDIDATE = 0.02  # probability of a pair that was not compared


@dataclass(frozen=True, eq=False)
class Decision:
    """Which pairs are matches and, for one table, the cluster of each record."""

    is_match: np.ndarray
    clusters: np.ndarray | None
    threshold: float


def decide(
    pairs: Candidates,
    p: np.ndarray,
    threshold: float,
    n_records: int | None,
    *,
    unique: bool,
    link: str,
) -> Decision:
    """Decide pairs of two tables, or of the `n_records` of one table.

    With `unique`, no record of two tables is used twice.
    """
    if n_records is not None:
        found = clusters(n_records, pairs, p, threshold, link)
        return Decision(found[pairs.left] == found[pairs.right], found, threshold)
    is_match = one_to_one(pairs, p, threshold) if unique else p >= threshold
    return Decision(is_match, None, threshold)


def falling(pairs: Candidates, p: np.ndarray) -> np.ndarray:
    """Return the order of pairs by falling probability; among equals by row numbers."""
    return np.lexsort((pairs.right, pairs.left, -p))


def one_to_one(pairs: Candidates, p: np.ndarray, threshold: float) -> np.ndarray:
    """Return which pairs are decided, by falling probability, so that no record is used twice."""
    decided = np.zeros(len(p), dtype=bool)
    used_left: set[int] = set()
    used_right: set[int] = set()
    left, right = pairs.left.tolist(), pairs.right.tolist()
    for place in falling(pairs, p).tolist():
        if p[place] < threshold:
            break
        if left[place] not in used_left and right[place] not in used_right:
            decided[place] = True
            used_left.add(left[place])
            used_right.add(right[place])
    return decided


def clusters(
    n_records: int, pairs: Candidates, p: np.ndarray, threshold: float, link: str
) -> np.ndarray:
    """Return the cluster of each record, numbered by their first records.

    Clusters join by falling probability of their pairs: with ``single`` if one pair reaches the
    threshold, with ``average`` if the mean over all pairs between them does.
    """
    members: dict[int, list[int]] = {}
    cluster = list(range(n_records))
    between: dict[int, dict[int, float]] = {}  # Σ(p − the default) of pairs between two clusters
    left, right = pairs.left.tolist(), pairs.right.tolist()
    if link == "average":
        for a, b, probability in zip(left, right, p.tolist(), strict=True):
            between.setdefault(a, {})[b] = between.setdefault(b, {})[a] = (
                probability - _NOT_A_CANDIDATE
            )
    for place in falling(pairs, p).tolist():
        if p[place] < threshold:
            break
        a, b = cluster[left[place]], cluster[right[place]]
        if a == b:
            continue
        large, small = members.get(a, [a]), members.get(b, [b])
        if link == "average":
            mean = between[a][b] / (len(large) * len(small)) + _NOT_A_CANDIDATE
            if mean < threshold - 1e-12:
                continue
        if len(large) < len(small):
            a, b, large, small = b, a, small, large
        members[a] = large + small
        members.pop(b, None)
        for record in small:
            cluster[record] = a
        for other, total in between.pop(b, {}).items():
            del between[other][b]
            if other != a:
                joined = between[a].get(other, 0.0) + total
                between[a][other] = between[other][a] = joined
    return _renumbered(np.array(cluster))


def _renumbered(cluster: np.ndarray) -> np.ndarray:
    """Return cluster numbers from 0, in the order of first records."""
    _, first, inverse = np.unique(cluster, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def membership(pairs: Candidates, p: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return the mean probability of each record with the others of its cluster; NaN if alone."""
    inside = cluster[pairs.left] == cluster[pairs.right]
    total, n = np.zeros(len(cluster)), np.zeros(len(cluster))
    for side in pairs:
        np.add.at(total, side[inside], p[inside])
        np.add.at(n, side[inside], 1)
    others = np.bincount(cluster)[cluster] - 1
    total += (others - n) * _NOT_A_CANDIDATE
    return np.divide(total, others, out=np.full(len(cluster), np.nan), where=others > 0)
