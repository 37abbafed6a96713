"""What a search works with from beginning to end, whatever is changed meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from likewise._validation import sample_rows
from likewise.index._checks import check_queries, listed_ids, refuse_unknown
from likewise.index._fold_plan import Serving
from likewise.index._search import Best, best_of
from likewise.index._truth import exact_best, recall
from likewise.index.engines._engine import NO_SLOT, Store

_SAMPLED = 500  # stored items that are asked for, where no queries are at hand


@dataclass(frozen=True, eq=False)
class Live:
    """A plan, the store that is searched by it, and which engine that is."""

    serving: Serving
    store: Store
    engine: str
    reason: str

    @contextmanager
    def reading(self) -> Iterator["Live"]:
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
