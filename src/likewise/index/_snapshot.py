"""An immutable state of an index: one search uses one snapshot from beginning to end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._validation import check_whole_number, sample_rows
from likewise.index._checks import check_ids, check_queries, is_id, listed_ids, refuse_unknown
from likewise.index._fold_plan import Serving
from likewise.index._search import Best, best_of
from likewise.index._truth import exact_best, recall
from likewise.index._where import Where, check_where
from likewise.index.engines._engine import NO_SLOT, Store
from likewise.similarities import ItemOffsets, Matches, Similarity

_SAMPLED = 500  # stored items that are asked for, where no queries are at hand


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An index between two changes: its fold plan, its items and its search settings.

    `Index.snapshot` returns the current one. Later changes of the index do not change it.

    Attributes
    ----------
    engine : str
        The engine that searches.
    reason : str
        Why that engine was chosen.
    n_candidates : int
        Number of candidates that are scored again where the engine's order is approximate.
    """

    serving: Serving
    store: Store
    engine: str
    reason: str
    n_candidates: int = 100

    @property
    def similarity(self) -> Similarity:
        """The similarity that scores the items."""
        return self.serving.similarity

    @property
    def offsets(self) -> ItemOffsets | None:
        """The offsets that items were moved by."""
        return self.store.offsets.offsets

    @property
    def is_exact(self) -> bool:
        """Whether a search always returns the best items."""
        return self.store.is_exact and not self.serving.reranks

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in insertion order."""
        return self.store.ids

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, identifier: object) -> bool:
        return is_id(identifier) and bool(self.store.known([identifier]))

    def items(self, ids: Any) -> Any:
        """Return stored items as they were given, without their offsets."""
        listed = check_ids(ids)
        with self.store.reading() as store:
            refuse_unknown(listed, store)
            return store.given(store.slots_of(listed))

    def search(self, queries: Any, k: int = 10, where: Where = None) -> Matches:
        """Find the `k` most similar items of each query; see `Index.search`."""
        k = check_whole_number(k, "k")
        where = check_where(where)
        with self.reading() as live:
            Q, own = live.asked(queries)
            slots, scores = live.best(Q, own, k, live.store.allowed(where), self.n_candidates)
            ids = live.store.names(slots)
        return Matches(*_padded(ids, scores, k))

    def served_recall(self, queries: Any = None, k: int = 10) -> float:
        """Return the mean share of the `k` best items that a search finds; see `Index`."""
        k = check_whole_number(k, "k")
        with self.reading() as live:
            Q, own = live.asked(queries)
            return live.recall(Q, own, k, live.truth(Q, own, k), self.n_candidates)

    @contextmanager
    def reading(self) -> Iterator["Snapshot"]:
        """Yield the same with the store as it is now, if anything is in it."""
        with self.store.reading() as store:
            if store.is_empty:
                raise ValueError("the index is empty: add items before searching.")
            yield replace(self, store=store)

    def asked(self, queries: Any) -> tuple[Any, np.ndarray | None]:
        """Return queries as rows; and the slots of what is asked for, if it is stored items.

        Stored items ask as they were given, without their offsets. With None some stored items are
        asked for.
        """
        similarity, store = self.serving.similarity, self.store
        if queries is None:
            ids = _sample(store.ids)
        else:
            listed = None if similarity.takes == "objects" else listed_ids(queries)
            if listed is None:
                return check_queries(similarity, queries, store.width), None
            refuse_unknown(listed, store, "queries")
            ids = listed
        slots = store.slots_of(ids)
        try:
            return similarity.check_queries(store.given(slots), "stored items"), slots
        except (TypeError, ValueError) as error:
            what = "is needed, for" if queries is None else "names"
            raise ValueError(
                f"queries {what} stored items, which are not of the kind of queries: {error}"
            ) from error

    def best(self, Q: Any, own: np.ndarray | None, k: int, allowed: Any, n_candidates: int) -> Best:
        """Return the slots and scores of the `k` best items; `own` are slots to leave out."""
        wanted = k if own is None else k + 1
        found = best_of(self.serving, self.store, Q, wanted, allowed, n_candidates)
        return found if own is None else _without(found, own, k)

    def truth(self, Q: Any, own: np.ndarray | None, k: int) -> Best:
        """Return what `best` would, had every item been scored."""
        wanted = k if own is None else k + 1
        found = exact_best(self.serving.similarity, Q, self.store.blocks(), wanted)
        return found if own is None else _without(found, own, k)

    def recall(
        self, Q: Any, own: np.ndarray | None, k: int, truth: Best, n_candidates: int
    ) -> float:
        """Return which share of the truth is served, on average."""
        served = self.best(Q, own, k, self.store.allowed(None), n_candidates)
        return float(recall(truth, served).mean())

    def efforts(self, k: int) -> list[int]:
        """Return the efforts worth trying: numbers of candidates, where those are scored again."""
        if not self.serving.reranks:
            return self.store.efforts(k)
        n_items = len(self.store)
        return sorted({min(k * 2**power, n_items) for power in range(16)})


def _without(found: Best, own: np.ndarray, k: int) -> Best:
    """Return the best without a query's own item; what came after it moves up."""
    slots, scores = found
    others = slots != own[:, None]
    order = np.argsort(~others, axis=1, kind="stable")[:, :k]
    slots = np.where(others, slots, NO_SLOT)
    scores = np.where(others, scores, -np.inf)
    return np.take_along_axis(slots, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _sample(ids: list[Any]) -> list[Any]:
    return [ids[at] for at in sample_rows(len(ids), _SAMPLED)]


def _padded(ids: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    missing = k - ids.shape[1]
    if missing <= 0:
        return ids, scores
    padded = np.full((len(ids), k), None, dtype=object)
    padded[:, : ids.shape[1]] = ids
    return padded, np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
