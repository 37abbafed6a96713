"""The faiss engine: flat up to some size, then an inverted file (IVF)."""

from threading import Lock
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.index.engines._base import MAX_ITEMS_EXACT, Hits, as_float32, squared_lengths
from likewise.similarities import Metric, rounding_bound

_TRAINING_VECTORS_PER_CELL = 128  # faiss recommends 39 to 256
_DEFAULT_EFFORT = 16


class FaissEngine:
    """`IndexFlat` while that is fast enough, then `IndexIVFFlat`.

    An inverted file rather than a graph: it is built in a fraction of the time, is stored as plain
    arrays, and the number of cells to search is easily tuned for folded queries.

    faiss must not be searched during a write, so calls wait for each other.

    Parameters
    ----------
    metric : {"inner_product", "euclidean"}
    n_flat : int
        Maximum number of vectors of the flat index.
    centres, places : arrays, optional
        The cells of the vectors that are added first, from `for_file`.
    """

    def __init__(
        self,
        metric: Metric,
        *,
        n_flat: int = MAX_ITEMS_EXACT,
        centres: np.ndarray | None = None,
        places: np.ndarray | None = None,
    ) -> None:
        self._faiss = require_extra("faiss", "faiss", "the engine 'faiss'")
        self.metric = metric
        self._n_flat = n_flat
        self._lock = Lock()
        self._index: Any = None
        self._n_trained = 0
        self._max_length = 0.0
        self._stored = None if centres is None or places is None else (centres, places)

    keeps_slots = False
    forgets = False

    def __len__(self) -> int:
        return 0 if self._index is None else int(self._index.ntotal)

    @property
    def width(self) -> int | None:
        return None if self._index is None else int(self._index.d)

    @property
    def is_exact(self) -> bool:
        """Whether the index is still flat."""
        return not hasattr(self._index, "nprobe")

    @property
    def effort(self) -> int | None:
        """Number of cells that a search visits."""
        return None if self.is_exact else int(self._index.nprobe)

    @effort.setter
    def effort(self, n_cells: int | None) -> None:
        if n_cells is not None and not self.is_exact:
            self._index.nprobe = min(n_cells, self._index.nlist)

    def efforts(self, k: int) -> list[int]:
        """Return numbers of cells, in a geometric series."""
        if self.is_exact:
            return []
        steps = np.unique(np.geomspace(1, self._index.nlist, 20).astype(int))
        return [int(step) for step in steps]

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots; train cells beyond `n_flat` vectors, and when they quadruple."""
        vectors = as_float32(vectors, "items", "faiss")
        total = len(self) + len(vectors)
        self._max_length = max(self._max_length, float(np.sqrt(squared_lengths(vectors).max())))
        trained = self._n_trained > 0 and total < 4 * self._n_trained
        if self._stored is None and (total <= self._n_flat or trained):
            with self._lock:
                if self._index is None:
                    self._index = self._flat(vectors.shape[1])
                self._index.add(vectors)
        else:
            kept = self.vectors(np.arange(len(self))) if len(self) else vectors[:0]
            self._build_cells(np.concatenate([kept, vectors]))

    def _flat(self, width: int) -> Any:
        if self.metric == "euclidean":
            return self._faiss.IndexFlatL2(width)
        return self._faiss.IndexFlatIP(width)

    def _build_cells(self, vectors: np.ndarray) -> None:
        stored, self._stored = self._stored, None
        width = vectors.shape[1]
        if stored is None:
            n_cells = int(np.clip(4 * np.sqrt(len(vectors)), 1, len(vectors) // 40 + 1))
            cells = self._cells(self._flat(width), width, n_cells)
            order = np.random.default_rng(0).permutation(len(vectors))
            cells.train(vectors[np.sort(order[: n_cells * _TRAINING_VECTORS_PER_CELL])])
            cells.add(vectors)
        else:
            centres, places = stored[0], np.ascontiguousarray(stored[1], np.int64)
            if (
                centres.ndim != 2
                or centres.shape[1] != width
                or places.shape != (len(vectors),)
                or not 0 <= places.min() <= places.max() < len(centres)
            ):  # faiss does not check them
                raise ValueError("the cells do not match the items.")
            cells = self._cells(self._flat(width), width, len(centres))
            cells.quantizer.add(np.ascontiguousarray(centres, np.float32))
            cells.is_trained = True
            pointer = self._faiss.swig_ptr
            slots = np.arange(len(vectors))
            cells.add_core(len(vectors), pointer(vectors), pointer(slots), pointer(places))
        cells.make_direct_map()
        cells.nprobe = min(max(_DEFAULT_EFFORT, self.effort or 0), cells.nlist)
        with self._lock:
            self._index, self._n_trained = cells, len(vectors)

    def _cells(self, quantizer: Any, width: int, n_cells: int) -> Any:
        metric = (
            self._faiss.METRIC_L2
            if self.metric == "euclidean"
            else self._faiss.METRIC_INNER_PRODUCT
        )
        cells = self._faiss.IndexIVFFlat(quantizer, width, n_cells, metric)
        quantizer.this.disown()  # the cells own it now
        cells.own_fields = True
        return cells

    def remove(self, slots: np.ndarray) -> None:
        """Do nothing: searches name the allowed slots."""

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        with self._lock:
            vectors: np.ndarray = self._index.reconstruct_batch(np.asarray(slots, np.int64))
        return vectors

    def error_bounds(self, queries: np.ndarray) -> np.ndarray:
        return rounding_bound(
            np.sqrt(squared_lengths(queries)),
            self._max_length,
            queries.shape[1] + 2,
            np.float32,
            is_distance=self.metric == "euclidean",
        )

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Hits:
        queries = as_float32(queries, "queries", "faiss")
        parameters = None
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            selector = self._faiss.IDSelectorBitmap(bits)
            parameters = (
                self._faiss.SearchParameters(sel=selector)
                if self.is_exact
                else self._faiss.SearchParametersIVF(sel=selector, nprobe=self.effort)
            )
        with self._lock:
            values, slots = self._index.search(queries, k, params=parameters)
        if self.metric == "euclidean":
            values = np.sqrt(np.maximum(values, 0))
        return Hits(slots, values)

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return the centers of the cells and the cell of each slot."""
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
