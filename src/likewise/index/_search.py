"""The best items of each query, from an engine's approximate values or by scoring every item."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import is_sparse, n_rows
from likewise.index.engines import NO_SLOT, Hits, best_unseen_value
from likewise.index.stores import Reader
from likewise.similarities import Similarity, sort_best

# Not a power of two: rows at such distances compete for the same cache lines.
_QUERIES_PER_BATCH = 1000
_NUMBERS_PER_BATCH = 8_000_000  # in candidates that are scored again
_SPARE_CANDIDATES = 8  # beyond k, whose order rounding may have changed
_MORE_CANDIDATES = 4  # factor for a second attempt, before every item is scored
_MAX_SCORED = 20_000  # allowed items, up to which they are scored instead of searched

Best = tuple[np.ndarray, np.ndarray]  # slots and scores, both (n_queries, k)


def best_items(reader: Reader, Q: Any, k: int, allowed: Any, n_candidates: int) -> Best:
    """Return the slots and scores of the `k` best items of each query."""
    n_items = reader.n_allowed(allowed)
    if n_items is not None:
        k = min(k, n_items)
    if k == 0:
        return np.full((n_rows(Q), 0), NO_SLOT), np.empty((n_rows(Q), 0))
    few = allowed is not None and n_items is not None and n_items <= _MAX_SCORED
    if reader.plan.folded is None or (few and not reader.is_exact):
        return _score_all(reader, Q, k, allowed)
    batches = [
        _search_batch(reader, Q[batch], k, allowed, n_items, n_candidates)
        for batch in slices(n_rows(Q), _QUERIES_PER_BATCH)
    ]
    if len(batches) == 1:
        return batches[0]
    width = max(slots.shape[1] for slots, _ in batches)
    slots, scores = zip(*(_padded(*batch, width) for batch in batches), strict=True)
    return np.concatenate(slots), np.concatenate(scores)


def _padded(slots: np.ndarray, scores: np.ndarray, k: int) -> Best:
    if slots.shape[1] == k:
        return slots, scores
    missing = ((0, 0), (0, k - slots.shape[1]))
    slots = np.pad(slots, missing, constant_values=NO_SLOT)
    return slots, np.pad(scores, missing, constant_values=-np.inf)


def _score_all(reader: Reader, Q: Any, k: int, allowed: Any) -> Best:
    rows = reader.whole() if allowed is None else None
    if rows is None:
        return exact_best(reader.plan.similarity, Q, reader.blocks(allowed), k)
    matches = reader.plan.similarity.neighbors(Q, rows, k)
    return matches.ids.astype(np.int64), matches.scores


def _search_batch(
    reader: Reader, Q: Any, k: int, allowed: Any, n_items: int | None, n_candidates: int
) -> Best:
    plan = reader.plan
    # In double precision: the error bounds do not include the rounding of a map.
    folded = plan.fold_queries(Q.astype(np.float64))
    if is_sparse(folded):
        folded = folded.toarray()
    if plan.reranks:
        n_candidates = max(n_candidates, k)
        hits = reader.search(folded, _limited(n_candidates, n_items), allowed)
        return _sorted(hits.slots, _exact_scores(reader, Q, hits), k)
    if reader.is_exact:
        return _verified_best(reader, Q, folded, k, allowed, n_items)
    hits = reader.search(folded, k, allowed)
    scores = plan.unfold(hits.values, Q)
    return hits.slots, np.where(hits.slots == NO_SLOT, -np.inf, scores)


def _limited(n_candidates: int, n_items: int | None) -> int:
    return n_candidates if n_items is None else min(n_candidates, n_items)


def _verified_best(
    reader: Reader, Q: Any, folded: np.ndarray, k: int, allowed: Any, n_items: int | None
) -> Best:
    """Return the best items by their scores in double precision.

    The engine's values have rounding errors. A few more candidates than `k` are scored again. For
    queries of which another item may be better, more candidates are, and finally every item.
    """
    n_candidates = k + _SPARE_CANDIDATES
    slots, scores, verified = _rescored(reader, Q, folded, k, n_candidates, allowed, n_items)
    if verified.all():
        return slots, scores
    rest = np.flatnonzero(~verified)
    n_candidates *= _MORE_CANDIDATES
    slots[rest], scores[rest], verified = _rescored(
        reader, Q[rest], folded[rest], k, n_candidates, allowed, n_items
    )
    rest = rest[~verified]
    if len(rest):
        best = exact_best(reader.plan.similarity, Q[rest], reader.blocks(allowed), k)
        slots[rest], scores[rest] = best
    return slots, scores


def _rescored(
    reader: Reader,
    Q: Any,
    folded: np.ndarray,
    k: int,
    n_candidates: int,
    allowed: Any,
    n_items: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best of some candidates, and for which queries no other item can be better.

    An item outside the candidates has at most the last candidate's value plus the maximum error.
    """
    n_candidates = _limited(n_candidates, n_items)
    hits = reader.search(folded, n_candidates, allowed)
    slots, scores = _padded(*_sorted(hits.slots, _exact_scores(reader, Q, hits), k), k)
    errors = reader.error_bounds(folded)
    unseen = best_unseen_value(hits, errors, reader.plan.metric)[:, None]
    verified = scores[:, -1] > reader.plan.unfold(unseen, Q)[:, 0]
    if n_items is None:
        verified |= (hits.slots.shape[1] < n_candidates) | (hits.slots[:, -1] == NO_SLOT)
    elif n_items == hits.slots.shape[1]:
        verified |= (hits.slots != NO_SLOT).all(axis=1)
    return slots, scores, verified


