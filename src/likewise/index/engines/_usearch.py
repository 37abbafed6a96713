"""The usearch engine: an HNSW graph that deletes in place and opens from a mapped file."""

from threading import Lock
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise.exceptions import require_extra
from likewise.index.engines._base import NO_SLOT, Hits, as_float32, squared_lengths
from likewise.similarities import Metric

USEARCH_METRICS: dict[Metric, str] = {"inner_product": "ip", "cosine": "cos", "euclidean": "l2sq"}
_DEFAULT_EFFORT = 64
_VECTORS_PER_CALL = 1024
_MAX_SERIAL = 256  # vectors: in a small graph, parallel insertion can leave one unreachable
_LENGTH_MARGIN = 1.1  # longer vectors than this times the longest need a new graph


class UsearchEngine:
    """An HNSW graph over float32 vectors; slots are its keys.

    With inner products and vectors of unequal length, a few long vectors become neighbors of all
    others and searches go astray. An extra coordinate gives all vectors the same length, and does
    not change their product with a query that has zero there.

    Removed vectors disappear at once: a search that runs during an update may miss the item.

    Parameters
    ----------
    metric : {"inner_product", "cosine", "euclidean"}
    graph : buffer, optional
        From `for_file`. It is mapped, not copied, until something is added.
    reach : array of one number, optional
        From `for_file`: the common length.
    count : int, default=0
        Number of slots that the graph has filled, including removed ones.
    """

    is_exact = False
    keeps_slots = True
    forgets = True

    def __init__(
        self,
        metric: Metric,
        *,
        graph: Any = None,
        reach: np.ndarray | None = None,
        count: int = 0,
    ) -> None:
        self._package = require_extra("usearch.index", "usearch", "the engine 'usearch'")
        self.metric = metric
        self._lock = Lock()
        self._index: Any = None
        self._count = count
        self._graph = graph
        self._reach = 0.0 if reach is None else float(reach[0])
        if graph is not None:
            self._index = self._package.Index.restore(memoryview(graph), view=True)
            self._index.expansion_search = _DEFAULT_EFFORT
            if len(self._index) > count or np.asarray(self._index.keys).max(initial=0) >= count:
                raise ValueError("the graph does not match the items.")

    def __len__(self) -> int:
        return self._count

    @property
    def width(self) -> int | None:
        """Number of columns of a vector, without the extra coordinate."""
        return None if self._index is None else self._index.ndim - (self.metric == "inner_product")

    @property
    def effort(self) -> int | None:
        """Number of candidates that a search keeps."""
        return _DEFAULT_EFFORT if self._index is None else int(self._index.expansion_search)

    @effort.setter
    def effort(self, expansion: int | None) -> None:
        if expansion is not None and self._index is not None:
            self._index.expansion_search = expansion

    def efforts(self, k: int) -> list[int]:
        """Return numbers of candidates, in a geometric series."""
        maximum = max(min(self._count, 4096), k)
        return [int(step) for step in np.unique(np.geomspace(k, maximum, 16).astype(int))]

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots in small batches, so that searches can run in between."""
        vectors = as_float32(vectors, "items", "usearch")
        longest = float(np.sqrt(squared_lengths(vectors).max()))
        if self._index is None or (self.metric == "inner_product" and longest > self._reach):
            self._rebuild(vectors.shape[1], longest)
        with self._lock:
            self._make_writable()
            start = self._count
            self._count += len(vectors)  # first: a slot is never reused, even after an error
        padded = self._same_length(vectors, self._reach)
        n_threads = 1 if len(vectors) <= _MAX_SERIAL else 0
        for part in slices(len(vectors), _VECTORS_PER_CALL):
            slots = np.arange(start + part.start, start + part.stop, dtype=np.uint64)
            with self._lock:
                self._index.add(slots, padded[part], threads=n_threads)

    def _rebuild(self, width: int, longest: float) -> None:
        """Replace the graph by one that can hold vectors of that length, with the same items."""
        old, reach = self._index, _LENGTH_MARGIN * longest
        graph = self._package.Index(
            ndim=width + (self.metric == "inner_product"),
            metric=USEARCH_METRICS[self.metric],
            dtype="f32",
            connectivity=16,
            expansion_add=128,
            expansion_search=self.effort,
        )
        if old is not None and len(old):
            keys = np.sort(np.asarray(old.keys))
            graph.add(keys, self._same_length(np.stack(old.get(keys))[:, :width], reach))
        with self._lock:
            self._index, self._graph, self._reach = graph, None, reach

    def _same_length(self, vectors: np.ndarray, reach: float) -> np.ndarray:
        """Return vectors of the same length; only inner products need that."""
        if self.metric != "inner_product":
            return vectors
        rest = np.sqrt(np.maximum(reach**2 - squared_lengths(vectors), 0)).astype(np.float32)
        return np.concatenate([vectors, rest[:, None]], axis=1)

    def _make_writable(self) -> None:
        if self._graph is not None:
            effort = self.effort
            self._index = self._package.Index.restore(bytes(self._graph), view=False)
            self._graph, self.effort = None, effort

    def remove(self, slots: np.ndarray) -> None:
        """Take the slots out of the graph."""
        with self._lock:
            self._make_writable()
            self._index.remove(np.asarray(slots, dtype=np.uint64))

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        """Return the vectors in some slots; zeros for removed ones."""
        with self._lock:
            stored = self._index.get(np.asarray(slots, dtype=np.uint64))
        zeros = np.zeros(self._index.ndim, np.float32)
        rows = np.stack([zeros if row is None else row for row in stored])
        return rows[:, :-1] if self.metric == "inner_product" else rows

    def error_bounds(self, queries: np.ndarray) -> np.ndarray:
        """Return infinity: an approximate search has no bound."""
        return np.full(len(queries), np.inf)

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Hits:
        """Find approximately the `k` best slots of each query among the allowed ones.

        usearch has no filter, so more slots are fetched until enough of them are allowed.
        """
        if self.metric == "inner_product":
            queries = np.pad(queries, ((0, 0), (0, 1)))
        queries = as_float32(queries, "queries", "usearch")
        n_wanted = k if allowed is None else min(k, int(allowed.sum()))
        n_fetched = k if allowed is None else max(k, int(k / max(allowed.mean(), 1e-6)))
        while True:
            n_fetched = min(n_fetched, max(len(self._index), 1))
            slots, values = self._fetched(queries, n_fetched)
            if allowed is None:
                return Hits(slots, values)
            kept = (slots != NO_SLOT) & allowed[np.minimum(slots, len(allowed) - 1)]
            kept &= slots < len(allowed)
            if kept.sum(axis=1).min() >= n_wanted or n_fetched >= len(self._index):
                order = np.argsort(~kept, axis=1, kind="stable")[:, :k]
                sides = np.where(kept, slots, NO_SLOT), values
                return Hits(*(np.take_along_axis(side, order, axis=1) for side in sides))
            n_fetched *= 2

    def _fetched(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            matches = self._index.search(queries, k)
        counts = np.atleast_1d(getattr(matches, "counts", len(matches)))
        slots = np.atleast_2d(matches.keys).astype(np.int64)
        values = np.atleast_2d(matches.distances).astype(np.float32)
        missing = np.arange(slots.shape[1]) >= counts[:, None]
        slots[missing], values[missing] = NO_SLOT, 0  # uninitialized memory
        values = np.sqrt(np.maximum(values, 0)) if self.metric == "euclidean" else 1 - values
        return slots, values

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return the graph, which includes the vectors."""
        with self._lock:
            graph = np.frombuffer(self._index.save(), dtype=np.uint8)
        return {"graph": graph, "reach": np.array([self._reach])}
