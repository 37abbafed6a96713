"""Ridge regression of queries onto their relevant items, in closed form for all penalties.

With Q the queries, M the mean of each query's relevant items and W₀ the start:
W = W₀ + (QᵀQ + λI)⁻¹ Qᵀ(M − QW₀). The unit of the penalty λ is a query: λ = 10 is a start worth ten
queries in each direction, and λ = ∞ is the start itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, is_sparse
from likewise.similarities import (
    ItemOffsets,
    lengths,
    map_rows,
    paired_products,
    products,
    ratio,
    to_dense,
    to_unit_length,
)

_TEMPERATURE = 0.1  # τ of local centers
_NUMBERS_PER_BLOCK = 4_000_000


class RidgePath:
    """(QᵀQ + λI)⁻¹ Qᵀ R for every λ, from one eigendecomposition of the smaller Gram matrix.

    Parameters
    ----------
    Q : array or CSR of shape (n, m)
    R : array of shape (n, p)
    """

    def __init__(self, Q: Rows, R: np.ndarray) -> None:
        n, m = Q.shape
        gram = products(Q, Q) if n <= m else to_dense(Q.T @ Q)
        eigenvalues, vectors = np.linalg.eigh(gram)
        self._eigenvalues = np.maximum(eigenvalues, 0)
        if n <= m:
            self._left, self._right = Q.T @ vectors, vectors.T @ R
        else:
            self._left, self._right = vectors, vectors.T @ (Q.T @ R)

    def solution(self, alpha: float) -> np.ndarray:
        """Return the solution, of shape (m, p); zero for an infinite penalty."""
        return (self._left / (self._eigenvalues + alpha)) @ self._right

    def project(self, rows: Rows) -> np.ndarray:
        """Return the projection of rows that `predict` takes; it does not depend on the penalty."""
        return rows @ self._left

    def predict(self, projected: np.ndarray, alpha: float) -> np.ndarray:
        """Return rows times the solution, without computing the solution."""
        return (projected / (self._eigenvalues + alpha)) @ self._right


def relevance_path(grades: Any, Q: Rows, P: Rows, W0: np.ndarray) -> RidgePath:
    """Return the ridge regression of queries onto the mean of their relevant items minus the start.

    Parameters
    ----------
    grades : CSR of shape (n_queries, n_items), above 0 where relevant
    Q, P : rows, normalized where the similarity normalizes them
    W0 : the start, of shape (n_query_features, n_item_features)
    """
    totals = np.asarray(grades.sum(axis=1)).ravel()
    rows = np.flatnonzero(totals > 0)
    shares = grades[rows].multiply(1 / totals[rows, None]).tocsr()
    queries = Q[rows]
    return RidgePath(queries, to_dense(shares @ P) - to_dense(map_rows(queries, W0)))


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions in which judged items move: see `likewise.ItemOffsets`.

    Attributes
    ----------
    rows : int array of shape (n_judged,), rows of the items
    directions : array or CSR of shape (n_judged, n_item_features)
    counts : array of shape (n_judged,)
    center : array of shape (n_item_features,)
    """

    rows: np.ndarray
    directions: Rows
    counts: np.ndarray
    center: np.ndarray

    def offsets(self, ids: Sequence[Any], gamma: float) -> ItemOffsets:
        """Return the offsets of step `gamma`; `ids` are those of all items."""
        judged = tuple(ids[row] for row in self.rows.tolist())
        directions = self.directions.astype(np.float32)
        return ItemOffsets(judged, directions, self.counts, gamma, self.center)


def offset_directions(grades: Any, Q: Rows, W0: np.ndarray, near: Rows = None) -> Directions:
    """Return n^(−1/2) Σ (t − e) of every judged item, with t the query at the start.

    e is the mean of all judging queries t̄ or, with the items as `near`, a mean of each item with
    the weights softmax(t·unit(p) / τ).
    """
    from scipy.sparse import csr_array

    rows = np.flatnonzero(np.asarray(grades.sum(axis=1)).ravel() > 0)
    mapped = to_unit_length(map_rows(Q[rows], W0))
    center = np.asarray(mapped.mean(axis=0)).ravel()
    counts = np.asarray(grades.sum(axis=0)).ravel()
    judged = np.flatnonzero(counts > 0)
    counts = counts[judged]
    summed = grades[rows][:, judged].T @ mapped
    centers = center[None] if near is None else _local_centers(near[judged], mapped)
    if is_sparse(summed):
        shift = csr_array(counts[:, None]) @ csr_array(center[None])
        if near is not None:
            shift = csr_array(counts[:, None] * centers)
        directions = csr_array(summed - shift).multiply(counts[:, None] ** -0.5).tocsr()
    else:
        directions = (summed - counts[:, None] * centers) * counts[:, None] ** -0.5
    return Directions(judged, directions, counts, center)


