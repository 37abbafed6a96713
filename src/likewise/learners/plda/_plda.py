"""A bilinear form from pairs of rows of the same kind, in the principal directions of all rows.

The model has two covariances: rows vary around the mean of their kind by C, and all together by T.
The log-likelihood ratio of two rows x and y, of the same kind or not, has the bilinear term xᵀΛy.
In the basis in which T = I and T − C = diag(λ), Λ = diag(λ / (1 − λ²)): directions in which a kind
varies as much as all rows do count nothing (Ioffe, 2006).

T is known from all rows, and C from the differences of pairs, shrunk toward a multiple of the
identity. Learning in few directions, and without the mean, which all rows share, is what makes a
hundred pairs enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PAIRS_PER_DIRECTION = 2.0  # weight of the identity in C, in pairs
_MAX_SHARE = 0.99  # λ, of the variance of a direction that is between kinds


@dataclass(frozen=True, eq=False)
class PairSpace:
    """The principal directions of rows, without the direction of their mean.

    A bilinear form cannot subtract the mean, but where the mean dominates its direction, as that of
    non-negative rows does, leaving the direction out comes close. A mean that is smaller than the
    standard deviation of the rows in its direction is taken for zero.

    Attributes
    ----------
    directions : array of shape (n_directions, n_features)
        Orthonormal.
    variances : array of shape (n_directions,)
        Descending.
    """

    directions: np.ndarray
    variances: np.ndarray

    @classmethod
    def of_rows(cls, rows: np.ndarray, n_directions: int) -> "PairSpace":
        """Return at most so many directions, without those in which rows do not vary."""
        rows = np.asarray(rows, dtype=np.float64)
        mean = rows.mean(axis=0)
        rows, length = rows - mean, np.linalg.norm(mean)
        along = rows @ (mean / (length or 1.0))
        if length > along.std():
            rows = rows - np.outer(along, mean / length)
        n, m = rows.shape
        if n > m:
            values, vectors = np.linalg.eigh(rows.T @ rows)
            values, directions = values[::-1], vectors[:, ::-1].T
        else:
            values, vectors = np.linalg.eigh(rows @ rows.T)
            values, vectors = values[::-1], vectors[:, ::-1]
            scale = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
            directions = (rows.T @ (vectors / scale)).T
        varies = values > max(n, m) * np.finfo(np.float64).eps * max(values[0], 0.0)
        kept = int(min(n_directions, varies.sum()))
        return cls(directions[:kept], values[:kept] / max(n - 1, 1))


def discriminants(
    space: PairSpace, differences: np.ndarray, ranks: Sequence[int]
) -> list[np.ndarray]:
    """Return B with W = BBᵀ for each number of principal directions.

    Parameters
    ----------
    space : PairSpace
    differences : array of shape (n_pairs, n_features)
        Of the two rows of each pair of the same kind.
    ranks : sequence of int
        Numbers of directions; more than the space has are cut.

    Returns
    -------
    list of arrays of shape (n_features, n_discriminants)
        Scaled so that the mean of xᵀWx over the rows is 1; without a column if no direction
        separates kinds.
    """
    mapped = differences @ space.directions.T
    scatter = mapped.T @ mapped / 2
    return [_discriminants(space, scatter, len(differences), rank) for rank in ranks]


def _discriminants(space: PairSpace, scatter: np.ndarray, n: int, rank: int) -> np.ndarray:
    k = min(rank, len(space.variances))
    total, directions = space.variances[:k], space.directions[:k]
    if k == 0 or n == 0:
        return np.zeros((space.directions.shape[1], 0))
    scatter = scatter[:k, :k]
    weight = PAIRS_PER_DIRECTION * k
    prior = np.trace(scatter) / n / k * np.eye(k)
    within = (scatter + weight * prior) / (n + weight)
    # In units of the standard deviations of all rows T = I, and the eigenvalues of C are 1 − λ.
    units = np.sqrt(total)
    values, vectors = np.linalg.eigh(within / np.outer(units, units))
    share = np.clip(1 - values, 0, _MAX_SHARE)
    kept = share > 0
    weights = share[kept] / (1 - share[kept] ** 2)
    found = directions.T @ (vectors[:, kept] / units[:, None] * np.sqrt(weights))
    # The mean of xᵀWx over the rows: that of each direction is its weight.
    return np.asarray(found / np.sqrt(weights.sum() or 1.0))