def _exact_scores(reader: Reader, Q: Any, hits: Hits) -> np.ndarray:
    """Return the scores of the hits in double precision, in batches of queries."""
    scores: np.ndarray = np.full(hits.slots.shape, -np.inf)
    size = max(1, _NUMBERS_PER_BATCH // (scores.shape[1] * Q.shape[1]))
    for batch in slices(len(scores), size):
        filled = hits.slots[batch] != NO_SLOT
        if not filled.any():
            continue
        queries = Q[batch].toarray() if is_sparse(Q) else Q[batch]
        found = hits.slots[batch][filled]
        if len(queries) == 1:
            distinct, right = found, np.arange(len(found))
            left = np.zeros_like(right)
        else:
            distinct, right = np.unique(found, return_inverse=True)
            left = np.nonzero(filled)[0]
        rows = reader.rows(distinct)
        scores[batch][filled] = reader.plan.score_pairs(queries, rows, left, right)
    return scores


def _sorted(slots: np.ndarray, scores: np.ndarray, k: int) -> Best:
    """Return the `k` best; among equal scores the lower slot comes first."""
    scores, slots = sort_best((scores, slots), k)
    return slots, scores


def exact_best(
    similarity: Similarity, Q: Any, blocks: Iterable[tuple[np.ndarray, Any]], k: int
) -> Best:
    """Return the slots and scores of the `k` best items, from blocks of slots and rows."""
    if getattr(Q, "dtype", None) == np.float32:
        Q = Q.astype(np.float64)  # so that scores of different blocks compare exactly
    slots = np.full((n_rows(Q), k), NO_SLOT)
    scores = np.full((n_rows(Q), k), -np.inf)
    for block, rows in blocks:
        matches = similarity.neighbors(Q, rows, min(k, n_rows(rows)))
        slots = np.concatenate([slots, block[matches.ids.astype(np.int64)]], axis=1)
        scores = np.concatenate([scores, matches.scores], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        slots, scores = (np.take_along_axis(part, best, axis=1) for part in (slots, scores))
    return slots, scores


def recall(truth: Best, served: Best) -> np.ndarray:
    """Return the share of the truth that was served to each query; equal scores count as hits."""
    (true_slots, true_scores), (slots, scores) = truth, served
    n_true = (true_slots != NO_SLOT).sum(axis=1)
    minimum = np.where(true_slots == NO_SLOT, np.inf, true_scores).min(axis=1, keepdims=True)
    hit = (slots[:, :, None] == true_slots[:, None, :]).any(axis=2) | (scores >= minimum)
    hit &= slots != NO_SLOT
    return np.minimum(hit.sum(axis=1) / np.maximum(n_true, 1), 1.0)
