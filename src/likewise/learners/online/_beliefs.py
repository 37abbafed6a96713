"""States of the online learners, and their updates.

`learn` follows the published updates, one triplet at a time; a weight w replaces AROMA's r by r/w
and OASIS's C by wC.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners.online._triplet_batches import TripletBatches
from likewise.similarities import paired_products

AnyState = TypeVar("AnyState", bound="State")
Evidence: TypeAlias = tuple[Any, ...]  # arrays, and for OASIS a number
Weighted: TypeAlias = tuple[np.ndarray, np.ndarray]  # triplets and their weights

# Triplets per block of the factored updates: smaller blocks need fewer products among their rows,
# larger blocks have faster matrix products. Best measured at 384 and at 1,000 features.
_SMALL_BLOCK, _LARGE_BLOCK, _LARGE_WIDTH = 64, 128, 600


class State(Protocol):
    """Arrays that training changes in place."""

    W: np.ndarray

    @classmethod
    def fresh(cls, W: np.ndarray) -> Self:
        """Return the initial state for a form, which the state owns from then on."""

    def learn(
        self, part: Weighted, batches: TripletBatches, rate: float, totals: np.ndarray
    ) -> None:
        """Learn from some triplets; add the losses and the number of updates to `totals`."""

    def evidence_since(self, start: Any, n_updates: float) -> Evidence:
        """Return the evidence since `start`, as arrays whose sum over states is meaningful.

        `n_updates` is the number of updates since `start`.
        """

    def with_evidence(self, evidence: Evidence, step: float = 1.0, share: float = 1.0) -> Self:
        """Return this state with the summed evidence of states that continued from it.

        `step` multiplies the averaged change of W, `share` the summed gain in precision.
        """


def weighted_blocks(part: Weighted, size: int) -> Iterator[Weighted]:
    """Yield triplets and their weights in blocks of at most `size`."""
    for block in slices(len(part[0]), size):
        yield part[0][block], part[1][block]


def sum_evidence(parts: Iterable[Evidence]) -> Evidence:
    """Return the summed evidence of several states that continued from one start."""
    return tuple(sum(part) for part in zip(*parts, strict=True))


def copy_state(state: AnyState) -> AnyState:
    """Return a deep copy of a state."""
    return type(state)(*(getattr(state, field.name).copy() for field in fields(state)))  # type: ignore[arg-type]


def make_writable(state: State) -> None:
    """Copy read-only arrays, which are published or were read from a file."""
    for field in fields(state):  # type: ignore[arg-type]
        array = getattr(state, field.name)
        if not array.flags.writeable:
            setattr(state, field.name, array.copy())


def _check_arrays(**arrays: tuple[Any, tuple[int, ...] | None]) -> None:
    """Refuse arrays that kernels would read out of bounds, as from a damaged file."""
    kinds = {getattr(array, "dtype", None) for array, _ in arrays.values()}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise ValueError(f"{', '.join(arrays)} must be float32 or float64 arrays of the same type.")
    for name, (array, shape) in arrays.items():
        if array.ndim != 2 or (shape is not None and array.shape != shape):
            raise ValueError(f"{name} has shape {array.shape}, which does not match the others.")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds NaN or infinity; it must be finite.")


@dataclass
class OasisState:
    """The form alone."""

    W: np.ndarray

    def __post_init__(self) -> None:
        _check_arrays(W=(self.W, None))

    @classmethod
    def fresh(cls, W: np.ndarray) -> "OasisState":
        """Return the initial state for a form, which the state owns from then on."""
        return cls(W)

    def learn(self, part: Weighted, batches: TripletBatches, C: float, totals: np.ndarray) -> None:
        """W += τ q pᵀ with τ = min(C, loss / (|q|²|p|²)), if there is a loss."""
        for rows, weights in weighted_blocks(part, batches.block_size):
            queries = batches.query_lists(rows)
            if is_sparse(batches.items):
                items = batches.item_lists(rows)
                kernels.oasis_lists(*queries, *items, weights, C, self.W, totals)
            else:
                dense = batches.item_rows(rows)
                products = batches.scratch("products", (self.W.shape[1],))
                kernels.oasis_dense(*queries, dense, weights, C, self.W, products, totals)

    def evidence_since(self, start: "OasisState", n_updates: float) -> Evidence:
        """Return the change in W times the number of updates, and that number."""
        return n_updates * (self.W - start.W.astype(np.float64)), float(n_updates)

    def with_evidence(
        self, evidence: Evidence, step: float = 1.0, share: float = 1.0
    ) -> "OasisState":
        """Add `step` times the mean change in W, weighted by the numbers of updates."""
        moved, total = evidence
        W = self.W + step * moved / total if total > 0 else self.W.copy()
        return OasisState(W.astype(self.W.dtype))


@dataclass
class DiagonalState:
    """A mean W and a variance S of every entry of the form."""

    W: np.ndarray
    S: np.ndarray

    def __post_init__(self) -> None:
        _check_arrays(W=(self.W, None), S=(self.S, np.shape(self.W)))

    @classmethod
    def fresh(cls, W: np.ndarray) -> "DiagonalState":
        """Return the initial state: mean W, which the state owns from then on, and variances 1."""
        return cls(W, np.ones_like(W))

    def learn(self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray) -> None:
        """W += loss/(v + r) S∘qpᵀ, then 1/S += (q∘q)(p∘p)ᵀ/r, if there is a loss."""
        for rows, weights in weighted_blocks(part, batches.block_size):
            queries = batches.query_lists(rows)
            if is_sparse(batches.items):
                items = batches.item_lists(rows)
                kernels.diagonal_lists(*queries, *items, weights, r, self.W, self.S, totals)
            else:
                dense = batches.item_rows(rows)
                squares = np.multiply(dense, dense, out=batches.scratch("squares", dense.shape))
                sums = batches.scratch("sums", (2, self.W.shape[1]))
                state = self.W, self.S, sums
                kernels.diagonal_dense(*queries, dense, squares, weights, r, *state, totals)

    def forget(self, share: float) -> None:
        """Move the variances towards their initial value by a share of the difference."""
        self.S += self.S.dtype.type(share) * (1 - self.S)

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance (q∘q)ᵀS(p∘p) of the score of every query with every item."""
        return np.asarray(_squared(items) @ (_squared(queries) @ self.S).T).T

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        return paired_products(_squared(queries) @ self.S, _squared(items))

    def evidence_since(self, start: "DiagonalState", n_updates: float) -> Evidence:
        """Return g = 1/S − 1/S₀ and g∘(W − W₀), which do not include the start."""
        # After forgetting, the precision may be below that of the start; this is not evidence.
        gained, moved = np.empty_like(self.W), np.empty_like(self.W)
        kernels.list_evidence(self.W, self.S, start.W, start.S, gained, moved)
        return gained, moved

    def with_evidence(
        self, evidence: Evidence, step: float = 1.0, share: float = 1.0
    ) -> "DiagonalState":
        """Return 1/S = 1/S₀ + share Σg and W = W₀ + step Σ g∘(W − W₀) / Σg."""
        W, S = np.empty_like(self.W), np.empty_like(self.S)
        kernels.apply_evidence(self.W, self.S, *evidence, step, share, W, S)
        return DiagonalState(W, S)


