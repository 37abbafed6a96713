"""The usearch engine: a graph that deletes in place and opens from a mapped file."""

from threading import Lock
from typing import Any

import numpy as np

from likewise._threads import slices
from likewise.exceptions import require_extra
from likewise.index.engines._engine import NO_SLOT, Found, as_single
from likewise.similarities import Metric

_METRICS = {"inner_product": "ip", "cosine": "cos", "euclidean": "l2sq"}
_FIRST_EFFORT = 64
_VECTORS_AT_A_TIME = 1024
_ROOM = 1.1  # how much longer than the longest so far a vector may be before all are laid anew


class UsearchEngine:
    """An HNSW graph over float32 vectors; slots are its keys.

    Inner products with vectors of unequal length lead a graph astray: few long ones are everybody's
    neighbours. One more coordinate gives all vectors one length, and changes no product with a
    query that has a zero there.

    What is removed is gone at once: a search that runs while an item is updated may miss it.

    Parameters
    ----------
    metric : {"inner_product", "cosine", "euclidean"}
    graph : buffer, optional
        What `for_file` gave. It is only looked at, not copied, until something is added.
    reach : array of one number, optional
        What `for_file` gave: the common length.
    count : int, default=0
        How many slots that graph has filled, with those removed since.
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
            self._index.expansion_search = _FIRST_EFFORT
            if len(self._index) > count or np.asarray(self._index.keys).max(initial=0) >= count:
                raise ValueError("the graph and the items do not belong together.")

    def __len__(self) -> int:
        return self._count

    @property
    def width(self) -> int | None:
        """How many numbers a vector has, without the one that gives all of them one length."""
        return None if self._index is None else self._index.ndim - (self.metric == "inner_product")

    @property
    def effort(self) -> int | None:
        """How many candidates a search keeps in sight."""
        return _FIRST_EFFORT if self._index is None else int(self._index.expansion_search)

    @effort.setter
    def effort(self, expansion: int | None) -> None:
        if expansion is not None and self._index is not None:
            self._index.expansion_search = expansion

    def efforts(self, k: int) -> list[int]:
        """Return expansions, each about half as many again as the one before."""
        most = max(min(self._count, 4096), k)
        return [int(step) for step in np.unique(np.geomspace(k, most, 16).astype(int))]

    def add(self, vectors: np.ndarray, dtype: Any = None) -> None:
        """Fill the next slots, some at a time, so that searches need not wait for all."""
        vectors = as_single(vectors, "items", "usearch")
        longest = float(np.linalg.norm(vectors.astype(np.float64), axis=1).max())
        if self._index is None or (self.metric == "inner_product" and longest > self._reach):
            self._lay_anew(vectors.shape[1], longest)
        with self._lock:
            self._make_writable()
            start = self._count
            self._count += len(vectors)  # first: a slot is never used twice, come what may
        levelled = self._levelled(vectors, self._reach)
        for part in slices(len(vectors), _VECTORS_AT_A_TIME):
            slots = np.arange(start + part.start, start + part.stop, dtype=np.uint64)
            with self._lock:
                self._index.add(slots, levelled[part])

    def _lay_anew(self, width: int, longest: float) -> None:
        """Put a graph with room for vectors of that length, and all that was stored, in place."""
        old, reach = self._index, _ROOM * longest
        begun = self._package.Index(
            ndim=width + (self.metric == "inner_product"),
            metric=_METRICS[self.metric],
            dtype="f32",
            connectivity=16,
            expansion_add=128,
            expansion_search=self.effort,
        )
        if old is not None and len(old):
            keys = np.sort(np.asarray(old.keys))
            begun.add(keys, self._levelled(np.stack(old.get(keys))[:, :width], reach))
        with self._lock:
            self._index, self._graph, self._reach = begun, None, reach

    def _levelled(self, vectors: np.ndarray, reach: float) -> np.ndarray:
        """Return vectors of one length; only inner products need that."""
        if self.metric != "inner_product":
            return vectors
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        rest = np.sqrt(np.maximum(reach**2 - squares, 0)).astype(np.float32)
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
        """Return what was added; slots that were removed are rows of zeros."""
        with self._lock:
            found = self._index.get(np.asarray(slots, dtype=np.uint64))
        nothing = np.zeros(self._index.ndim, np.float32)
        rows = np.stack([nothing if row is None else row for row in found])
        return rows[:, :-1] if self.metric == "inner_product" else rows

    def most_off(self, queries: np.ndarray) -> np.ndarray:
        """Return infinity: nothing can be said for sure."""
        return np.full(len(queries), np.inf)

    def search(self, queries: np.ndarray, k: int, allowed: np.ndarray | None) -> Found:
        """Find about the `k` best slots of each query, among those that are allowed.

        The engine knows no filter, so more are fetched until enough are allowed.
        """
        if self.metric == "inner_product":
            queries = np.pad(queries, ((0, 0), (0, 1)))
        queries = as_single(queries, "queries", "usearch")
        n_wanted = k if allowed is None else min(k, int(allowed.sum()))
        n_fetched = k if allowed is None else max(k, int(k / max(allowed.mean(), 1e-6)))
        while True:
            n_fetched = min(n_fetched, max(len(self._index), 1))
            slots, values = self._fetched(queries, n_fetched)
            if allowed is None:
                return _cut(slots, values, k)
            kept = (slots != NO_SLOT) & allowed[np.minimum(slots, len(allowed) - 1)]
            kept &= slots < len(allowed)
            if kept.sum(axis=1).min() >= n_wanted or n_fetched >= len(self._index):
                order = np.argsort(~kept, axis=1, kind="stable")
                slots = np.where(kept, slots, NO_SLOT)
                return _cut(
                    np.take_along_axis(slots, order, axis=1),
                    np.take_along_axis(values, order, axis=1),
                    k,
                )
            n_fetched *= 2

    def _fetched(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            found = self._index.search(queries, k)
        counts = np.atleast_1d(found.counts) if hasattr(found, "counts") else np.array([len(found)])
        slots = np.atleast_2d(found.keys).astype(np.int64)
        values = np.atleast_2d(found.distances).astype(np.float32)
        missing = np.arange(slots.shape[1]) >= counts[:, None]
        slots[missing], values[missing] = NO_SLOT, 0  # whatever memory held
        values = np.sqrt(np.maximum(values, 0)) if self.metric == "euclidean" else 1 - values
        return slots, values

    def for_file(self, slots: np.ndarray) -> dict[str, np.ndarray]:
        """Return the graph, vectors and all."""
        with self._lock:
            graph = np.frombuffer(self._index.save(), dtype=np.uint8)
        return {"graph": graph, "reach": np.array([self._reach])}


def _cut(slots: np.ndarray, values: np.ndarray, k: int) -> Found:
    return Found(slots[:, :k], values[:, :k])
