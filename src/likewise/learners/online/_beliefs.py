"""What the online learners know after the triplets they have seen, and how a block changes it.

Each state is a few arrays. `learn` follows the printed updates, one triplet after the other; a
weight w makes AROMA's r into r/w and OASIS's C into wC.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners.online._triplet_batches import TripletBatches
from likewise.similarities import paired_products

AnyState = TypeVar("AnyState", bound="State")
Evidence: TypeAlias = tuple[Any, ...]  # arrays, and for OASIS a number

# Rows in an exact block: the smaller, the less is spent on products among them, the larger, the
# faster the matrix products; best by measurement at 384 and at 1,000 features.
_SMALL_BLOCK, _LARGE_BLOCK, _LARGE_WIDTH = 64, 128, 600


class State(Protocol):
    """Arrays that a learner changes in place."""

    W: np.ndarray

    @classmethod
    def fresh(cls, W: np.ndarray) -> Any:
        """Start from a form, which becomes the state's own."""

    def learn(
        self,
        triplets: np.ndarray,
        weights: np.ndarray,
        batches: TripletBatches,
        rate: float,
        totals: np.ndarray,
    ) -> None:
        """Go through the triplets; add the losses and the number of updates to `totals`."""

    def evidence_since(self, start: Any, share: float) -> Evidence:
        """Return what was learned since `start`, as arrays that add up over states.

        `share` is the number of updates that it was learned by.
        """

    def with_evidence(self, evidence: Evidence) -> Any:
        """Return this state as a start, and on top of it what others learned since."""


def sum_evidence(parts: Iterable[Evidence]) -> Evidence:
    """Return the sum of what several states, that went on from one start, have learned."""
    return tuple(sum(part) for part in zip(*parts, strict=True))


def copy_state(state: AnyState) -> AnyState:
    """Return the same knowledge in arrays of its own."""
    return type(state)(*(getattr(state, field.name).copy() for field in fields(state)))  # type: ignore[arg-type]


def make_writable(state: State) -> None:
    """Copy what others may be looking at: published, or read from a file."""
    for field in fields(state):  # type: ignore[arg-type]
        array = getattr(state, field.name)
        if not array.flags.writeable:
            setattr(state, field.name, array.copy())


