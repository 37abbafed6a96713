"""Rules by which similar training rows decide on a class, and the scores that each gives.

The last axis of scores is that of the classes. With several labels for a row, the axis before it is
that of the labels, and the classes of each are 0 and 1.
"""

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from likewise import kernels
from likewise._threads import for_each
from likewise._validation import n_rows, take
from likewise.classifiers._neighbors import NeighborWeights
from likewise.metrics import majority_votes
from likewise.similarities import Matches, kernel_means

if TYPE_CHECKING:
    from likewise.classifiers._similarity import SimilarityClassifier

# A block of distances to all training rows should stay well within memory.
_DISTANCES_IN_BLOCK = 4_000_000


def vote(
    matches: Matches, labels: np.ndarray, n_classes: int, weights: NeighborWeights, best_only: bool
) -> np.ndarray:
    """Return the shares of votes of the neighbors, or only the best class."""
    found, weight = labels[matches.ids], weights.of(matches)
    if found.ndim == 2:
        votes = majority_votes(found, n_classes, weight)
    else:
        columns = np.moveaxis(found, 2, 0)
        votes = np.stack([majority_votes(column, 2, weight) for column in columns], axis=1)
    return votes.argmax(axis=-1) if best_only else votes


def score(X: Any, fitted: "SimilarityClassifier", best_only: bool) -> np.ndarray:
    """Return the class scores of checked rows, or only the best class."""
    scores = scores_of(X, fitted)
    return scores.argmax(axis=-1) if best_only else scores


def scores_of(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    """Return the class scores of checked rows, by any rule."""
    if fitted.similarities_ is not None:
        return _one_vs_rest_scores(X, fitted)
    return RULES[fitted.rule](X, fitted)


def _one_vs_rest_scores(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    """Return the lead of each class over the rest, by its own similarity.

    The lead is relative to the sum of both scores, because the similarities of different classes
    have different scales.
    """
    columns = []
    for label, similarity in enumerate(fitted.similarities_):
        binary = _binary(fitted, fitted.labels_ == label)
        binary.similarity_, binary.similarities_ = similarity, None
        rest, own = scores_of(X, binary).T.astype(np.float64)
        total = np.abs(own) + np.abs(rest)
        columns.append(np.divide(own - rest, total, out=np.zeros(len(own)), where=total > 0))
    return np.stack(columns, axis=1)


def _majority(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    matches = fitted.similarity_.neighbors(X, fitted.items_, fitted.n_neighbors)
    weights = fitted._neighbor_weights()
    return vote(matches, fitted.labels_, len(fitted.classes_), weights, best_only=False)


def _symmetric(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    """Return the sum, or the mean, of the scores of each class's nearest rows.

    With weights, the sum is their number times their weighted mean.
    """
    if fitted.labels_.ndim == 2:
        return np.stack([_symmetric(X, _binary(fitted, y)) for y in fitted.labels_.T], axis=1)
    columns, weights = [], fitted._row_weights()
    for label in range(len(fitted.classes_)):
        members = np.flatnonzero(fitted.labels_ == label)
        if len(members) == 0:  # a label that all rows have, or none
            columns.append(np.full(n_rows(X), -np.inf))
            continue
        k = min(fitted.n_neighbors, len(members))
        matches = fitted.similarity_.neighbors(X, take(fitted.items_, members), k)
        of_matches = None if weights is None else weights[members][matches.ids]
        means = np.average(matches.scores, axis=1, weights=of_matches)
        columns.append(means * k if fitted.rule == "symmetric" else means)
    return np.stack(columns, axis=1)


def _energy(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    """Return the negated energy of each class, with −score as the distance."""
    labels, radii = fitted.labels_, fitted.radii_
    n_queries, n_items = n_rows(X), n_rows(fitted.items_)
    n_classes, k = len(fitted.classes_), fitted.n_neighbors
    weights = fitted._row_weights()
    if weights is None:
        weights = np.ones(n_items)
    # Compiled loops do not check bounds: shapes and labels must be consistent.
    if (
        radii is None
        or radii.shape != (n_items, k)
        or labels.shape != (n_items,)
        or weights.shape != (n_items,)
        or not 0 <= labels.min() <= labels.max() < n_classes
    ):
        raise ValueError("rule, n_neighbors or fitted attributes changed after fit: fit again.")
    members = [np.flatnonzero(labels == label) for label in range(n_classes)]
    energies = np.empty((n_queries, n_classes))

    def work(block: np.ndarray) -> None:
        distances = -fitted.similarity_.score(take(X, block), fitted.items_).astype(np.float64)
        nearest = np.full((len(block), n_classes, k), np.nan)
        for label, columns in enumerate(members):
            n_nearest = min(k, len(columns))
            closest = np.partition(distances[:, columns], n_nearest - 1, axis=1)[:, :n_nearest]
            nearest[:, label, :n_nearest] = np.sort(closest, axis=1)
        out = np.empty((len(block), n_classes))
        scratch = np.empty((2, n_classes))
        kernels.class_energies(distances, labels, nearest, radii, weights, fitted.c, *scratch, out)
        energies[block] = out

    size = max(1, _DISTANCES_IN_BLOCK // n_items)
    blocks = np.split(np.arange(n_queries), range(size, n_queries, size))
    for_each(work, blocks, parallel=fitted.similarity_.takes == "rows")
    return -energies


def _softmax(X: Any, fitted: "SimilarityClassifier") -> np.ndarray:
    """Return the probability that a row chosen with exp(score / bandwidth) is of each class."""
    labels, bandwidth = fitted.labels_, getattr(fitted, "bandwidth_", None)
    if bandwidth is None:
        raise ValueError("rule changed after fit: fit again.")
    if labels.ndim == 2:
        values: Any = labels
    else:
        at = np.arange(len(labels)), labels
        values = csr_array((np.ones(len(labels)), at), (len(labels), len(fitted.classes_)))
    shares = kernel_means(
        fitted.similarity_,
        X,
        fitted.items_,
        values,
        weights=fitted._row_weights(),
        bandwidth=bandwidth,
    )
    return shares if labels.ndim == 1 else np.stack([1 - shares, shares], axis=2)


def _binary(fitted: "SimilarityClassifier", positive: np.ndarray) -> "SimilarityClassifier":
    """Return a copy of a classifier that separates some training rows from the others."""
    binary = copy(fitted)
    binary.labels_ = positive.astype(np.int64)
    binary.classes_ = np.array([False, True])
    return binary


RULES: dict[str, Callable[[Any, "SimilarityClassifier"], np.ndarray]] = {
    "majority": _majority,
    "symmetric": _symmetric,
    "symmetric_mean": _symmetric,
    "energy": _energy,
    "softmax": _softmax,
}
