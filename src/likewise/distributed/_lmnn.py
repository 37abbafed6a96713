"""LMNN on several machines: blocks of rows against blocks of rows, and summed gradients."""

from typing import Any, ClassVar

import numpy as np

from likewise import learners
from likewise.distributed._client import HasClient
from likewise.distributed._executor import mapped
from likewise.distributed._margins import SpreadMargins, SpreadSearch, targets_among, units_of
from likewise.distributed._rows import RowBlocks, labels_here
from likewise.distributed._sources import MemoryRows, lies_elsewhere, load_rows
from likewise.supervision import targets_of


class LMNN(HasClient, learners.LMNN):
    """`likewise.LMNN` on the workers of a Dask cluster, or on threads.

    The same problem by the same steps: target neighbours and impostors are looked for block
    against block, and costs and gradients of groups of rows are summed.

    Parameters
    ----------
    n_neighbors, c, n_components, init, max_iter, tol, warm_start, n_jobs, random_state, verbose
        As in `likewise.LMNN`; `init` ``"lda"`` needs rows in memory.
    client : distributed.Client or address of a scheduler, optional
        Threads of this process by default, `n_jobs` at a time.

    Notes
    -----
    `fit` and `fit_triplets` take dense rows as `likewise.distributed.neighbors` does. Labels,
    target neighbours and triplets come here; rows do not.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> lw.distributed.LMNN(n_jobs=2).fit(data.X, data.y).similarity_
    Mahalanobis(L=4×4 float64)
    """

    _PLAIN: ClassVar = learners.LMNN

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        c: float = 1.0,
        n_components: int | None = None,
        init: Any = "identity",
        max_iter: int = 200,
        tol: float = 1e-3,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        client: Any = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            c=c,
            n_components=n_components,
            init=init,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client

    def fit(self, X: Any, y: Any, target_neighbors: Any = None) -> "LMNN":
        """Learn the map from labelled rows.

        Parameters
        ----------
        X : dense rows, as `likewise.distributed.neighbors` takes them
        y : array of shape (n_rows,), Dask array, .npy file or column of `read_parquet`
        target_neighbors : as in `likewise.LMNN.fit`
        """
        with self._connected():
            super().fit(X, y, target_neighbors)
        return self

    def fit_triplets(self, triplets: Any, X: Any) -> "LMNN":
        """Learn the map from comparisons; see `likewise.LMNN.fit_triplets`."""
        with self._connected():
            super().fit_triplets(triplets, X)
        return self

    @property
    def duality_gap_(self) -> float:
        """By which share of itself the objective may still exceed its global minimum, at most."""
        with self._connected():
            return super().duality_gap_

    def _labelled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        if not lies_elsewhere(X):
            rows, labels = super()._labelled(X, y)
            return RowBlocks(rows, "X", self._executor), labels
        rows, labels = self._rows(X), labels_here(y, "y")
        if len(rows) != len(labels):
            raise ValueError(f"X has {len(rows)} rows and y has {len(labels)} labels.")
        return rows, labels

    def _rows(self, X: Any) -> Any:
        if not lies_elsewhere(X):
            return RowBlocks(super()._rows(X), "X", self._executor)
        rows = RowBlocks(X, "X", self._executor)
        rows.refuse_odd_rows()
        self.n_features_in_ = rows.shape[1]
        return rows

    def _targets(self, X: Any, y: np.ndarray) -> np.ndarray:
        k = self.n_neighbors
        return targets_of(targets_among(self._executor, X, y, k), y, k)[0]

    def _starting_map(self, X: Any, labels: np.ndarray | None, init: Any) -> np.ndarray:
        if isinstance(X.source, MemoryRows):
            return super()._starting_map(X.source.rows, labels, init)
        if isinstance(init, str) and init == "lda":
            raise ValueError("init 'lda' needs rows in memory: use 'identity', 'pca' or an array.")
        if not (isinstance(init, str) and init == "pca"):
            return super()._starting_map(X, labels, init)
        size = X.shape[1] if self.n_components is None else self.n_components
        mean = self._executor.share(units_of(self._executor, X).mean)
        parts = ((part, mean) for part in X.parts())
        scatter = sum(mapped(self._executor, scatter_part, parts))
        return np.linalg.eigh(scatter)[1][:, ::-1][:, :size].T.copy()

    def _problem(self) -> tuple[Any, Any, np.ndarray]:
        """Return what is minimised, in units of the columns' spread, and these."""
        X, labels, anchors, targets, impostors, c = self._training
        rows = RowBlocks(X.source, "X", self._executor)  # also where the last executor is gone
        units = units_of(self._executor, rows)
        margins = SpreadMargins(self._executor, rows, units, anchors, targets, c)
        return margins, SpreadSearch(margins, units, labels, impostors), units.spread


def scatter_part(part: Any, mean: np.ndarray) -> np.ndarray:
    """Return the scatter of a block of rows around a mean."""
    centred = load_rows(part, "X") - mean
    return np.asarray(centred.T @ centred)
