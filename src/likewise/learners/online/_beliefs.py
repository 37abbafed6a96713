"""States of the online learners, and their updates.

`learn` follows the published updates, one triplet at a time; a weight w replaces AROMA's r by r/w
and OASIS's C by wC. `learn_mistakes` follows the mistake-driven variant of AROMA, in which W is
the product of the covariance and a sum Θ of w qpᵀ over the triplets in the wrong order.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from likewise import kernels
from likewise._threads import slices
from likewise._validation import is_sparse
from likewise.learners.online._triplet_batches import TripletBatches, aligned_empty, is_aligned
from likewise.similarities import paired_products

AnyState = TypeVar("AnyState", bound="State")
Evidence: TypeAlias = tuple[Any, ...]  # arrays, and for OASIS a number
Weighted: TypeAlias = tuple[np.ndarray, np.ndarray]  # triplets and their weights


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


class Belief(State, Protocol):
    """A state of AROMA: a mean W and its uncertainty."""

    def learn_mistakes(
        self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> None:
        """Learn as `learn` does, from mistakes alone, in dual form."""

    def forget(self, share: float) -> None:
        """Move the variance towards its initial value by a share of the difference."""

    def variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of every query with every item."""

    def paired_variances(self, queries: Any, items: Any) -> np.ndarray:
        """Return the variance of the score of query i with item i."""


def weighted_blocks(part: Weighted, size: int) -> Iterator[Weighted]:
    """Yield triplets and their weights in blocks of at most `size`."""
    for block in slices(len(part[0]), size):
        yield part[0][block], part[1][block]


def sum_evidence(parts: Iterable[Evidence]) -> Evidence:
    """Return the summed evidence of several states that continued from one start."""
    return tuple(sum(part) for part in zip(*parts, strict=True))


def copy_state(state: AnyState) -> AnyState:
    """Return a deep copy of a state, with aligned arrays."""
    arrays = [getattr(state, field.name) for field in fields(state)]  # type: ignore[arg-type]
    return copy.deepcopy(state, {id(array): _aligned_copy(array) for array in arrays})


def prepare_arrays(state: State) -> None:
    """Copy arrays that are read-only (published, or read from a file) or not aligned."""
    for field in fields(state):  # type: ignore[arg-type]
        array = getattr(state, field.name)
        if not array.flags.writeable or not is_aligned(array):
            setattr(state, field.name, _aligned_copy(array))


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    copied = aligned_empty(array.shape, array.dtype)
    copied[...] = array
    return copied


def check_arrays(**arrays: tuple[Any, tuple[int, ...] | None]) -> None:
    """Refuse arrays that kernels would read out of bounds, as from a damaged file."""
    kinds = {getattr(array, "dtype", None) for array, _ in arrays.values()}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float32), np.dtype(np.float64)}:
        given = ", ".join(sorted(map(str, kinds)))
        raise ValueError(
            f"{', '.join(arrays)} must be arrays of one type, float32 or float64, but {given} was "
            "given."
        )
    for name, (array, shape) in arrays.items():
        if array.ndim != 2 or (shape is not None and array.shape != shape):
            needed = "two dimensions" if shape is None else f"the shape {shape}"
            raise ValueError(f"{name} must have {needed}, but has shape {array.shape}.")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds NaN or infinity; it must be finite.")


@dataclass
class OasisState:
    """The form alone."""

    W: np.ndarray

    def __post_init__(self) -> None:
        check_arrays(W=(self.W, None))

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
        check_arrays(W=(self.W, None), S=(self.S, np.shape(self.W)))

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
                sums = batches.scratch("sums", (2, self.W.shape[1]))
                state = self.W, self.S, sums
                kernels.diagonal_dense(*queries, dense, weights, r, *state, totals)

    def learn_mistakes(
        self, part: Weighted, batches: TripletBatches, r: float, totals: np.ndarray
    ) -> None:
        """Θ += qpᵀ at mistakes, with W = S∘Θ and 1/S += (q∘q)(p∘p)ᵀ/r.

        A mistake is Σ (S'∘Θ∘qpᵀ) ≤ 0, where S' includes the triplet, as in the proof of the bound:
        it can differ from qᵀWp ≤ 0, because S' changes the entries by different factors.
        """
        for rows, weights in weighted_blocks(part, batches.block_size):
            queries, items = batches.query_lists(rows), batches.item_lists(rows)
            kernels.diagonal_mistakes(*queries, *items, weights, r, self.W, self.S, totals)

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


def _squared(rows: Any) -> Any:
    return rows.multiply(rows).tocsr() if is_sparse(rows) else rows * rows
