"""The LMNN objective and its gradient in the linear map."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from likewise import kernels
from likewise._threads import for_each, slices

_ROWS_IN_BLOCK = 1024
_PARTIAL_SUMS = 16


class Edges(NamedTuple):
    """Edges from anchors to other rows, as CSR lists."""

    anchors: np.ndarray
    indptr: np.ndarray
    heads: np.ndarray

    def span(self, anchors: slice) -> slice:
        """Return the positions of the edges of a range of anchors."""
        first = self.indptr[0]
        return slice(self.indptr[anchors.start] - first, self.indptr[anchors.stop] - first)

    def part(self, anchors: slice) -> "Edges":
        """Return the edges of a range of anchors."""
        indptr = self.indptr[anchors.start : anchors.stop + 1]
        return Edges(self.anchors[anchors], indptr, self.heads[self.span(anchors)])

    def reversed(self, n_rows: int) -> tuple["Edges", np.ndarray]:
        """Return the edges in the other direction, and the number of each one here."""
        indptr = np.zeros(n_rows + 1, np.int64)
        np.cumsum(np.bincount(self.heads, minlength=n_rows), out=indptr[1:])
        numbers = np.arange(len(self.heads), dtype=np.int32)
        order = np.empty_like(numbers)
        kernels.group_edges(self.heads, numbers, indptr[:-1].copy(), order)
        tails = np.repeat(self.anchors, np.diff(self.indptr)).astype(np.int32)
        return Edges(np.arange(n_rows), indptr, tails[order]), order


class Margins:
    """Σ_ij d(i,j) + c Σ_ijl [1 + d(i,j) − d(i,l)]₊ over anchors i, their targets j and impostors l.

    With weights w of the rows, pairs are multiplied by w_i and triplets by w_i w_l.

    Work is done in blocks that do not depend on the number of threads, and partial sums are added
    in order, so the results do not depend on it either.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64 array
    anchors : (n_anchors,) row numbers, ascending
    targets : (n_anchors, k) row numbers; −1 where there are fewer
    c : float
    weights : (n_rows,) float64 array, optional
    """

    def __init__(
        self,
        X: np.ndarray,
        anchors: np.ndarray,
        targets: np.ndarray,
        c: float,
        weights: np.ndarray | None = None,
    ) -> None:
        self.X = X
        self.c = c
        self._weights = weights
        self._anchors = anchors.astype(np.int64)
        self._present = targets >= 0
        indptr = np.zeros(len(anchors) + 1, np.int64)
        np.cumsum(self._present.sum(axis=1), out=indptr[1:])
        self._targets = Edges(self._anchors, indptr, targets[self._present].astype(np.int32))
        self.set_impostors(np.zeros(len(anchors) + 1, np.int64), np.empty(0, np.int32))

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays: a scheduler moves what it takes for small."""
        arrays = self.X, *self._targets, *self._impostors
        return sum(array.nbytes for array in arrays)

    def set_impostors(self, indptr: np.ndarray, impostors: np.ndarray) -> None:
        """Set the potential impostors of each anchor, as CSR lists."""
        self._impostors = Edges(self._anchors, indptr, impostors)
        self._pull, self._push = None, None
        if self._weights is not None:
            self._pull = self._weights[self._anchors]
            self._push = np.repeat(self._pull, np.diff(indptr)) * self._weights[impostors]
        self._reversed: list[tuple[Edges, np.ndarray]] | None = None

    def of_anchors(self, which: slice | np.ndarray) -> "Margins":
        """Return the objective of a subset of the anchors, without impostors."""
        targets = np.full(self._present.shape, -1)
        targets[self._present] = self._targets.heads
        return Margins(self.X, self._anchors[which], targets[which], self.c, self._weights)

    @property
    def n_impostors(self) -> int:
        """Number of pairs of an anchor and a potential impostor."""
        return len(self._impostors.heads)

    @property
    def n_rows(self) -> int:
        """Number of rows, including rows that are not anchors."""
        return len(self.X)

    @property
    def dtype(self) -> np.dtype:
        """Data type of the rows."""
        return self.X.dtype

    def mapped(self, L: np.ndarray) -> np.ndarray:
        """Return the mapped rows."""
        linear = L.T.astype(self.X.dtype)
        Z = np.empty((len(self.X), linear.shape[1]), self.X.dtype)

        def work(block: slice) -> None:
            np.matmul(self.X[block], linear, out=Z[block])

        for_each(work, slices(len(Z), _ROWS_IN_BLOCK))
        return Z

    def target_distances(self, Z: np.ndarray) -> np.ndarray:
        """Return d(i, j) of every anchor and target; NaN for a missing target."""
        by_anchor = np.full(self._present.shape, np.nan)
        by_anchor[self._present] = _distances(Z, self._targets)
        return by_anchor

    def cost(self, Z: np.ndarray, width: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the cost, and its derivatives in the squared lengths of targets and impostors.

        The hinge is smoothed over `width`; 0 means no smoothing.
        """
        loss = np.empty(len(self._anchors))
        on_targets = np.empty(len(self._targets.heads))
        on_impostors = np.empty(self.n_impostors)

        def work(block: slice) -> None:
            targets, impostors = self._targets.part(block), self._impostors.part(block)
            kernels.margin_costs(
                _distances(Z, targets),
                targets.indptr,
                _distances(Z, impostors),
                impostors.indptr,
                self.c,
                width,
                None if self._pull is None else self._pull[block],
                None if self._push is None else self._push[self._impostors.span(block)],
                loss[block],
                on_targets[self._targets.span(block)],
                on_impostors[self._impostors.span(block)],
            )

        for_each(work, _blocks_of(self._anchors))
        return float(loss.sum()), on_targets, on_impostors

    def cost_and_gradient(self, L: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the smoothed cost and its gradient in L."""
        Z = self.mapped(L)
        value, *weights = self.cost(Z, width)
        if 2 * len(L) >= self.X.shape[1]:
            return value, 2 * L @ self._scatter(*weights)
        # With few components, mapped rows in both directions are less to read than rows in one.
        there = list(zip((self._targets, self._impostors), weights, strict=True))
        back = [
            (edges, on_edges[order])
            for (edges, order), on_edges in zip(self._reversed_edges(), weights, strict=True)
        ]
        return value, 2 * self._half_product(Z, [there, back])

    def pull(self) -> np.ndarray:
        """Return Σ (x_i − x_j)(x_i − x_j)ᵀ over anchors and targets: the pull is tr(L · Lᵀ)."""
        return self._scatter(self._pulls(), np.zeros(self.n_impostors))

    def dual(self, L: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the arguments of `dual_bound`; α are the slopes of the smoothed hinge at `L`."""
        _, on_targets, on_impostors = self.cost(self.mapped(L), width)
        push = self._scatter(on_targets - self._pulls(), on_impostors)
        return self.pull(), push, -float(on_impostors.sum())

    def _pulls(self) -> np.ndarray:
        """Return the weight of each target in the pull."""
        if self._pull is None:
            return np.ones(len(self._targets.heads))
        return np.repeat(self._pull, np.diff(self._targets.indptr))

    def cost_by_scale(self, Z: np.ndarray) -> Callable[[float], float]:
        """Return the unsmoothed cost as a function of a factor on all squared distances."""
        targets, impostors = self._targets, self._impostors
        near, far = _distances(Z, targets), _distances(Z, impostors)
        loss = np.empty(len(self._anchors))
        unused = np.empty_like(near), np.empty_like(far)

        def cost(factor: float) -> float:
            kernels.margin_costs(
                factor * near, targets.indptr, factor * far, impostors.indptr, self.c, 0.0,
                self._pull, self._push, loss, *unused,
            )  # fmt: skip
            return float(loss.sum())

        return cost

    def _reversed_edges(self) -> list[tuple[Edges, np.ndarray]]:
        if self._reversed is None:
            both = self._targets, self._impostors
            self._reversed = [edges.reversed(self.n_rows) for edges in both]
        return self._reversed

    def _scatter(self, on_targets: np.ndarray, on_impostors: np.ndarray) -> np.ndarray:
        """Return Σ_e w_e (x_i − x_l)(x_i − x_l)ᵀ over all edges, in double precision."""
        weighted = [(self._targets, on_targets), (self._impostors, on_impostors)]
        half = self._half_product(self.X, [weighted])
        return half + half.T

    def _half_product(
        self, Z: np.ndarray, groups: list[list[tuple[Edges, np.ndarray]]]
    ) -> np.ndarray:
        """Return (D Z / 2 − W Z)ᵀ X in double precision.

        W holds the weights of edges as a matrix of rows by rows, and D the sums of its rows and
        columns on the diagonal. The edges of a group have the same anchors.
        """
        neighbors = np.zeros_like(Z)
        degrees = np.zeros((_PARTIAL_SUMS, self.n_rows))

        for group in groups:
            blocks = _blocks_of(group[0][0].anchors)

            def add_edges(number: int, group: Any = group, blocks: Any = blocks) -> None:
                for block in blocks[number::_PARTIAL_SUMS]:
                    for edges, weights in group:
                        span = edges.span(block)
                        scratch = np.empty(span.stop - span.start + 3, np.int32)
                        kernels.add_neighbors(
                            Z, *edges.part(block), weights[span], scratch, neighbors,
                            degrees[number],
                        )  # fmt: skip

            for_each(add_edges, range(min(_PARTIAL_SUMS, len(blocks))))
        half_degrees = (degrees.sum(axis=0) / 2).astype(Z.dtype)
        parts = list(slices(len(Z), max(_ROWS_IN_BLOCK, -(-len(Z) // _PARTIAL_SUMS))))
        sums = np.zeros((len(parts), Z.shape[1], self.X.shape[1]))

        def add_products(number: int) -> None:
            part = parts[number]
            for block in slices(part.stop, _ROWS_IN_BLOCK, start=part.start):
                forces = half_degrees[block, None] * Z[block] - neighbors[block]
                sums[number] += forces.T @ self.X[block]

        for_each(add_products, range(len(parts)))
        return sums.sum(axis=0)


def _blocks_of(anchors: np.ndarray) -> list[slice]:
    """Return ranges of ascending anchors that share no row."""
    starts = np.searchsorted(anchors, anchors[::_ROWS_IN_BLOCK])
    bounds = np.unique(np.append(starts, len(anchors))).tolist()
    return [slice(*pair) for pair in pairwise(bounds)]


def _distances(Z: np.ndarray, edges: Edges) -> np.ndarray:
    out = np.empty(len(edges.heads))
    kernels.edge_distances(Z, *edges, out)
    return out
