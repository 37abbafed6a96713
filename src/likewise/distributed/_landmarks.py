"""Similarity to landmarks as features, block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.lib.format import header_data_from_array_1_0, write_array_header_1_0
from sklearn.utils.validation import check_is_fitted

from likewise import features
from likewise._files import check_place, whole_file
from likewise._progress import LongWork, show_progress
from likewise.distributed._client import HasClient
from likewise.distributed._executor import mapped
from likewise.distributed._rows import RowBlocks, labels_here
from likewise.distributed._sources import lies_elsewhere, load_rows, stacked
from likewise.similarities import to_dense


class LandmarkFeatures(HasClient, features.LandmarkFeatures):
    """`likewise.LandmarkFeatures` for rows in blocks, on a Dask cluster or on threads.

    Parameters
    ----------
    similarity, n_landmarks, select, boolean, keep_native, base, sample_size, n_jobs, \
random_state, verbose
        As in `likewise.LandmarkFeatures`. Where rows do not lie in memory, ``select`` is
        ``"random"`` or ``"per_class"``, and ranks are counted among `sample_size` rows, which then
        must be given.
    client : distributed.Client or address of a scheduler, optional
        Threads of this process by default, `n_jobs` at a time.

    Examples
    --------
    >>> import likewise as lw
    >>> ring = lw.datasets.circle(1000, random_state=0)
    >>> maker = lw.distributed.LandmarkFeatures(n_landmarks=50, random_state=0, n_jobs=2)
    >>> maker.fit(ring.X).transform(ring.X[:3]).shape
    (3, 52)
    """

    n_features_in_: int

    _PLAIN: ClassVar = features.LandmarkFeatures
    _OURS: ClassVar = ("client",)

    def __init__(
        self,
        similarity: Any = "ranked",
        n_landmarks: int = 200,
        select: str = "random",
        boolean: Any = None,
        keep_native: Any = "auto",
        *,
        base: Any = "euclidean",
        sample_size: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
        client: Any = None,
    ) -> None:
        super().__init__(
            similarity,
            n_landmarks,
            select,
            boolean,
            keep_native,
            base=base,
            sample_size=sample_size,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.client = client

    def fit(self, X: Any, y: Any = None) -> "LandmarkFeatures":
        """Draw the landmarks; only they, and the rows among which ranks are counted, come here.

        Parameters
        ----------
        X : rows, as `likewise.distributed.neighbors` takes them
        y : labels, optional
            Only for ``select="per_class"``.
        """
        with self._connected():
            super().fit(X, None if y is None else labels_here(y, "y"))
        return self

    def transform(self, X: Any, out: Any = None) -> Any:
        """Return the features of each row, made block by block.

        Parameters
        ----------
        X : rows, as in `fit`
        out : path, optional
            An .npy file to be written, a block at a time; it is returned memory-mapped. Without
            it, a Dask array gives a Dask array, made when it is asked for, and all else an array
            or CSR in memory.
        """
        check_is_fitted(self)
        if self.similarity_.takes != "rows":
            return super().transform(X)
        plain = self._fitted_plain()
        if hasattr(X, "__dask_graph__") and out is None:
            return self._lazy(X, plain)
        if out is not None and (place := check_place(out)).suffix != ".npy":
            raise ValueError(f"out must be an .npy file, but {out} was given.")
        with show_progress(self.verbose), self._connected() as executor:
            rows = self._check_rows(X, self.similarity_, reset=False)
            rows = rows if isinstance(rows, RowBlocks) else RowBlocks(rows, "X", executor)
            fitted = executor.share(plain)
            parts = mapped(executor, transform_part, ((fitted, part) for part in rows.parts()))
            with LongWork("comparing with landmarks", total=len(rows), unit="rows") as work:
                shown = _advancing(parts, rows.blocks, work)
                if out is None:
                    return stacked(list(shown))
                _write(place, shown, len(rows))
        return np.load(place, mmap_mode="r")

    def _lazy(self, X: Any, plain: Any) -> Any:
        """Return a Dask array of the features."""
        array = X.rechunk({1: -1})
        return array.map_blocks(
            _transformed,
            fitted=plain,
            dtype=np.result_type(array.dtype, np.float32),
            chunks=(array.chunks[0], (self.n_features_out_,)),
        )

    def _check_rows(self, X: Any, compared: Any, *, reset: bool) -> Any:
        """Return rows as they are scored; of those that lie elsewhere, what leads to them."""
        ranks = self.boolean is not None or self.similarity == "ranked"
        # A mapped array is an array to whoever does not say how many rows to take of it.
        needs_all = reset and ranks and self.sample_size is None and isinstance(X, np.memmap)
        if compared.takes != "rows" or needs_all or not lies_elsewhere(X):
            return super()._check_rows(X, compared, reset=reset)
        rows = RowBlocks(X, "X", self._executor)
        if not reset:
            if rows.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                    f"{self.n_features_in_} features as input."
                )
            return rows
        if self.select == "kmeans++":
            raise ValueError("select 'kmeans++' needs rows in memory: use 'random' or 'per_class'.")
        if ranks and (self.sample_size is None or self.sample_size >= len(rows)):
            raise ValueError(
                f"sample_size must be given, and below {len(rows)}, where rows do not lie in "
                "memory: ranks are counted among so many of them."
            )
        self.n_features_in_ = rows.shape[1]
        return rows


def transform_part(fitted: Any, part: Any) -> Any:
    """Return the features of a block."""
    return _transformed(load_rows(part, "X"), fitted)


def _transformed(block: Any, fitted: Any) -> Any:
    return fitted.transform(block)


def _advancing(parts: Iterator[Any], blocks: list[slice], work: LongWork) -> Iterator[Any]:
    for part, block in zip(parts, blocks, strict=True):
        yield part
        work.advance(block.stop - block.start)


def _write(place: Path, parts: Iterator[Any], n_rows: int) -> None:
    """Write blocks into an NPY file, which is whole or not there."""
    with whole_file(place) as unfinished, unfinished.open("wb") as file:
        for number, part in enumerate(parts):
            dense = np.ascontiguousarray(to_dense(part))
            if number == 0:
                described = header_data_from_array_1_0(dense)
                write_array_header_1_0(file, described | {"shape": (n_rows, dense.shape[1])})
            dense.tofile(file)
