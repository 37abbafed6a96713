"""The best items of each query: as the engine says, made sure of, or scored again."""

from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import is_sparse, n_rows
from likewise.index._embedded import Embedded
from likewise.index._engine import NO_SLOT, Found, Store, optimistic
from likewise.index._serving import Serving

_QUERIES_AT_A_TIME = (
    1000  # not a power of two: rows that lie so apart fight for one place in the cache
)
_SPARE = 8  # candidates beyond k, whose order rounding may have mixed up
_FEW = 20_000  # items: so many are scored one and all rather than searched for

Best = tuple[np.ndarray, np.ndarray]  # slots and scores, both (n_queries, k)


def best_of(
    serving: Serving, store: Store, Q: Any, k: int, allowed: Any, n_candidates: int
) -> Best:
    """Return the slots and scores of the `k` best items of each query."""
    n_items = store.n_allowed(allowed)
    k = min(k, n_items)
    if k == 0:
        return np.full((n_rows(Q), 0), NO_SLOT), np.empty((n_rows(Q), 0))
    if isinstance(store, Embedded) and _is_scored(serving, store, allowed, n_items):
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
    slots, rows = store.scored_rows(allowed)
    found = serving.similarity.neighbors(Q, rows, k)
    return slots[found.ids.astype(np.int64)], found.scores


def _best_of_block(
    serving: Serving, store: Store, Q: Any, k: int, allowed: Any, n_items: int, n_candidates: int
) -> Best:
    folded = serving.fold_queries(Q)
    if is_sparse(folded):
        folded = folded.toarray()
    if serving.reranks:
        found = store.search(folded, min(max(n_candidates, k), n_items), allowed)
        return _sorted(found.slots, _scores_again(serving, store, Q, found), k)
    if store.is_exact:
        return _made_sure(serving, store, Q, folded, k, allowed, n_items)
    found = store.search(folded, k, allowed)
    scores = serving.unfold(found.values, Q)
    return found.slots, np.where(found.slots == NO_SLOT, -np.inf, scores)


def _made_sure(
    serving: Serving, store: Store, Q: Any, folded: np.ndarray, k: int, allowed: Any, n_items: int
) -> Best:
    """Return the best by scores in double precision, and be certain that they are the best.

    The engine's values carry rounding errors. Some more candidates than asked for are scored
    again; what was not found could at most have the last value found and the largest error. Where
    that might still be among the best, more candidates are taken.
    """
    slots, scores = np.full((n_rows(Q), k), NO_SLOT), np.full((n_rows(Q), k), -np.inf)
    open_ = np.arange(n_rows(Q))
    off = store.most_off(folded)
    n_found = min(k + _SPARE, n_items)
    while len(open_):
        found = store.search(folded[open_], n_found, allowed)
        again = _scores_again(serving, store, Q[open_], found)
        best = _sorted(found.slots, again, k)
        slots[open_, : best[0].shape[1]], scores[open_, : best[0].shape[1]] = best
        if n_found >= n_items or found.slots.shape[1] < n_found:
            break  # all there is was scored
        most = optimistic(found, off[open_], serving.metric)
        beyond = serving.unfold(most[:, None], Q[open_])[:, 0]
        open_ = open_[(found.slots[:, -1] != NO_SLOT) & ~(scores[open_, -1] > beyond)]
        n_found = min(n_found * 4, n_items)
    return slots, scores


def _scores_again(serving: Serving, store: Store, Q: Any, found: Found) -> np.ndarray:
    missing = found.slots == NO_SLOT
    if missing.all():
        return np.full(found.slots.shape, -np.inf)
    known = np.where(missing, found.slots.max(), found.slots)  # any that is there
    distinct, places = np.unique(known, return_inverse=True)
    rows = store.rows(distinct)[places.reshape(known.shape)]
    queries = Q.toarray() if is_sparse(Q) else Q
    return np.where(missing, -np.inf, serving.rescored(queries, rows))


def _sorted(slots: np.ndarray, scores: np.ndarray, k: int) -> Best:
    """Return the `k` best; of equal scores the item that came first."""
    order = np.lexsort((slots, -scores))[:, :k]
    return np.take_along_axis(slots, order, axis=1), np.take_along_axis(scores, order, axis=1)
