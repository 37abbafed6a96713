"""States of AROMA with covariances between features: factored, and full."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels
from likewise._threads import single_threaded_blas, slices
from likewise._validation import is_sparse
from likewise.learners.online._beliefs import Evidence, Weighted, check_arrays, weighted_blocks
from likewise.learners.online._precision import PrecisionBound, fits_single
from likewise.learners.online._triplet_batches import TripletBatches
from likewise.similarities import paired_products

# Triplets per block of the updates: smaller blocks need fewer products among their rows, larger
# blocks have faster matrix products. Best measured at 384 and at 1,000 features.
_SMALL_BLOCK, _LARGE_BLOCK, _LARGE_WIDTH = 64, 128, 600
MAX_ENTRIES = 4096  # of W with a full covariance, which then has 134 MB
_NUMBERS_PER_BLOCK = 4_000_000


@dataclass
class FactoredState:
    """A mean W and covariances Λ between query features and Σ between item features.

    All are in double precision once single precision does not suffice for the covariances.
    """

    W: np.ndarray
    Lambda: np.ndarray
    Sigma: np.ndarray

    def __post_init__(self) -> None:
        square = [(n, n) for n in np.shape(self.W)]
        if len(square) != 2:
            raise ValueError(f"W must be a matrix, but has shape {np.shape(self.W)}.")
        check_arrays(
            W=(self.W, None), Lambda=(self.Lambda, square[0]), Sigma=(self.Sigma, square[1])
        )
        self._bounds = PrecisionBound(), PrecisionBound()

    @classmethod
    def fresh(cls, W: np.ndarray) -> "FactoredState":
        """Return the initial state: mean W, which the state owns, and identity covariances."""
        state = cls(W, *(np.eye(n, dtype=W.dtype) for n in W.shape))
        state._bounds = PrecisionBound(1.0), PrecisionBound(1.0)
        return state

    def _parts_for_file(self) -> dict[str, Any]:
        queries, items = self._bounds
        bounds = {"query_bound": queries.for_file(), "item_bound": items.for_file()}
        return {"W": self.W, "Lambda": self.Lambda, "Sigma": self.Sigma, **bounds}

    @classmethod
    def _from_file(
        cls, query_bound: Any = None, item_bound: Any = None, **arrays: Any
    ) -> "FactoredState":
        state = cls(**arrays)
        bounds = PrecisionBound.from_file(query_bound), PrecisionBound.from_file(item_bound)
        state._bounds = bounds
        return state

    def learn(self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray) -> None:
        """W += loss/(r + ab) Λq(Σp)ᵀ, Σ⁻¹ += a/(mr) ppᵀ, Λ⁻¹ += b/(nr) qqᵀ, if there is a loss."""
        size = _LARGE_BLOCK if max(self.W.shape) > _LARGE_WIDTH else _SMALL_BLOCK
        for block in weighted_blocks(part, size):
            while not self._learn_block(block, batches.in_precision(self.W.dtype), r, totals):
                self._to_double(r)

    def _learn_block(
        self, block: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> bool:
        """Compute all updates from products among the block's rows, then write them once.

        Returns
        -------
        bool : False if the covariances would need more precision; nothing is changed then
        """
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
        found = np.zeros(2)
        kernels.factored_decisions(
            queries, items, margins, weights, r, n_query, n_item, steps, shrinks, found
        )
        updated = np.flatnonzero(steps)
        if len(updated) == 0:
            totals += found
            return True
        gains = weights[updated] / r
        query_growth = gains * items[updated, updated] / n_item
        item_growth = gains * queries[updated, updated] / n_query
        if not self._allows(
            query_growth @ _squared_lengths(Q[updated]), item_growth @ _squared_lengths(P[updated])
        ):
            return False
        totals += found
        if len(updated) < n:
            steps, shrinks = steps[updated], shrinks[:, updated]
            by_Lambda, by_Sigma = by_Lambda[updated], by_Sigma[updated]
            queries, items = queries[np.ix_(updated, updated)], items[np.ix_(updated, updated)]
        V = _sequential_products(by_Lambda, queries, shrinks[0])
        U = _sequential_products(by_Sigma, items, shrinks[1])
        _add_product(self.W, V * steps[:, None], U)
        _add_product(self.Lambda, V * -shrinks[0, :, None], V)
        _add_product(self.Sigma, U * -shrinks[1, :, None], U)
        return True

    def learn_mistakes(
        self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> None:
        """Θ += qpᵀ at mistakes, with W = ΛΘΣ, Σ⁻¹ += a/(mr) ppᵀ and Λ⁻¹ += b/(nr) qqᵀ.

        A mistake is qᵀWp ≤ 0. The test has the same result with Λ and Σ that include the triplet,
        because these change Λq and Σp in length only.
        """
        for triplets, weights in weighted_blocks(part, _SMALL_BLOCK):
            n_learned = 0
            while n_learned < len(triplets):
                rest, rows = triplets[n_learned:], batches.in_precision(self.W.dtype)
                Q, P = rows.query_rows(rest), rows.item_rows(rest)
                for q, p, weight in zip(Q, P, weights[n_learned:], strict=True):
                    if not self._learn_mistake(q, p, weight, r, totals):
                        self._to_double(r)
                        break
                    n_learned += 1

    def _learn_mistake(
        self, q: np.ndarray, p: np.ndarray, weight: float, r: float, totals: np.ndarray
    ) -> bool:
        """Learn from one triplet; return False as `_learn_block` does."""
        m, n = self.W.shape
        q_W = q @ self.W
        margin = q_W @ p
        by_q, by_p = self.Lambda @ q, self.Sigma @ p
        a, b = q @ by_q, p @ by_p
        if margin <= 0 and a > 0 and b > 0 and weight > 0:
            noise = r / weight
            if not self._allows(b / (n * noise) * (q @ q), a / (m * noise) * (p @ p)):
                return False
            totals[1] += 1
            # Λ' = Λ − c Λq(Λq)ᵀ, so that Λ'Λ⁻¹W = W − c Λq qᵀW and Λ'q = (1 − ca)Λq; likewise Σ.
            shrink_q, shrink_p = 1 / (a + n * noise / b), 1 / (b + m * noise / a)
            lengths = (shrink_q * n * noise / b) * (shrink_p * m * noise / a)
            step = shrink_q * shrink_p * margin + weight * lengths
            W_p = self.W @ p
            self.W += np.outer(by_q, step * by_p - shrink_q * q_W)
            self.W -= np.outer(shrink_p * W_p, by_p)
            self.Lambda -= np.outer(shrink_q * by_q, by_q)
            self.Sigma -= np.outer(shrink_p * by_p, by_p)
        totals[0] += max(0.0, 1 - margin)
        return True

    def _allows(self, query_growth: float, item_growth: float) -> bool:
        """Return whether both precisions may grow; the covariances then stay positive definite."""
        queries, items = self._bounds
        return queries.allows(query_growth, self.Lambda) and items.allows(item_growth, self.Sigma)

    def _to_double(self, r: float) -> None:
        """Continue in double precision."""
        if self.W.dtype == np.float64:
            raise _too_small(r)
        for name in ("W", "Lambda", "Sigma"):
            setattr(self, name, getattr(self, name).astype(np.float64))

    def forget(self, share: float) -> None:
        """Move the covariances towards their initial value by a share of the difference."""
        for covariance in (self.Lambda, self.Sigma):
            _forget(covariance, share)

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance (qᵀΛq)(pᵀΣp) of the score of every query with every item."""
        return np.outer(_quadratic(queries, self.Lambda), _quadratic(items, self.Sigma))

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        return _quadratic(queries, self.Lambda) * _quadratic(items, self.Sigma)

    def evidence_since(self, start: "FactoredState", n_updates: float) -> Evidence:
        """Return the gains of Λ⁻¹ and Σ⁻¹, and the change in W weighted by each."""
        change = self.W - start.W.astype(np.float64)
        of_queries, of_items = _gain(start.Lambda, self.Lambda), _gain(start.Sigma, self.Sigma)
        return of_queries, of_queries @ change, of_items, change @ of_items

    def with_evidence(
        self, evidence: Evidence, step: float = 1.0, share: float = 1.0
    ) -> "FactoredState":
        """Add the gains to Λ⁻¹ and Σ⁻¹; this is an approximation.

        The sum of precisions Λ⁻¹⊗Σ⁻¹ is not a Kronecker product. W is the mean of two estimates,
        weighted by the gains on the query side and on the item side.
        """
        of_queries, by_queries, of_items, by_items = evidence
        with single_threaded_blas():  # the same bits wherever states are merged
            change = (
                _above(of_queries, _rounding(self.Lambda), invert=True) @ by_queries
                + by_items @ _above(of_items, _rounding(self.Sigma), invert=True)
            ) / 2
            queries = _inverse(_inverse(self.Lambda) + share * of_queries)
            items = _inverse(_inverse(self.Sigma) + share * of_items)
        W = self.W + step * change
        single = self.W.dtype == np.float32 and fits_single(queries) and fits_single(items)
        dtype = np.float32 if single else np.float64
        return FactoredState(*(part.astype(dtype) for part in (W, queries, items)))


