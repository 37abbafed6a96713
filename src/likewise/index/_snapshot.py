"""An immutable state of an index, which answers a search from beginning to end."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._validation import check_whole_number, sample_rows
from likewise.index._checks import check_ids, check_queries, is_id, listed_ids, refuse_unknown
from likewise.index._search import Best, best_items, exact_best, recall
from likewise.index._where import Where, check_where
from likewise.index.engines import NO_SLOT
from likewise.index.stores import Reader, Store
from likewise.similarities import ItemOffsets, Matches, Similarity

_N_SAMPLED = 500  # stored items that serve as queries if none are given


class IndexReader(ABC):
    """The read-only attributes and methods of an index and of its snapshots."""

    @property
    @abstractmethod
    def snapshot(self) -> "Snapshot":
        """The index as it is now, for searches that later changes must not affect."""

    @property
    def similarity(self) -> Similarity:
        """The similarity that scores items."""
        return self.snapshot.store.plan.similarity

    @property
    def engine(self) -> str:
        """Name of the engine that searches."""
        return self.snapshot.store.engine_name

    @property
    def reason(self) -> str:
        """Why that engine was chosen."""
        return self.snapshot.store.reason

    @property
    def is_exact(self) -> bool:
        """Whether every search returns the best items."""
        with self.snapshot.store.reading() as reader:
            return reader.is_exact and not reader.plan.reranks

    @property
    def effort(self) -> int | None:
        """How thoroughly the engine searches; None if it is exact.

        The number of cells that faiss visits, or of candidates that a search of a graph keeps.
        """
        return self.snapshot.store.effort

    @property
    def offsets(self) -> ItemOffsets | None:
        """The offsets that were set last."""
        return self.snapshot.store.offsets.offsets

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in insertion order."""
        with self.snapshot.store.reading() as reader:
            return reader.ids

    def __len__(self) -> int:
        with self.snapshot.store.reading() as reader:
            return len(reader)

    def __contains__(self, identifier: object) -> bool:
        if not is_id(identifier):
            return False
        with self.snapshot.store.reading() as reader:
            return bool(reader.known([identifier]))

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({len(self)} items, engine={self.engine!r}, {self.similarity!r})"

    def items(self, ids: Any) -> Any:
        """Return stored items as they were given, without their offsets.

        faiss and usearch keep items in single precision.
        """
        listed = check_ids(ids)
        with self.snapshot.store.reading() as reader:
            refuse_unknown(listed, reader)
            return reader.originals(reader.slots_of(listed))

    def served_recall(self, queries: Any = None, k: int = 10) -> float:
        """Return the share of the `k` best items that a search finds, on average.

        Parameters
        ----------
        queries : rows of queries, or stored ids, optional
            Real queries give the best estimate. By default some stored items are used.
        k : int, default=10
        """
        snapshot = self.snapshot
        with snapshot.searching(queries, check_whole_number(k, "k")) as search:
            return search.recall(search.truth(), snapshot.n_candidates)


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(IndexReader):
    """An index between two changes, for searches; `Index.snapshot` returns the current one.

    Later changes of the index do not change it. A table in PostgreSQL is shared with other
    processes: there, each call reads one state of the table, and a search is refused after the
    items were mapped for another similarity.

    Attributes
    ----------
    store : Store
        The fold plan, the items stored for it, and their offsets.
    n_candidates : int
        Number of an engine's candidates that are scored again, for plans that need it.
    """

    store: Store
    n_candidates: int

    @property
    def snapshot(self) -> "Snapshot":
        """The snapshot itself."""
        return self

    def search(self, queries: Any, k: int = 10, where: Where = None) -> Matches:
        """Find the `k` most similar items of each query; see `Index.search`."""
        k = check_whole_number(k, "k")
        where = check_where(where)
        with self.searching(queries, k) as search:
            slots, scores = search.best(search.reader.allowed(where), self.n_candidates)
            ids = search.reader.ids_of(slots)
        return Matches(*_padded(ids, scores, k))

    @contextmanager
    def searching(self, queries: Any, k: int) -> Iterator["Searching"]:
        """Yield checked queries and the state of the items that they are compared with.

        Queries are rows or stored ids; None for some of the stored items.
        """
        with self.store.reading() as reader:
            reader.check_searchable()
            if reader.is_empty:
                raise ValueError("the index is empty: add items before searching.")
            yield Searching(reader, *_query_rows(reader, queries), k)


@dataclass(frozen=True, eq=False)
class Searching:
    """Queries, and one state of the items to compare with them.

    Attributes
    ----------
    reader : Reader
    Q : rows of the queries
    own_slots : array or None
        The slot of each query that is a stored item, which it must not find.
    k : int
    """

    reader: Reader
    Q: Any
    own_slots: np.ndarray | None
    k: int

    def best(self, allowed: Any, n_candidates: int) -> Best:
        """Return the slots and scores of the `k` best items that the index finds."""
        best = best_items(self.reader, self.Q, self._n_best, allowed, n_candidates)
        return self._without_own(best)

    def truth(self) -> Best:
        """Return the slots and scores of the `k` best items, from scores of all items."""
        similarity, blocks = self.reader.plan.similarity, self.reader.blocks()
        return self._without_own(exact_best(similarity, self.Q, blocks, self._n_best))

    def recall(self, truth: Best, n_candidates: int) -> float:
        """Return the mean share of the truth that the index finds."""
        return float(recall(truth, self.best(None, n_candidates)).mean())

    @property
    def _n_best(self) -> int:
        return self.k if self.own_slots is None else self.k + 1

    def _without_own(self, best: Best) -> Best:
        if self.own_slots is None:
            return best
        slots, scores = best
        is_other = slots != self.own_slots[:, None]
        order = np.argsort(~is_other, axis=1, kind="stable")[:, : self.k]
        slots = np.where(is_other, slots, NO_SLOT)
        scores = np.where(is_other, scores, -np.inf)
        return np.take_along_axis(slots, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _query_rows(reader: Reader, queries: Any) -> tuple[Any, np.ndarray | None]:
    """Return the rows of queries, and their slots if they are stored items.

    Stored items serve as queries as they were given, without their offsets.
    """
    similarity = reader.plan.similarity
    if queries is None:
        all_ids = reader.ids
        ids = [all_ids[at] for at in sample_rows(len(all_ids), _N_SAMPLED)]
    else:
        listed = None if similarity.takes == "objects" else listed_ids(queries)
        if listed is None:
            return check_queries(similarity, queries, reader.width), None
        refuse_unknown(listed, reader, "queries")
        ids = listed
    slots = reader.slots_of(ids)
    try:
        return similarity.check_queries(reader.originals(slots), "stored items"), slots
    except (TypeError, ValueError) as error:
        what = "is needed, for" if queries is None else "names"
        raise ValueError(
            f"queries {what} stored items, which are not of the kind of queries: {error}"
        ) from error


def _padded(ids: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    missing = k - ids.shape[1]
    if missing <= 0:
        return ids, scores
    padded = np.full((len(ids), k), None, dtype=object)
    padded[:, : ids.shape[1]] = ids
    return padded, np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
