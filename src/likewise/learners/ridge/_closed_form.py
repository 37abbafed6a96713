"""Ridge regression of queries onto what they should find: closed forms, for all penalties at once.

With Q the queries, M the mean of each query's relevant items and W₀ the start:
W = W₀ + (QᵀQ + λI)⁻¹ Qᵀ(M − QW₀). The penalty λ counts queries: λ = 10 is a start worth ten
queries in each direction, and λ = ∞ is the start.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import Rows, is_sparse
from likewise.similarities import (
    lengths,
    map_rows,
    paired_products,
    products,
    ratio,
    to_dense,
    to_unit_length,
)


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
        """Return the solution, of shape (m, p); zero where the penalty is infinite."""
        return (self._left / (self._eigenvalues + alpha)) @ self._right

    def project(self, rows: Rows) -> np.ndarray:
        """Return what `predict` needs of some rows, whatever the penalty."""
        return rows @ self._left

    def predict(self, projected: np.ndarray, alpha: float) -> np.ndarray:
        """Return rows times the solution, without making it."""
        return (projected / (self._eigenvalues + alpha)) @ self._right


def relevance_path(grades: Any, Q: Rows, P: Rows, W0: np.ndarray) -> RidgePath:
    """Return the ridge of queries onto the mean of their relevant items, less the start.

    Parameters
    ----------
    grades : CSR of shape (n_queries, n_items), above 0 where relevant
    Q, P : rows as they are compared
    W0 : the start, of shape (n_query_features, n_item_features)
    """
    totals = np.asarray(grades.sum(axis=1)).ravel()
    asked = np.flatnonzero(totals > 0)
    shares = grades[asked].multiply(1 / totals[asked, None]).tocsr()
    queries = Q[asked]
    return RidgePath(queries, to_dense(shares @ P) - to_dense(map_rows(queries, W0)))


@dataclass(frozen=True, eq=False)
class Directions:
    """Which way judged items move: see `likewise.ItemOffsets`.

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


def offset_directions(grades: Any, Q: Rows, W0: np.ndarray) -> Directions:
    """Return n^(−1/2) Σ (t − t̄) of every judged item, with t the query at the start."""
    asked = np.flatnonzero(np.asarray(grades.sum(axis=1)).ravel() > 0)
    towards = to_unit_length(map_rows(Q[asked], W0))
    center = np.asarray(towards.mean(axis=0)).ravel()
    counts = np.asarray(grades.sum(axis=0)).ravel()
    judged = np.flatnonzero(counts > 0)
    counts = counts[judged]
    summed = grades[asked][:, judged].T @ towards
    if is_sparse(summed):
        from scipy.sparse import csr_array

        summed = csr_array(summed - csr_array(counts[:, None]) @ csr_array(center[None]))
        directions = summed.multiply(counts[:, None] ** -0.5).tocsr()
    else:
        directions = (summed - counts[:, None] * center) * counts[:, None] ** -0.5
    return Directions(judged, directions, counts, center)


class ItemScores:
    """Scores of queries with items that offsets have moved, for any step γ.

    Parameters
    ----------
    items : array or CSR, as they are compared
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
        self._place = np.full(items.shape[0], -1)
        self._place[offsets.rows] = np.arange(len(offsets.rows))

    def scales(self, gamma: float) -> np.ndarray:
        """Return ‖p‖ / ‖unit(p) + γ c‖ of the judged items."""
        uu, uc, cc = self._squares
        towards = np.sqrt(np.maximum(uu + 2 * gamma * uc + gamma**2 * cc, 0))
        return ratio(self._lengths, towards)

    def all(self, mapped: np.ndarray, gammas: Any) -> Any:
        """Yield the scores of mapped queries with all items, for each step."""
        plain = products(mapped, self.items)
        towards = None
        for gamma in gammas:
            if gamma == 0 or self._offsets is None:
                yield plain
                continue
            if towards is None:
                unit = ratio(
                    plain[:, self._offsets.rows],
                    np.broadcast_to(self._lengths, (len(plain), len(self._lengths))),
                )
                towards = products(mapped, self._offsets.directions)
            moved = plain.copy()
            moved[:, self._offsets.rows] = (unit + gamma * towards) * self.scales(gamma)
            yield moved

    def pairs(self, mapped: np.ndarray, columns: np.ndarray, gammas: Any) -> Any:
        """Yield the scores of mapped query i with the item in column i, for each step."""
        plain = paired_products(mapped, self.items[columns])
        towards = None
        for gamma in gammas:
            if gamma == 0 or self._offsets is None:
                yield plain
                continue
            if towards is None:
                judged = np.flatnonzero(self._place[columns] >= 0)
                place = self._place[columns[judged]]
                towards = paired_products(mapped[judged], self._offsets.directions[place])
                unit = ratio(plain[judged], self._lengths[place])
            moved = plain.copy()
            moved[judged] = (unit + gamma * towards) * self.scales(gamma)[place]
            yield moved


def label_path(X: Rows, classes: np.ndarray, weights: np.ndarray) -> RidgePath:
    """Return the ridge of weighted rows onto their classes, one centered column for each."""
    indicators = (classes[:, None] == np.arange(classes.max() + 1)).astype(np.float64)
    indicators -= np.average(indicators, axis=0, weights=weights)
    if (weights == 1).all():
        return RidgePath(X, indicators)
    root = np.sqrt(weights)[:, None]
    return RidgePath(X.multiply(root).tocsr() if is_sparse(X) else X * root, indicators * root)


def label_form(path: RidgePath, alpha: float) -> np.ndarray:
    """Return W = BBᵀ with B the ridge of rows onto classes."""
    B = path.solution(alpha)
    return B @ B.T
