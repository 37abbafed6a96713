"""The k best of a row of scores, kept in a heap while blocks of scores pass by.

Each query row owns a heap of k (score, id) entries in two arrays. The root, at position 0, is the
entry to give up next: the lowest score, and of equal ones the highest id. Empty places hold
(-inf, no id). Blocks must come in ascending order of ids, so that a later equal score never
displaces an earlier one.
"""

import numpy as np

from likewise.kernels._jit import kernel


@kernel
def _replace_root(scores, ids, score, identifier):
    """Drop the root of one heap and sift (score, identifier) down to its place."""
    size = scores.shape[0]
    place = 0
    while True:
        child = 2 * place + 1
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
        scores[place] = scores[child]
        ids[place] = ids[child]
        place = child
    scores[place] = score
    ids[place] = identifier


@kernel
def scan_scores(block, first_id, skip, heap_scores, heap_ids):
    """Offer every score of `block` to the heap of its row.

    Parameters
    ----------
    block : (n_rows, n_items) scores; column j is item ``first_id + j``
    skip : (n_rows,) int64, an id that row must not keep; -1 for none
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
    """Offer every pair of `block` to the heap of its row, by its score computed anew.

    A block from a matrix product carries rounding errors that depend on where in the block a pair
    stands. They only decide which pairs are looked at: one that could still enter the heap, given
    an error of at most `slack`, is scored from its two rows in double precision, in an order that
    depends on nothing else. Equal pairs therefore tie exactly, on any number of threads.

    Parameters
    ----------
    block : (n_rows, n_items) approximate scores
    slack : (n_rows,) float64, the most by which a row's approximate scores may be too low
    queries, items : (n_rows, n_features) and (n_items, n_features)
    is_distance : bool, score = -|q - p|² instead of q·p
    first_id, skip, heap_scores, heap_ids : as in `scan_scores`
    """
    for i in range(block.shape[0]):
        floor = heap_scores[i, 0] - slack[i]
        for j in range(block.shape[1]):
            # Not `>= floor`: where the product overflowed to NaN, the pair is to be looked at.
            if not (block[i, j] < floor) and first_id + j != skip[i]:
                score = 0.0
                if is_distance:
                    for f in range(queries.shape[1]):
                        gap = np.float64(queries[i, f]) - np.float64(items[j, f])
                        score -= gap * gap
                else:
                    for f in range(queries.shape[1]):
                        score += np.float64(queries[i, f]) * np.float64(items[j, f])
                if score > heap_scores[i, 0]:
                    _replace_root(heap_scores[i], heap_ids[i], score, first_id + j)
                    floor = heap_scores[i, 0] - slack[i]
