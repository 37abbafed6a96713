"""The faiss engine: all vectors up to some size, then those of the nearest cells."""

from threading import Lock
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.index.engines._engine import MOST_ITEMS_EXACT, Found, as_single, most_off
from likewise.similarities import Metric

_VECTORS_A_CELL = 128  # for training; faiss itself takes 39 as the least and 256 as the most
_FIRST_EFFORT = 16


class FaissEngine:
    """`IndexFlat` while that is quick enough, then `IndexIVFFlat`.

    Cells rather than a graph: they are built in a fraction of the time, are plain arrays in a
    file, and how many of them are looked at is easily tuned for folded queries.

    faiss may not be searched while it is written to, so each call waits for the one before.

    Parameters
    ----------
    metric : {"inner_product", "euclidean"}
    n_flat : int
        Up to how many vectors all of them are looked at.
    centres, places : arrays, optional
        What `for_file` gave: the cells of the vectors that are added first.
    """

    def __init__(
        self,
        metric: Metric,
        *,
        n_flat: int = MOST_ITEMS_EXACT,
        centres: np.ndarray | None = None,
        places: np.ndarray | None = None,
    ) -> None:
        self._faiss = require_extra("faiss", "faiss", "the engine 'faiss'")
        self.metric = metric
        self._n_flat = n_flat
        self._lock = Lock()
        self._index: Any = None
        self._n_trained = 0
        self._longest = 0.0
        self._stored = None if centres is None or places is None else (centres, places)

    keeps_slots = False
    forgets = False

    def __len__(self) -> int:
        return 0 if self._index is None else int(self._index.ntotal)

    @property
    def width(self) -> int | None:
        """How many numbers a vector has."""
        return None if self._index is None else int(self._index.d)

    @property
    def is_exact(self) -> bool:
        """As long as it is flat."""
        return not hasattr(self._index, "nprobe")

    @property
    def effort(self) -> int | None:
        """How many cells are looked at."""
        return None if self.is_exact else int(self._index.nprobe)

    @effort.setter
    def effort(self, n_cells: int | None) -> None:
        if n_cells is not None and not self.is_exact:
            self._index.nprobe = min(n_cells, self._index.nlist)

    def efforts(self, k: int) -> list[int]:
        """Return numbers of cells, each half as many again as the one before."""
        if self.is_exact:
            return []
        steps = np.unique(np.geomspace(1, self._index.nlist, 20).astype(int))
        return [int(step) for step in steps]

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots; past the limit, and whenever there are four times as many, train."""
        vectors = as_single(vectors, "items", "faiss")
        total = len(self) + len(vectors)
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        self._longest = max(self._longest, float(np.sqrt(squares.max())))
        trained = self._n_trained > 0 and total < 4 * self._n_trained
        if self._stored is None and (total <= self._n_flat or trained):
            with self._lock:
                if self._index is None:
                    self._index = self._flat(vectors.shape[1])
                self._index.add(vectors)
        else:
            kept = self.vectors(np.arange(len(self))) if len(self) else vectors[:0]
            self._put_into_cells(np.concatenate([kept, vectors]))

    def _flat(self, width: int) -> Any:
        if self.metric == "euclidean":
            return self._faiss.IndexFlatL2(width)
        return self._faiss.IndexFlatIP(width)

    def _put_into_cells(self, vectors: np.ndarray) -> None:
        stored, self._stored = self._stored, None
        width = vectors.shape[1]
        if stored is None:
            n_cells = int(np.clip(4 * np.sqrt(len(vectors)), 1, len(vectors) // 40 + 1))
            cells = self._cells(self._flat(width), width, n_cells)
            sample = np.random.default_rng(0).permutation(len(vectors))[: n_cells * _VECTORS_A_CELL]
            cells.train(vectors[np.sort(sample)])
            cells.add(vectors)
        else:
            centres, places = stored[0], np.ascontiguousarray(stored[1], np.int64)
            if (
                centres.ndim != 2
                or centres.shape[1] != width
                or places.shape != (len(vectors),)
                or not 0 <= places.min() <= places.max() < len(centres)
            ):  # faiss would write wherever they point
                raise ValueError("the cells and the items do not belong together.")
            cells = self._cells(self._flat(width), width, len(centres))
            cells.quantizer.add(np.ascontiguousarray(centres, np.float32))
            cells.is_trained = True
            pointer = self._faiss.swig_ptr
            slots = np.arange(len(vectors))
            cells.add_core(len(vectors), pointer(vectors), pointer(slots), pointer(places))
        cells.make_direct_map()
        cells.nprobe = min(max(_FIRST_EFFORT, self.effort or 0), cells.nlist)
        with self._lock:
            self._index, self._n_trained = cells, len(vectors)

    def _cells(self, quantizer: Any, width: int, n_cells: int) -> Any:
        measure = (
            self._faiss.METRIC_L2
            if self.metric == "euclidean"
            else self._faiss.METRIC_INNER_PRODUCT
        )
        cells = self._faiss.IndexIVFFlat(quantizer, width, n_cells, measure)
        quantizer.this.disown()  # from here on the cells free it
        cells.own_fields = True
        return cells

    def remove(self, slots: np.ndarray) -> None:
        """Do nothing: a search is told what is allowed."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return what was added."""
        with self._lock:
            found: np.ndarray = self._index.reconstruct_batch(np.asarray(slots, np.int64))
        return found

    def most_off(self, queries: np.ndarray) -> np.ndarray:
        """Return by how much rounding may have moved a query's values."""
        reach = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        return most_off(self.metric, reach, self._longest, queries.shape[1], np.float32)

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Found:
        """Find the `k` best slots of each query, among those that are allowed."""
        queries = as_single(queries, "queries", "faiss")
        parameters = None
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            chosen = self._faiss.IDSelectorBitmap(bits)
            parameters = (
                self._faiss.SearchParameters(sel=chosen)
                if self.is_exact
                else self._faiss.SearchParametersIVF(sel=chosen, nprobe=self.effort)
            )
        with self._lock:
            values, slots = self._index.search(queries, k, params=parameters)
        if self.metric == "euclidean":
            values = np.sqrt(np.maximum(values, 0))
        return Found(slots, values)

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return the cells' centres and the cell of each slot."""
        if self.is_exact:
            return {}
        with self._lock:
            centres = self._index.quantizer.reconstruct_n(0, self._index.nlist)
            places = np.empty(len(self), np.int64)
            lists = self._index.invlists
            for cell in range(self._index.nlist):
                size = lists.list_size(cell)
                if size:
                    places[self._faiss.rev_swig_ptr(lists.get_ids(cell), size)] = cell
        return {"centres": centres, "places": places[slots]}