def _check_arrays(**arrays: tuple[Any, tuple[int, ...] | None]) -> None:
    """Refuse arrays that the kernels would read past the end of, as a damaged file may hold."""
    kinds = {getattr(array, "dtype", None) for array, _ in arrays.values()}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise ValueError(f"{', '.join(arrays)} must be float32 or float64 arrays, all the same.")
    for name, (array, shape) in arrays.items():
        if array.ndim != 2 or (shape is not None and array.shape != shape):
            raise ValueError(f"{name} has shape {array.shape}, which does not fit.")
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
        """Start from a form, which becomes the state's own."""
        return cls(W)

    def learn(
        self,
        triplets: np.ndarray,
        weights: np.ndarray,
        batches: TripletBatches,
        C: float,
        totals: np.ndarray,
    ) -> None:
        """W += τ q pᵀ with τ = min(C, loss / (|q|²|p|²)), where there is a loss."""
        for block in slices(len(triplets), batches.block_size):
            rows = triplets[block]
            queries = batches.query_lists(rows)
            if is_sparse(batches.items):
                items = batches.item_lists(rows)
                old_w = batches.scratch_for_pairs("W", queries, items)
                kernels.oasis_lists(*queries, *items, weights[block], C, self.W, old_w, totals)
            else:
                dense = batches.item_rows(rows)
                kernels.oasis_dense(*queries, dense, weights[block], C, self.W, totals)

    def evidence_since(self, start: "OasisState", share: float) -> Evidence:
        """Return the way that W went, weighted by the updates, and their number."""
        return share * (self.W - start.W.astype(np.float64)), float(share)

    def with_evidence(self, evidence: Evidence) -> "OasisState":
        """Go the mean of the ways, each weighted by its share of the updates."""
        moved, total = evidence
        W = self.W + moved / total if total > 0 else self.W.copy()
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
        """Start from a mean, which becomes the state's own, and variances of one."""
        return cls(W, np.ones_like(W))

    def learn(
        self,
        triplets: np.ndarray,
        weights: np.ndarray,
        batches: TripletBatches,
        r: float,
        totals: np.ndarray,
    ) -> None:
        """W += loss/(v + r) S∘qpᵀ, then 1/S += (q∘q)(p∘p)ᵀ/r, where there is a loss."""
        for block in slices(len(triplets), batches.block_size):
            rows = triplets[block]
            queries = batches.query_lists(rows)
            if is_sparse(batches.items):
                items = batches.item_lists(rows)
                old = [batches.scratch_for_pairs(name, queries, items) for name in ("W", "S")]
                kernels.diagonal_lists(
                    *queries, *items, weights[block], r, self.W, self.S, *old, totals
                )
            else:
                dense = batches.item_rows(rows)
                squares = np.multiply(dense, dense, out=batches.scratch("squares", dense.shape))
                kernels.diagonal_dense(
                    *queries, dense, squares, weights[block], r, self.W, self.S, totals
                )

    def forget(self, share: float) -> None:
        """Move the variance back towards its start by that share."""
        self.S += self.S.dtype.type(share) * (1 - self.S)

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance (q∘q)ᵀS(p∘p) of the score of every query with every item."""
        return np.asarray(_squared(items) @ (_squared(queries) @ self.S).T).T

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        return paired_products(_squared(queries) @ self.S, _squared(items))

    def evidence_since(self, start: "DiagonalState", share: float) -> Evidence:
        """Return g = 1/S − 1/S₀ and g∘(W − W₀): the start is not counted."""
        # Where a state has forgotten, it may know less than at the start: that is no evidence.
        gained, moved = np.empty_like(self.W), np.empty_like(self.W)
        kernels.list_evidence(self.W, self.S, start.W, start.S, gained, moved)
        return gained, moved

    def with_evidence(self, evidence: Evidence) -> "DiagonalState":
        """Return 1/S = 1/S₀ + Σg and W = W₀ + Σ g∘(W − W₀) / Σg: the start is counted once."""
        W, S = np.empty_like(self.W), np.empty_like(self.S)
        kernels.apply_evidence(self.W, self.S, *evidence, W, S)
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
        """Start from a mean, which becomes the state's own, and covariances of one."""
        return cls(W, *(np.eye(n, dtype=W.dtype) for n in W.shape))

    def learn(
        self,
        triplets: np.ndarray,
        weights: np.ndarray,
        batches: TripletBatches,
        r: float,
        totals: np.ndarray,
    ) -> None:
        """W += loss/(r + ab) Λq(Σp)ᵀ, and Σ⁻¹ += a/(mr) ppᵀ, Λ⁻¹ += b/(nr) qqᵀ, where a loss is."""
        size = _LARGE_BLOCK if max(self.W.shape) > _LARGE_WIDTH else _SMALL_BLOCK
        for block in slices(len(triplets), size):
            self._learn_block(triplets[block], weights[block], batches, r, totals)

    def _learn_block(
        self,
        triplets: np.ndarray,
        weights: np.ndarray,
        batches: TripletBatches,
        r: float,
        totals: np.ndarray,
    ) -> None:
        """Decide on each triplet from the products among the block's rows, then write once."""
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
        acted = np.flatnonzero(steps)
        if len(acted) == 0:
            return
        if len(acted) < n:
            steps, shrinks = steps[acted], shrinks[:, acted]
            by_Lambda, by_Sigma = by_Lambda[acted], by_Sigma[acted]
            queries, items = queries[np.ix_(acted, acted)], items[np.ix_(acted, acted)]
        V = _as_they_came(by_Lambda, queries, shrinks[0])
        U = _as_they_came(by_Sigma, items, shrinks[1])
        _add_product(self.W, V * steps[:, None], U)
        _add_product(self.Lambda, V * -shrinks[0, :, None], V)
        _add_product(self.Sigma, U * -shrinks[1, :, None], U)

    def forget(self, share: float) -> None:
        """Move the covariances back towards their start by that share."""
        for covariance in (self.Lambda, self.Sigma):
            covariance *= 1 - share
            np.einsum("ii->i", covariance)[...] += share

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance (qᵀΛq)(pᵀΣp) of the score of every query with every item."""
        return np.outer(_quadratic(queries, self.Lambda), _quadratic(items, self.Sigma))

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        return _quadratic(queries, self.Lambda) * _quadratic(items, self.Sigma)

    def evidence_since(self, start: "FactoredState", share: float) -> Evidence:
        """Return what was gained on Λ⁻¹ and on Σ⁻¹, and the way of W weighted by each."""
        moved = self.W - start.W.astype(np.float64)
        of_queries = _above(_inverse(self.Lambda) - _inverse(start.Lambda), _rounding(start.Lambda))
        of_items = _above(_inverse(self.Sigma) - _inverse(start.Sigma), _rounding(start.Sigma))
        return of_queries, of_queries @ moved, of_items, moved @ of_items

    def with_evidence(self, evidence: Evidence) -> "FactoredState":
        """Add what was gained to Λ⁻¹ and Σ⁻¹: an approximation.

        The sum of the precisions Λ⁻¹⊗Σ⁻¹ is not of that form. W is the mean of two that are
        weighted by what each state gained on one side.
        """
        of_queries, by_queries, of_items, by_items = evidence
        W = (
            self.W
            + (
                _above(of_queries, _rounding(self.Lambda), invert=True) @ by_queries
                + by_items @ _above(of_items, _rounding(self.Sigma), invert=True)
            )
            / 2
        )
        queries = _inverse(_inverse(self.Lambda) + of_queries)
        items = _inverse(_inverse(self.Sigma) + of_items)
        return FactoredState(*(part.astype(self.W.dtype) for part in (W, queries, items)))


def _as_they_came(rows: np.ndarray, products: np.ndarray, shrinks: np.ndarray) -> np.ndarray:
    """Return Σₜpₜ of each triplet t, from Σp of the block's start.

    Σₜpₜ = Σpₜ − Σ_{s<t} shrinkₛ (Σₛpₛ)ᵀpₜ Σₛpₛ, which is a triangular system.
    """
    from scipy.linalg import get_blas_funcs

    solve = get_blas_funcs("trsm", (rows,))
    # In Fortran's order: rowsᵀ = Uᵀ(1 + shrink·products), whose second factor is upper triangular.
    factor = products.T * shrinks
    found = solve(1, factor, rows.T, side=1, lower=1, trans_a=1, diag=1, overwrite_b=1)
    return np.asarray(found.T)


def _add_product(target: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add leftᵀ right to `target`, in place and without a copy."""
    from scipy.linalg import get_blas_funcs

    multiply = get_blas_funcs("gemm", (target,))
    multiply(1, right.T, left.T, trans_b=True, beta=1, c=target.T, overwrite_c=True)


def _rounding(start: np.ndarray) -> float:
    """Return what inverting in the precision of the state leaves uncertain: no evidence."""
    return float(np.finfo(start.dtype).eps * len(start) * np.abs(_inverse(start)).max())


def _above(matrix: np.ndarray, least: float, *, invert: bool = False) -> np.ndarray:
    """Return the part of a symmetric matrix whose eigenvalues exceed `least`, or its inverse."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > least
    values, vectors = values[kept], vectors[:, kept]
    return (vectors * (1 / values if invert else values)) @ vectors.T


def _inverse(matrix: np.ndarray) -> np.ndarray:
    inverse = np.linalg.inv(matrix.astype(np.float64))
    return (inverse + inverse.T) / 2


def _squared(rows: Any) -> Any:
    return rows.multiply(rows).tocsr() if is_sparse(rows) else rows * rows


def _quadratic(rows: Any, matrix: np.ndarray) -> np.ndarray:
    return paired_products(rows @ matrix, rows)
