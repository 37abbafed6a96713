"""Value and gradient of an objective by the map, in blocks of anchors × references.

With W of the objective, V = W + Wᵀ − diag(1ᵀ W) and Z = X Lᵀ, the gradient by the map is 2 Zᵀ V X.
"""

from typing import Any, Protocol

import numpy as np

from likewise._threads import ScratchArray, for_each, single_threaded_blas
from likewise.learners.nca._objective import Objective
from likewise.learners.nca._rows import StandardizedRows

_ELEMENTS_IN_BLOCK = 2**21  # eight megabytes in single precision: smaller products are slower
_MIN_ANCHORS_IN_BLOCK = 32
# Anchors are divided into at most this many shares, each with its own sum of the gradient. The
# division does not depend on the number of threads, and so neither does the sum.
_MAX_SHARES, _MIN_ANCHORS_IN_SHARE = 4, 128
# The products that distances consist of lose this much times 1e-7 in single precision.
_MAX_SQUARE_IN_SINGLE = 1e5


def evaluate(
    objective: Objective,
    rows: StandardizedRows,
    weights: np.ndarray,
    anchors: np.ndarray,
    L: np.ndarray,
    *,
    gradient: bool = True,
    scratch: ScratchArray | None = None,
) -> tuple[float, np.ndarray]:
    """Return the mean of an objective over anchors, and its gradient by the map.

    Parameters
    ----------
    objective : Objective
    rows : StandardizedRows
        The references.
    weights : (n_references,) array
        Positive.
    anchors : int array
        Ascending positions among the references; all of them may choose all others.
    L : (n_components, n_features) array
    gradient : bool, default=True
        Whether the gradient is needed; zeros otherwise.
    scratch : ScratchArray, optional
        Memory for blocks, reused between calls.
    """
    scratch = ScratchArray() if scratch is None else scratch
    with single_threaded_blas():
        Z = rows.mapped(L)
    squares = np.einsum("ij,ij->i", Z, Z)
    if squares.max() > _MAX_SQUARE_IN_SINGLE:
        Z = Z.astype(np.float64)
        squares = np.einsum("ij,ij->i", Z, Z)
    weights = weights.astype(Z.dtype, copy=False)
    # The log-odds 2 z_i·z_j − |z_j|² + log v_j are the products of (2 z_i, −1) with these rows.
    references = np.column_stack([Z, squares - np.log(weights)])
    n_shares = int(np.clip(len(anchors) // _MIN_ANCHORS_IN_SHARE, 1, _MAX_SHARES))
    shares = np.array_split(anchors, n_shares)
    values = [0.0] * n_shares
    sums = [_gradient_sum(rows, Z) for _ in shares] if gradient else []

    def work(share: int) -> None:
        into = sums[share] if gradient else None
        values[share] = _add_blocks(objective, references, weights, shares[share], into, scratch)

    for_each(work, range(n_shares))
    total = float(weights[anchors].sum(dtype=np.float64))
    if not gradient:
        return sum(values) / total, np.zeros_like(L)
    for other in sums[1:]:
        sums[0].include(other)
    with single_threaded_blas():
        return sum(values) / total, sums[0].by_map(L) / total


def _add_blocks(
    objective: Objective,
    references: np.ndarray,
    weights: np.ndarray,
    anchors: np.ndarray,
    gradient: "GradientSum | None",
    scratch: ScratchArray,
) -> float:
    """Return the sum of the objective over anchors, and add their part to the gradient."""
    value = 0.0
    n_references = len(references)
    size = max(_MIN_ANCHORS_IN_BLOCK, _ELEMENTS_IN_BLOCK // n_references)
    for of_block in np.array_split(anchors, -(-len(anchors) // size)):
        logits = scratch.get((len(of_block), n_references), references.dtype)
        queries = 2 * references[of_block]
        queries[:, -1] = -1
        np.matmul(queries, references.T, out=logits)
        logits[np.arange(len(of_block)), of_block] = -np.inf
        terms, factors = objective.weigh(logits, of_block, weights[of_block])
        value += float(terms.sum(dtype=np.float64))
        if gradient is not None:
            gradient.add(of_block, logits, factors)
    return value


class GradientSum(Protocol):
    """Sums over anchors, of which the gradient by the map is made."""

    def add(self, anchors: np.ndarray, pairs: np.ndarray, factors: np.ndarray) -> None:
        """Add the rows of W of some anchors: their factors times pairs."""

    def include(self, other: Any) -> None:
        """Add the sums of other anchors."""

    def by_map(self, L: np.ndarray) -> np.ndarray:
        """Return the gradient by the map, in double precision."""


class ColumnSum:
    """The gradient as 2 L (Xᵀ V X): one product of W with the columns of X.

    Parameters
    ----------
    X : (n_references, n_features) array
    """

    def __init__(self, X: np.ndarray) -> None:
        self._X = X
        self._products = np.zeros((X.shape[1], X.shape[1]))  # Xᵀ W X
        self._column_sums = np.zeros(len(X), X.dtype)  # of W

    def add(self, anchors: np.ndarray, pairs: np.ndarray, factors: np.ndarray) -> None:
        """Add the rows of W of some anchors."""
        by_anchor = pairs @ self._X
        by_anchor *= factors[:, None]
        self._products += self._X[anchors].T @ by_anchor
        self._column_sums += factors @ pairs

    def include(self, other: "ColumnSum") -> None:
        """Add the sums of other anchors."""
        self._products += other._products
        self._column_sums += other._column_sums

    def by_map(self, L: np.ndarray) -> np.ndarray:
        """Return the gradient by the map."""
        diagonal = self._X.T @ (self._column_sums[:, None] * self._X)
        return np.asarray(2 * L @ (self._products + self._products.T - diagonal))


class RowSum:
    """The gradient as 2 (V Z)ᵀ X: two products of W with the components of Z.

    Parameters
    ----------
    rows : StandardizedRows
    Z : (n_references, n_components) array
        The mapped rows.
    """

    def __init__(self, rows: StandardizedRows, Z: np.ndarray) -> None:
        self._rows, self._Z = rows, Z
        self._by_row = np.zeros_like(Z)  # (W + Wᵀ) Z
        self._column_sums = np.zeros(len(Z), Z.dtype)  # of W

    def add(self, anchors: np.ndarray, pairs: np.ndarray, factors: np.ndarray) -> None:
        """Add the rows of W of some anchors."""
        self._by_row += pairs.T @ (factors[:, None] * self._Z[anchors])
        self._by_row[anchors] += factors[:, None] * (pairs @ self._Z)
        self._column_sums += factors @ pairs

    def include(self, other: "RowSum") -> None:
        """Add the sums of other anchors."""
        self._by_row += other._by_row
        self._column_sums += other._column_sums

    def by_map(self, L: np.ndarray) -> np.ndarray:
        """Return the gradient by the map."""
        by_row = self._by_row - self._column_sums[:, None] * self._Z
        return 2 * self._rows.pulled_back(by_row)


def _gradient_sum(rows: StandardizedRows, Z: np.ndarray) -> GradientSum:
    """Return the sums that need fewer operations; CSR has but one choice."""
    X = rows.dense
    if X is not None and X.dtype == Z.dtype and X.shape[1] < 2 * Z.shape[1]:
        return ColumnSum(X)
    return RowSum(rows, Z)
