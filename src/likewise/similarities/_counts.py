"""How many rows of a sample are closer to a query than an item is: what ranks are made of.

Scores decide between closer and farther, so here they are told apart to the last bit: equal pairs
have equal scores, whichever blocks they stand in.
"""

from typing import Any

import numpy as np

from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise._validation import n_rows
from likewise.similarities._base import Similarity
from likewise.similarities._search import Scorer, chunks, query_blocks

_THRESHOLDS_AT_A_TIME = 1_000_000
_PAIRS_IN_BLOCK = 32


def closer_counts(similarity: Similarity, Q: Any, S: Any, P: Any) -> np.ndarray:
    """Return how many rows of `S` score above item j with query i, as (n_queries, n_items).

    One pass over `S` for each query, whatever the number of items.
    """
    n_queries, n_items = n_rows(Q), n_rows(P)
    counts = np.empty((n_queries, n_items), np.int64)
    parts = list(slices(n_queries, max(1, _THRESHOLDS_AT_A_TIME // n_items)))
    with LongWork("ranking", total=n_queries, unit="rows") as work:
        for part in parts:
            thresholds = exact_scores(similarity, Q[part], P)
            counts[part] = _counts_above(similarity, Q[part], S, thresholds)
            work.advance(part.stop - part.start)
    return counts


def closer_counts_of_pairs(similarity: Similarity, Q: Any, S: Any, P: Any) -> np.ndarray:
    """Return how many rows of `S` score above item i with query i, as (n_queries,)."""
    own = [
        np.diagonal(exact_scores(similarity, Q[block], P[block]))
        for block in slices(n_rows(Q), _PAIRS_IN_BLOCK)
    ]
    return _counts_above(similarity, Q, S, np.concatenate(own)[:, None])[:, 0]


def exact_scores(similarity: Similarity, Q: Any, P: Any) -> np.ndarray:
    """Return the score of every query with every item, in which equal pairs tie exactly."""
    scorer = similarity._scorer(Q, P)[0]
    found = np.empty((scorer.n_queries, scorer.n_items))
    for chunk in chunks(scorer):
        ready = scorer.ready(chunk)

        def work(block: slice, ready: Any = ready, chunk: slice = chunk) -> None:
            found[block, chunk] = scorer.scores(block, ready)

        for_each(work, query_blocks(scorer), parallel=scorer.parallel)
    if not np.isfinite(found).all():
        raise ValueError("Q and P give scores beyond the range of numbers: scale them down.")
    return found


def _counts_above(similarity: Similarity, Q: Any, S: Any, thresholds: np.ndarray) -> np.ndarray:
    """Return how many rows of `S` score above each threshold of a query."""
    scorer: Scorer = similarity._scorer(Q, S)[0]
    order = np.argsort(thresholds, axis=1)
    ascending = np.take_along_axis(thresholds, order, axis=1)
    placed = np.zeros((len(thresholds), thresholds.shape[1] + 1), np.int64)
    for chunk in chunks(scorer):
        ready = scorer.ready(chunk)

        def work(block: slice, ready: Any = ready) -> None:
            scorer.count(block, ready, ascending[block], placed[block])

        for_each(work, query_blocks(scorer), parallel=scorer.parallel)
    above = placed[:, :0:-1].cumsum(axis=1)[:, ::-1]
    counts = np.empty_like(above)
    np.put_along_axis(counts, order, above, axis=1)
    return counts
