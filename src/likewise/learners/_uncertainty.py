"""Uncertainty of comparisons, from the mean and standard deviation of their margins."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, check_rows, check_whole_number, take
from likewise.similarities import paired_products, to_unit_length
from likewise.supervision import check_triplets, triplets_of

_TRIPLETS_PER_BLOCK = 4096


def triplet_margins(
    triplets: Any,
    queries: Any,
    items: Any,
    W: np.ndarray,
    variances_of: Callable[[Rows, Rows], np.ndarray],
    *,
    normalize: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and standard deviation of qᵀW(p⁺ − p⁻) of each triplet.

    `variances_of` takes rows q and p⁺ − p⁻. Without `items`, the queries are the items.
    """
    Q = check_rows(queries, "queries", n_features=W.shape[0])
    P = check_rows(queries if items is None else items, "items", n_features=W.shape[1])
    triplets = check_triplets(triplets_of(triplets)[0], Q, P)
    scaled = to_unit_length if normalize else lambda rows: rows
    margins, variances = np.empty(len(triplets)), np.empty(len(triplets))
    for block in slices(len(triplets), _TRIPLETS_PER_BLOCK):
        query, closer, farther = triplets[block].T
        q = scaled(take(Q, query))
        p = scaled(take(P, closer)) - scaled(take(P, farther))
        margins[block] = paired_products(q @ W, p)
        variances[block] = variances_of(q, p)
    return margins, np.sqrt(np.maximum(variances, 0))


def probability(margins: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Return the probability that each margin is positive, if margins are normal."""
    from scipy.special import ndtr

    certain = np.where(margins == 0, 0.0, np.copysign(np.inf, margins))
    return np.asarray(ndtr(np.divide(margins, deviations, out=certain, where=deviations > 0)))


def least_certain(
    candidates: Any, n: int, margins_of: Callable[[Any], tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Return the `n` triplets whose margins are smallest in standard deviations, in order.

    Margins without deviation, as of a zero row, come last: their answers change nothing.
    """
    check_whole_number(n, "n")
    candidates = np.asarray(triplets_of(candidates)[0])
    margins, deviations = margins_of(candidates)
    certainty = np.full(len(margins), np.inf)
    np.divide(np.abs(margins), deviations, out=certainty, where=deviations > 0)
    return np.asarray(candidates[np.argsort(certainty, kind="stable")[:n]])
