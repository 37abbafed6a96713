"""The LMNN objective and its gradient in the linear map."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from likewise import kernels
from likewise._threads import ScratchArray, for_each, slices

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


class Margins:
    """Σ_ij d(i,j) + c Σ_ijl [1 + d(i,j) − d(i,l)]₊ over anchors i, their targets j and impostors l.

    Work is done in blocks that do not depend on the number of threads, and partial sums are added
    in order, so the results do not depend on it either.

    Parameters
    ----------
    X : (n_rows, n_features) float32 or float64 array
    anchors : (n_anchors,) row numbers
    targets : (n_anchors, k) row numbers; −1 where there are fewer
    c : float
    """

    def __init__(self, X: np.ndarray, anchors: np.ndarray, targets: np.ndarray, c: float) -> None:
        self.X = X
        self.c = c
        self._anchors = anchors.astype(np.int64)
        self._present = targets >= 0
        indptr = np.zeros(len(anchors) + 1, np.int64)
        np.cumsum(self._present.sum(axis=1), out=indptr[1:])
        self._targets = Edges(self._anchors, indptr, targets[self._present].astype(np.int32))
        self.set_impostors(np.zeros(len(anchors) + 1, np.int64), np.empty(0, np.int32))

    def set_impostors(self, indptr: np.ndarray, impostors: np.ndarray) -> None:
        """Set the potential impostors of each anchor, as CSR lists."""
        self._impostors = Edges(self._anchors, indptr, impostors)

    def of_anchors(self, which: np.ndarray) -> "Margins":
        """Return the objective of a subset of the anchors, without impostors."""
        targets = np.full(self._present.shape, -1)
        targets[self._present] = self._targets.heads
        return Margins(self.X, self._anchors[which], targets[which], self.c)

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
                loss[block],
                on_targets[self._targets.span(block)],
                on_impostors[self._impostors.span(block)],
            )

        for_each(work, slices(len(loss), _ROWS_IN_BLOCK))
        return float(loss.sum()), on_targets, on_impostors

    def cost_and_gradient(self, L: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the smoothed cost and its gradient in L."""
        value, *weights = self.cost(self.mapped(L), width)
        return value, 2 * L @ self._scatter(*weights)

    def dual(self, L: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the arguments of `dual_bound`; α are the slopes of the smoothed hinge at `L`."""
        _, on_targets, on_impostors = self.cost(self.mapped(L), width)
        return (
            self._scatter(np.ones_like(on_targets), np.zeros_like(on_impostors)),
            self._scatter(on_targets - 1, on_impostors),
            -float(on_impostors.sum()),
        )

    def cost_by_scale(self, Z: np.ndarray) -> Callable[[float], float]:
        """Return the unsmoothed cost as a function of a factor on all squared distances."""
        targets, impostors = self._targets, self._impostors
        near, far = _distances(Z, targets), _distances(Z, impostors)
        loss = np.empty(len(self._anchors))
        unused = np.empty_like(near), np.empty_like(far)

        def cost(factor: float) -> float:
            kernels.margin_costs(
                factor * near, targets.indptr, factor * far, impostors.indptr, self.c, 0.0, loss,
                *unused,
            )  # fmt: skip
            return float(loss.sum())

        return cost

    def _scatter(self, on_targets: np.ndarray, on_impostors: np.ndarray) -> np.ndarray:
        """Return Σ_e w_e (x_i − x_l)(x_i − x_l)ᵀ over all edges, in double precision.

        With W the weights as a matrix of anchors by rows, and D the sums of its rows and columns,
        this is Xᵀ D X − S − Sᵀ for S = Xᵀ W X: one sum of rows for each anchor.
        """
        weighted = ((self._targets, on_targets), (self._impostors, on_impostors))
        n_features = self.X.shape[1]
        parts = list(slices(len(self._anchors), self._part_size(len(self._anchors))))
        sums = np.zeros((len(parts), n_features, n_features))
        degrees = np.zeros((len(parts), self.n_rows))
        scratch = ScratchArray()

        def add_edges(number: int) -> None:
            part = parts[number]
            for block in slices(part.stop, _ROWS_IN_BLOCK, start=part.start):
                neighbors = scratch.get((block.stop - block.start, n_features), self.dtype)
                neighbors[:] = 0
                for edges, weights in weighted:
                    own, span = edges.part(block), edges.span(block)
                    listed = np.empty(span.stop - span.start + 1, np.int32)
                    kernels.add_neighbors(
                        self.X, *own, weights[span], listed, neighbors, degrees[number]
                    )
                sums[number] += self.X[self._anchors[block]].T @ neighbors

        for_each(add_edges, range(len(parts)))
        result = -sums.sum(axis=0)
        result += result.T.copy()
        degree = degrees.sum(axis=0).astype(self.dtype)
        parts = list(slices(self.n_rows, self._part_size(self.n_rows)))
        sums = np.zeros((len(parts), n_features, n_features))

        def add_rows(number: int) -> None:
            part = parts[number]
            for block in slices(part.stop, _ROWS_IN_BLOCK, start=part.start):
                rows = self.X[block]
                sums[number] += (rows * degree[block, None]).T @ rows

        for_each(add_rows, range(len(parts)))
        return result + sums.sum(axis=0)

    @staticmethod
    def _part_size(length: int) -> int:
        return max(_ROWS_IN_BLOCK, -(-length // _PARTIAL_SUMS))


def _distances(Z: np.ndarray, edges: Edges) -> np.ndarray:
    out = np.empty(len(edges.heads))
    kernels.edge_distances(Z, *edges, out)
    return out
