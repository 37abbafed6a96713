"""The LMNN objective and its gradient in the linear map."""

from collections.abc import Callable

import numpy as np

from likewise import kernels
from likewise._threads import ScratchArray, for_each, slices

_ROWS_IN_BLOCK = 1024
_EDGES_IN_BLOCK = 65_536
_PARTIAL_SUMS = 16


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
        self._present = targets >= 0
        self._n_targets = int(self._present.sum())
        self._anchors = anchors
        self._tails = np.repeat(anchors, self._present.sum(axis=1)).astype(np.int32)
        self._heads = targets[self._present].astype(np.int32)
        self.set_impostors(np.zeros(len(anchors) + 1, np.int64), np.empty(0, np.int32))

    def set_impostors(self, indptr: np.ndarray, impostors: np.ndarray) -> None:
        """Set the potential impostors of each anchor, as CSR lists."""
        self._indptr = indptr
        own = self._n_targets
        tails = np.repeat(self._anchors, np.diff(indptr)).astype(np.int32)
        self._tails = np.concatenate([self._tails[:own], tails])
        self._heads = np.concatenate([self._heads[:own], impostors])
        n_rows, n_edges = len(self.X), len(self._tails)
        offsets = np.zeros(n_rows + 2, np.int64)
        offsets[2:] = np.bincount(self._tails, minlength=n_rows)
        offsets[2:] += np.bincount(self._heads, minlength=n_rows)
        edges, others = np.empty(2 * n_edges, np.int32), np.empty(2 * n_edges, np.int32)
        kernels.incidence(self._tails, self._heads, offsets, edges, others)
        self._incidence = offsets, edges, others

    def of_anchors(self, which: np.ndarray) -> "Margins":
        """Return the objective of a subset of the anchors, without impostors."""
        targets = np.full(self._present.shape, -1)
        targets[self._present] = self._heads[: self._n_targets]
        return Margins(self.X, self._anchors[which], targets[which], self.c)

    @property
    def n_impostors(self) -> int:
        """Number of pairs of an anchor and a potential impostor."""
        return len(self._tails) - self._n_targets

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
        return self._by_anchor(self._distances(Z, self._n_targets))

    def cost(self, Z: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the cost, and its derivative with respect to each edge's squared length.

        The hinge is smoothed over `width`; 0 means no smoothing.
        """
        own = self._n_targets
        distances = self._distances(Z, len(self._tails))
        loss = np.empty(len(self._anchors))
        on_targets = np.empty(self._present.shape, Z.dtype)
        on_impostors = np.empty(self.n_impostors, Z.dtype)
        kernels.margin_costs(
            self._by_anchor(distances[:own]),
            distances[own:],
            self._indptr,
            self.c,
            width,
            loss,
            on_targets,
            on_impostors,
        )
        return float(loss.sum()), np.concatenate([on_targets[self._present], on_impostors])

    def cost_and_gradient(self, L: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the smoothed cost and its gradient in L."""
        Z = self.mapped(L)
        value, weights = self.cost(Z, width)
        return value, 2 * self._laplacian_product(Z, weights)

    def dual(self, L: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the arguments of `dual_bound`; α are the slopes of the smoothed hinge at `L`."""
        weights = self.cost(self.mapped(L), width)[1]
        pull = np.zeros_like(weights)
        pull[: self._n_targets] = 1
        total = -float(weights[self._n_targets :].sum(dtype=np.float64))
        return (
            self._laplacian_product(self.X, pull),
            self._laplacian_product(self.X, weights - pull),
            total,
        )

    def cost_by_scale(self, Z: np.ndarray) -> Callable[[float], float]:
        """Return the unsmoothed cost as a function of a factor on all squared distances."""
        distances = self._distances(Z, len(self._tails))
        loss = np.empty(len(self._anchors))
        unused = np.empty(self._present.shape, Z.dtype), np.empty(self.n_impostors, Z.dtype)

        def cost(factor: float) -> float:
            scaled = distances * Z.dtype.type(factor)
            near, far = self._by_anchor(scaled[: self._n_targets]), scaled[self._n_targets :]
            kernels.margin_costs(near, far, self._indptr, self.c, 0.0, loss, *unused)
            return float(loss.sum())

        return cost

    def _distances(self, Z: np.ndarray, n_edges: int) -> np.ndarray:
        out = np.empty(n_edges, Z.dtype)

        def work(block: slice) -> None:
            kernels.edge_distances(Z, self._tails[block], self._heads[block], out[block])

        for_each(work, slices(n_edges, _EDGES_IN_BLOCK))
        return out

    def _by_anchor(self, on_edges: np.ndarray) -> np.ndarray:
        on_targets = np.full(self._present.shape, np.nan, on_edges.dtype)
        on_targets[self._present] = on_edges
        return on_targets

    def _laplacian_product(self, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (Laplacian · Z)ᵀ X in double precision, as a sum over parts of the rows."""
        parts = list(slices(len(Z), max(_ROWS_IN_BLOCK, -(-len(Z) // _PARTIAL_SUMS))))
        sums = np.zeros((len(parts), Z.shape[1], self.X.shape[1]))
        scratch = ScratchArray()

        def work(number: int) -> None:
            part = parts[number]
            for block in slices(part.stop, _ROWS_IN_BLOCK, start=part.start):
                forces = scratch.get((block.stop - block.start, Z.shape[1]), Z.dtype)
                kernels.edge_forces(Z, *self._incidence, weights, block.start, forces)
                sums[number] += forces.T @ self.X[block]

        for_each(work, range(len(parts)))
        return sums.sum(axis=0)