def _local_centers(items: Rows, queries: Rows) -> np.ndarray:
    """Return for each item the mean of the queries, weighted by their cosine with the item."""
    from scipy.special import softmax

    centers = np.empty(items.shape)
    for block in slices(items.shape[0], max(1, _NUMBERS_PER_BLOCK // queries.shape[0])):
        cosines = products(to_unit_length(items[block]), queries)
        centers[block] = softmax(cosines / _TEMPERATURE, axis=1) @ queries
    return centers


class ItemScores:
    """Scores of queries with items moved by offsets, for any step γ.

    Parameters
    ----------
    items : array or CSR, normalized where the similarity normalizes them
    offsets : Directions or None
    """

    def __init__(self, items: Rows, offsets: Directions | None) -> None:
        self.items = items
        self._offsets = offsets
        if offsets is None:
            return
        judged = items[offsets.rows]
        self._lengths = lengths(judged)
        unit = to_unit_length(judged)
        c = offsets.directions
        self._squares = paired_products(unit, unit), paired_products(unit, c), paired_products(c, c)
        self._position = np.full(items.shape[0], -1)
        self._position[offsets.rows] = np.arange(len(offsets.rows))

    def scales(self, gamma: float) -> np.ndarray:
        """Return ‖p‖ / ‖unit(p) + γ c‖ of the judged items."""
        uu, uc, cc = self._squares
        moved_lengths = np.sqrt(np.maximum(uu + 2 * gamma * uc + gamma**2 * cc, 0))
        return ratio(self._lengths, moved_lengths)

    def all(self, mapped: np.ndarray, gammas: Iterable[float]) -> Iterator[np.ndarray]:
        """Yield the scores of mapped queries with all items, for each step."""
        scores = products(mapped, self.items)
        along = None
        for gamma in gammas:
            if gamma == 0 or self._offsets is None:
                yield scores
                continue
            if along is None:
                unit = ratio(
                    scores[:, self._offsets.rows],
                    np.broadcast_to(self._lengths, (len(scores), len(self._lengths))),
                )
                along = products(mapped, self._offsets.directions)
            moved = scores.copy()
            moved[:, self._offsets.rows] = (unit + gamma * along) * self.scales(gamma)
            yield moved

    def pairs(
        self, mapped: np.ndarray, columns: np.ndarray, gammas: Iterable[float]
    ) -> Iterator[np.ndarray]:
        """Yield the scores of mapped query i with the item in column i, for each step."""
        scores = paired_products(mapped, self.items[columns])
        along = None
        for gamma in gammas:
            if gamma == 0 or self._offsets is None:
                yield scores
                continue
            if along is None:
                judged = np.flatnonzero(self._position[columns] >= 0)
                position = self._position[columns[judged]]
                along = paired_products(mapped[judged], self._offsets.directions[position])
                unit = ratio(scores[judged], self._lengths[position])
            moved = scores.copy()
            moved[judged] = (unit + gamma * along) * self.scales(gamma)[position]
            yield moved


def label_path(X: Rows, classes: np.ndarray, weights: np.ndarray) -> RidgePath:
    """Return the ridge regression of weighted rows onto centered class indicators."""
    indicators = (classes[:, None] == np.arange(classes.max() + 1)).astype(np.float64)
    indicators -= np.average(indicators, axis=0, weights=weights)
    if (weights == 1).all():
        return RidgePath(X, indicators)
    root = np.sqrt(weights)[:, None]
    return RidgePath(X.multiply(root).tocsr() if is_sparse(X) else X * root, indicators * root)


def label_form(path: RidgePath, alpha: float) -> np.ndarray:
    """Return W = BBᵀ with B the ridge regression of rows onto classes."""
    B = path.solution(alpha)
    return B @ B.T
