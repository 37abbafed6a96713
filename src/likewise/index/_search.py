"""The best items of each query: as the engine says, made sure of, or scored again."""

from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import is_sparse, n_rows
from likewise.index._fold_plan import Serving
from likewise.index._truth import exact_best
from likewise.index.engines._engine import NO_SLOT, Found, Store, optimistic
from likewise.index.stores._memory import Embedded

# Not a power of two: rows that lie so apart fight for one place in the cache.
_QUERIES_AT_A_TIME = 1000
_NUMBERS_AT_A_TIME = 8_000_000  # in the candidates that are scored again
_SPARE = 8  # candidates beyond k, whose order rounding may have mixed up
_MORE = 4  # times as many candidates, where those were not enough; then every item is scored
_FEW = 20_000  # items: so many are scored one and all rather than searched for

Best = tuple[np.ndarray, np.ndarray]  # slots and scores, both (n_queries, k)


def best_of(
    serving: Serving, store: Store, Q: Any, k: int, allowed: Any, n_candidates: int
) -> Best:
    """Return the slots and scores of the `k` best items of each query."""
    n_items = store.n_allowed(allowed)
    if n_items is not None:
        k = min(k, n_items)
    if k == 0:
        return np.full((n_rows(Q), 0), NO_SLOT), np.empty((n_rows(Q), 0))
    if isinstance(store, Embedded) and _is_scored(serving, store, allowed, n_items or 0):
        return _scored(serving, store, Q, k, allowed)
    found = [
        _best_of_block(serving, store, Q[block], k, allowed, n_items, n_candidates)
        for block in slices(n_rows(Q), _QUERIES_AT_A_TIME)
    ]
    widest = max(slots.shape[1] for slots, _ in found)
    slots, scores = zip(*(_widened(*part, widest) for part in found), strict=True)
    return np.concatenate(slots), np.concatenate(scores)


def _widened(slots: np.ndarray, scores: np.ndarray, k: int) -> Best:
    missing = ((0, 0), (0, k - slots.shape[1]))
    slots = np.pad(slots, missing, constant_values=NO_SLOT)
    return slots, np.pad(scores, missing, constant_values=-np.inf)


def _is_scored(serving: Serving, store: Embedded, allowed: Any, n_items: int) -> bool:
    few = allowed is not None and n_items <= _FEW and not store.is_exact
    return serving.by is None or few


def _scored(serving: Serving, store: Embedded, Q: Any, k: int, allowed: Any) -> Best:
    """Score every item that is allowed."""
    rows = store.whole() if allowed is None else None
    if rows is None:
        return exact_best(serving.similarity, Q, store.blocks(allowed), k)
    found = serving.similarity.neighbors(Q, rows, k)
    return found.ids.astype(np.int64), found.scores


def _best_of_block(
    serving: Serving,
    store: Store,
    Q: Any,
    k: int,
    allowed: Any,
    n_items: int | None,
    n_candidates: int,
) -> Best:
    # In double precision: what a map rounds away, none of the bounds below would know of.
    folded = serving.fold_queries(Q.astype(np.float64))
    if is_sparse(folded):
        folded = folded.toarray()
    if serving.reranks:
        n_found = max(n_candidates, k) if n_items is None else min(max(n_candidates, k), n_items)
        found = store.search(folded, n_found, allowed)
        return _sorted(found.slots, _scores_again(serving, store, Q, found), k)
    if store.is_exact:
        return _made_sure(serving, store, Q, folded, k, allowed, n_items)
    found = store.search(folded, k, allowed)
    scores = serving.unfold(found.values, Q)
    return found.slots, np.where(found.slots == NO_SLOT, -np.inf, scores)


def _made_sure(
    serving: Serving,
    store: Store,
    Q: Any,
    folded: np.ndarray,
    k: int,
    allowed: Any,
    n_items: int | None,
) -> Best:
    """Return the best by scores in double precision, and be certain that they are the best.

    The engine's values carry rounding errors. Some more candidates than asked for are scored
    again; what was not found could at most have the last value found and the largest error. Where
    that might still be among the best, more candidates are taken, and at last every item.
    """
    slots, scores = np.full((n_rows(Q), k), NO_SLOT), np.full((n_rows(Q), k), -np.inf)
    open_ = np.arange(n_rows(Q))
    off = store.most_off(folded)
    for n_found in (k + _SPARE, _MORE * (k + _SPARE)):
        n_found = n_found if n_items is None else min(n_found, n_items)
        found = store.search(folded[open_], n_found, allowed)
        best = _sorted(found.slots, _scores_again(serving, store, Q[open_], found), k)
        width = best[0].shape[1]
        slots[open_, :width], scores[open_, :width] = best
        most = optimistic(found, off[open_], serving.metric)
        beyond = serving.unfold(most[:, None], Q[open_])[:, 0]
        is_all = (found.slots != NO_SLOT).sum(axis=1) == n_items
        if n_items is None:
            is_all = (found.slots.shape[1] < n_found) | (found.slots[:, -1] == NO_SLOT)
        open_ = open_[~is_all & ~(scores[open_, -1] > beyond)]
        if not len(open_):
            return slots, scores
    best = exact_best(serving.similarity, Q[open_], store.blocks(allowed), k)
    slots[open_], scores[open_] = best
    return slots, scores


def _scores_again(serving: Serving, store: Store, Q: Any, found: Found) -> np.ndarray:
    """Return the scores of what was found, in double precision, some queries at a time."""
    scores: np.ndarray = np.full(found.slots.shape, -np.inf)
    for few in slices(len(scores), max(1, _NUMBERS_AT_A_TIME // (scores.shape[1] * Q.shape[1]))):
        known = found.slots[few] != NO_SLOT
        if known.any():
            distinct, places = np.unique(found.slots[few][known], return_inverse=True)
            queries = Q[few].toarray() if is_sparse(Q) else Q[few]
            left = np.nonzero(known)[0]
            scores[few][known] = serving.rescored(queries, store.rows(distinct), left, places)
    return scores


def _sorted(slots: np.ndarray, scores: np.ndarray, k: int) -> Best:
    """Return the `k` best; of equal scores the item that came first."""
    order = np.lexsort((slots, -scores))[:, :k]
    return np.take_along_axis(slots, order, axis=1), np.take_along_axis(scores, order, axis=1)
