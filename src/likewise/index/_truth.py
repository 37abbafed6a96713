"""What an exact search would have found, however the items are stored, and how much of it was."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from likewise._validation import n_rows
from likewise.index.engines._engine import NO_SLOT
from likewise.similarities import Similarity


def exact_best(
    similarity: Similarity, Q: Any, blocks: Iterable[tuple[np.ndarray, Any]], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots and scores of the `k` best items, from blocks of slots and rows."""
    if getattr(Q, "dtype", None) == np.float32:
        Q = Q.astype(np.float64)  # scores are compared from block to block: to the last bit
    slots = np.full((n_rows(Q), k), NO_SLOT)
    scores = np.full((n_rows(Q), k), -np.inf)
    for block, rows in blocks:
        found = similarity.neighbors(Q, rows, min(k, n_rows(rows)))
        slots = np.concatenate([slots, block[found.ids.astype(np.int64)]], axis=1)
        scores = np.concatenate([scores, found.scores], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        slots, scores = (np.take_along_axis(part, best, axis=1) for part in (slots, scores))
    return slots, scores


def recall(
    truth: tuple[np.ndarray, np.ndarray], served: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return for each query which share of the truth was served; an equal score is as good."""
    (true_slots, true_scores), (slots, scores) = truth, served
    wanted = (true_slots != NO_SLOT).sum(axis=1)
    least = np.where(true_slots == NO_SLOT, np.inf, true_scores).min(axis=1, keepdims=True)
    hit = (slots[:, :, None] == true_slots[:, None, :]).any(axis=2) | (scores >= least)
    hit &= slots != NO_SLOT
    return np.minimum(hit.sum(axis=1) / np.maximum(wanted, 1), 1.0)
