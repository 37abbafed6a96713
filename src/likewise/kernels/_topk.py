"""The k best scores of each query, in a heap that is updated block by block.

Each query has a heap of k (score, id) entries in two arrays. The root, at position 0, is the entry
to replace next: the lowest score and, among equal scores, the highest id. Empty entries hold
(-inf, no id). Blocks must come in ascending order of ids, so that a later equal score never
replaces an earlier one.
"""

import numpy as np

from likewise.kernels._jit import helper, kernel


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
    for i in range(block.shape[0]):
        floor = heap_scores[i, 0] - slack[i]
        for j in range(block.shape[1]):
            # Not `>= floor`: a NaN from an overflow must be scored again.
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