@dataclass
class FullState:
    """A mean W and a covariance Σ of all its entries, in the order of ``W.ravel()``.

    Both are in double precision.
    """

    W: np.ndarray
    Sigma: np.ndarray

    def __post_init__(self) -> None:
        check_arrays(W=(self.W, None), Sigma=(self.Sigma, (np.size(self.W), np.size(self.W))))
        if self.W.dtype != np.float64:
            raise ValueError(f"W and Sigma must be float64, but {self.W.dtype} was given.")
        self._bound = PrecisionBound()

    @classmethod
    def fresh(cls, W: np.ndarray) -> "FullState":
        """Return the initial state: mean W and the identity as covariance."""
        state = cls(W.astype(np.float64), np.eye(W.size))
        state._bound = PrecisionBound(1.0)
        return state

    def _parts_for_file(self) -> dict[str, Any]:
        return {"W": self.W, "Sigma": self.Sigma, "bound": self._bound.for_file()}

    @classmethod
    def _from_file(cls, bound: Any = None, **arrays: Any) -> "FullState":
        state = cls(**arrays)
        state._bound = PrecisionBound.from_file(bound)
        return state

    def learn(self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray) -> None:
        """W += loss/(v + r) Σx, Σ −= Σx xᵀΣ/(v + r) with x = vec(qpᵀ), if there is a loss."""
        self._learn(part, batches, r, totals, mistakes=False)

    def learn_mistakes(
        self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> None:
        """Θ += x at mistakes, with W = ΣΘ and Σ⁻¹ += xxᵀ/r: a second-order perceptron.

        That is W += (r − xᵀW)/(v + r) Σx. A mistake is xᵀW ≤ 0, with either Σ.
        """
        self._learn(part, batches, r, totals, mistakes=True)

    def _learn(
        self,
        part: Weighted,
        batches: TripletBatches,
        r: float,
        totals: np.ndarray,
        *,
        mistakes: bool,
    ) -> None:
        """Compute the updates of each block from products of its rows, then write them once."""
        batches = batches.in_precision(np.float64)
        for triplets, weights in weighted_blocks(part, _SMALL_BLOCK):
            X = _outer_products(batches.query_rows(triplets), batches.item_rows(triplets))
            by_Sigma = X @ self.Sigma
            products, margins = by_Sigma @ X.T, X @ self.W.reshape(-1)
            steps, shrinks, found = np.zeros(len(X)), np.zeros(len(X)), np.zeros(2)
            for t, weight in enumerate(weights):
                margin, variance = margins[t], products[t, t]
                found[0] += max(0.0, 1 - margin)
                is_update = margin <= 0 if mistakes else margin < 1
                if not (is_update and variance > 0 and weight > 0):
                    continue
                found[1] += 1
                shrinks[t] = 1 / (variance + r / weight)
                steps[t] = shrinks[t] * ((r if mistakes else 1) - margin)
                later = products[t, t + 1 :]
                margins[t + 1 :] += steps[t] * later
                products[t + 1 :, t + 1 :] -= shrinks[t] * np.outer(later, later)
            updated = np.flatnonzero(shrinks)
            growth = weights[updated] / r @ _squared_lengths(X[updated])
            if len(updated) > 0 and not self._bound.allows(growth, self.Sigma):
                raise _too_small(r)
            totals += found
            if len(updated) == 0:
                continue
            steps, shrinks = steps[updated], shrinks[updated]
            U = _sequential_products(by_Sigma[updated], products[np.ix_(updated, updated)], shrinks)
            self.W += (steps @ U).reshape(self.W.shape)
            _add_product(self.Sigma, U * -shrinks[:, None], U)

    def forget(self, share: float) -> None:
        """Move the covariance towards its initial value by a share of the difference."""
        _forget(self.Sigma, share)

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance xᵀΣx, with x = vec(qpᵀ), of every query with every item."""
        Q, P = _dense(queries), _dense(items)
        m, n = self.W.shape
        found = np.empty((len(Q), len(P)))
        for row, q in zip(found, Q, strict=True):
            of_items = q @ (q @ self.Sigma.reshape(m, -1)).reshape(n, m, n)
            row[:] = _quadratic(P, of_items)
        return found

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""
        Q, P = _dense(queries), _dense(items)
        found = np.empty(len(Q))
        for block in slices(len(Q), max(1, _NUMBERS_PER_BLOCK // self.W.size)):
            found[block] = _quadratic(_outer_products(Q[block], P[block]), self.Sigma)
        return found

    def evidence_since(self, start: "FullState", n_updates: float) -> Evidence:
        """Return the gain of Σ⁻¹, and the change in W weighted by it."""
        gain = _gain(start.Sigma, self.Sigma)
        return gain, gain @ (self.W - start.W).ravel()

    def with_evidence(
        self, evidence: Evidence, step: float = 1.0, share: float = 1.0
    ) -> "FullState":
        """Return Σ⁻¹ = Σ₀⁻¹ + share Σg and W = W₀ + step (Σg)⁻¹ Σ g(W − W₀)."""
        gain, moved = evidence
        with single_threaded_blas():  # the same bits wherever states are merged
            change = _above(gain, _rounding(self.Sigma), invert=True) @ moved
            Sigma = _inverse(_inverse(self.Sigma) + share * gain)
        return FullState(self.W + step * change.reshape(self.W.shape), Sigma)


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


def _too_small(r: float) -> ValueError:
    return ValueError(
        f"r must be larger for rows of this length, but {r:g} was given: the covariance cannot be "
        "kept positive definite, even in double precision. With normalize=True rows have length 1."
    )


def _forget(covariance: np.ndarray, share: float) -> None:
    covariance *= 1 - share
    np.einsum("ii->i", covariance)[...] += share


def _gain(start: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the gain in precision since the start, without rounding errors.

    After forgetting, the precision may be below that of the start; this is not evidence.
    """
    return _above(_inverse(covariance) - _inverse(start), _rounding(start))


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


def _quadratic(rows: Any, matrix: np.ndarray) -> np.ndarray:
    return paired_products(rows @ matrix, rows)


def _squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


def _outer_products(queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return vec(qpᵀ) of each pair of rows, in the order of ``W.ravel()``."""
    return np.einsum("ti,tj->tij", queries, items).reshape(len(queries), -1)


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows)