@dataclass
class FactoredState:
    """A mean W and covariances Λ between query features and Σ between item features."""

    W: np.ndarray
    Lambda: np.ndarray
    Sigma: np.ndarray

    def __post_init__(self) -> None:
        square = [(n, n) for n in np.shape(self.W)]
        if len(square) != 2:
            raise ValueError("W must be a matrix.")
        _check_arrays(
            W=(self.W, None), Lambda=(self.Lambda, square[0]), Sigma=(self.Sigma, square[1])
        )

    @classmethod
    def fresh(cls, W: np.ndarray) -> "FactoredState":
        """Return the initial state: mean W, which the state owns, and identity covariances."""
        return cls(W, *(np.eye(n, dtype=W.dtype) for n in W.shape))

    def learn(self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray) -> None:
        """W += loss/(r + ab) Λq(Σp)ᵀ, Σ⁻¹ += a/(mr) ppᵀ, Λ⁻¹ += b/(nr) qqᵀ, if there is a loss."""
        size = _LARGE_BLOCK if max(self.W.shape) > _LARGE_WIDTH else _SMALL_BLOCK
        for block in weighted_blocks(part, size):
            self._learn_block(block, batches, r, totals)

    def _learn_block(
        self, block: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> None:
        """Compute all updates from products among the block's rows, then write them once."""
        triplets, weights = block
        n, (n_query, n_item) = len(triplets), self.W.shape
        Q, P = batches.query_rows(triplets), batches.item_rows(triplets)
        by_Lambda = np.matmul(Q, self.Lambda, out=batches.scratch("QΛ", (n, n_query)))
        by_Sigma = np.matmul(P, self.Sigma, out=batches.scratch("PΣ", (n, n_item)))
        by_W = np.matmul(Q, self.W, out=batches.scratch("QW", (n, n_item)))
        queries = np.matmul(by_Lambda, Q.T, out=batches.scratch("QΛQ", (n, n)))
        items = np.matmul(by_Sigma, P.T, out=batches.scratch("PΣP", (n, n)))
        margins = np.einsum("ij,ij->i", by_W, P)
        steps, shrinks = batches.scratch("steps", (n,)), batches.scratch("shrinks", (2, n))
        kernels.factored_decisions(
            queries, items, margins, weights, r, n_query, n_item, steps, shrinks, totals
        )
        updated = np.flatnonzero(steps)
        if len(updated) == 0:
            return
        if len(updated) < n:
            steps, shrinks = steps[updated], shrinks[:, updated]
            by_Lambda, by_Sigma = by_Lambda[updated], by_Sigma[updated]
            queries, items = queries[np.ix_(updated, updated)], items[np.ix_(updated, updated)]
        V = _sequential_products(by_Lambda, queries, shrinks[0])
        U = _sequential_products(by_Sigma, items, shrinks[1])
        _add_product(self.W, V * steps[:, None], U)
        _add_product(self.Lambda, V * -shrinks[0, :, None], V)
        _add_product(self.Sigma, U * -shrinks[1, :, None], U)

    def forget(self, share: float) -> None:
        """Move the covariances towards their initial value by a share of the difference."""
        for covariance in (self.Lambda, self.Sigma):
            covariance *= 1 - share
            np.einsum("ii->i", covariance)[...] += share

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance (qᵀΛq)(pᵀΣp) of the score of every query with every item."""
        return np.outer(_quadratic(queries, self.Lambda), _quadratic(items, self.Sigma))

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        return _quadratic(queries, self.Lambda) * _quadratic(items, self.Sigma)

    def evidence_since(self, start: "FactoredState", n_updates: float) -> Evidence:
        """Return the gains of Λ⁻¹ and Σ⁻¹, and the change in W weighted by each."""
        change = self.W - start.W.astype(np.float64)
        of_queries = _above(_inverse(self.Lambda) - _inverse(start.Lambda), _rounding(start.Lambda))
        of_items = _above(_inverse(self.Sigma) - _inverse(start.Sigma), _rounding(start.Sigma))
        return of_queries, of_queries @ change, of_items, change @ of_items

    def with_evidence(
        self, evidence: Evidence, step: float = 1.0, share: float = 1.0
    ) -> "FactoredState":
        """Add the gains to Λ⁻¹ and Σ⁻¹; this is an approximation.

        The sum of precisions Λ⁻¹⊗Σ⁻¹ is not a Kronecker product. W is the mean of two estimates,
        weighted by the gains on the query side and on the item side.
        """
        of_queries, by_queries, of_items, by_items = evidence
        change = (
            _above(of_queries, _rounding(self.Lambda), invert=True) @ by_queries
            + by_items @ _above(of_items, _rounding(self.Sigma), invert=True)
        ) / 2
        W = self.W + step * change
        queries = _inverse(_inverse(self.Lambda) + share * of_queries)
        items = _inverse(_inverse(self.Sigma) + share * of_items)
        return FactoredState(*(part.astype(self.W.dtype) for part in (W, queries, items)))


def _sequential_products(rows: np.ndarray, products: np.ndarray, shrinks: np.ndarray) -> np.ndarray:
    """Return Σₜpₜ of each triplet t, with Σₜ before its update, from Σp at the block's start.

    Σₜpₜ = Σpₜ − Σ_{s<t} shrinkₛ (Σₛpₛ)ᵀpₜ Σₛpₛ, which is a triangular system.
    """
    from scipy.linalg import get_blas_funcs

    solve = get_blas_funcs("trsm", (rows,))
    # In Fortran order: rowsᵀ = Uᵀ(1 + shrink·products), whose second factor is upper triangular.
    factor = products.T * shrinks
    solution = solve(1, factor, rows.T, side=1, lower=1, trans_a=1, diag=1, overwrite_b=1)
    return np.asarray(solution.T)


def _add_product(target: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add leftᵀ right to `target`, in place and without a copy."""
    from scipy.linalg import get_blas_funcs

    multiply = get_blas_funcs("gemm", (target,))
    multiply(1, right.T, left.T, trans_b=True, beta=1, c=target.T, overwrite_c=True)


def _rounding(start: np.ndarray) -> float:
    """Return the rounding error of an inverse in the precision of the state."""
    return float(np.finfo(start.dtype).eps * len(start) * np.abs(_inverse(start)).max())


def _above(matrix: np.ndarray, minimum: float, *, invert: bool = False) -> np.ndarray:
    """Return the part of a symmetric matrix with eigenvalues above `minimum`, or its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > minimum
    values, vectors = values[kept], vectors[:, kept]
    return (vectors * (1 / values if invert else values)) @ vectors.T


def _inverse(matrix: np.ndarray) -> np.ndarray:
    inverse = np.linalg.inv(matrix.astype(np.float64))
    return (inverse + inverse.T) / 2


def _squared(rows: Any) -> Any:
    return rows.multiply(rows).tocsr() if is_sparse(rows) else rows * rows


def _quadratic(rows: Any, matrix: np.ndarray) -> np.ndarray:
    return paired_products(rows @ matrix, rows)
