"""The store of items in this process."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from likewise._progress import LongWork
from likewise._threads import slices
from likewise._validation import is_sparse, n_rows
from likewise.index._checks import check_stored_items, refuse_known, refuse_unknown
from likewise.index._fold_plan import FoldPlan, fold_plan
from likewise.index._growing import GrowingRows
from likewise.index._offsets import ActiveOffsets, Moved, check_offsets
from likewise.index._where import SQL, Where
from likewise.index.engines import NO_SLOT, EngineKind, EngineOptions, Hits, choose_engine
from likewise.index.stores._memory_file import file_parts, restored
from likewise.index.stores._slots import Slots
from likewise.similarities import ItemOffsets, Similarity, with_rows

_ROWS_IN_BLOCK = 32_768
_MIN_ALIVE = 0.5  # share of the slots; with fewer the store is compacted


@dataclass(frozen=True, eq=False)
class MemoryStore:
    """Items under ids, each in a slot of an engine; see `Store` and `Reader`.

    Successive stores share their slots. A change fills slots after the last one of the present
    store, which stays valid: searches that have started with it continue with it, and an
    interrupted change has no effect. The next change overwrites its remains.

    Attributes
    ----------
    options : EngineOptions
    plan : FoldPlan
    kind : EngineKind
    reason : str
        Why this kind of engine was chosen.
    offsets : ActiveOffsets
    slots : Slots
    flags : GrowingRows
        Whether each slot holds an item; later stores append to it.
    alive : array of bool
        The part of `flags` that belongs to this store.
    n_alive : int
    latest : dict
        The latest slot of each id, in this store or a later one.
    """

    options: EngineOptions
    plan: FoldPlan
    kind: EngineKind
    reason: str
    offsets: ActiveOffsets
    slots: Slots
    flags: GrowingRows = field(default_factory=lambda: GrowingRows(np.zeros(0, bool)))
    alive: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    n_alive: int = 0
    latest: dict[Any, int] = field(default_factory=dict)

    @classmethod
    def empty(
        cls,
        similarity: Similarity,
        options: EngineOptions,
        offsets: ActiveOffsets,
        *,
        n_items: int = 0,
        sparse: bool = False,
    ) -> "MemoryStore":
        """Return an empty store whose engine suits the items to come."""
        can_fold = similarity.takes == "rows" and not sparse
        kind, reason = choose_engine(options.engine, n_items, can_fold=can_fold)
        plan = fold_plan(similarity, options.fold, options.metric, kind.metrics, kind.name)
        if sparse:
            if kind.name != "exact":
                raise ValueError(
                    f"items is sparse, which the engine {kind.name!r} cannot hold: use "
                    "engine='exact', or items.toarray()."
                )
            plan = FoldPlan(similarity, None, "inner_product", "given")
        return cls(options, plan, kind, reason, offsets, Slots(plan, kind))

    @property
    def engine_name(self) -> str:
        return self.kind.name

    @property
    def effort(self) -> int | None:
        return None if self.slots.engine is None else self.slots.engine.effort

    def set_effort(self, effort: int | None) -> None:
        """Set how thorough searches are, of this store and of those that share its engine."""
        if self.slots.engine is not None:
            self.slots.engine.effort = effort

    def reading(self) -> AbstractContextManager["MemoryStore"]:
        return nullcontext(self)

    def for_file(self) -> dict[str, Any]:
        return file_parts(self._cleaned())

    def restored(self, parts: dict[str, Any]) -> "MemoryStore":
        return restored(self, parts)

    # Changes.

    def add(self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]]) -> "MemoryStore":
        if self.width is None and self.plan.similarity.takes == "rows":
            check_offsets(self.offsets.offsets, self.plan.similarity, items.shape[1])
        refuse_known(ids, self)
        store = self._compacted()._prepared_for(items, len(ids))
        return store._add(ids, store._as_stored(items), fields)

    def update(
        self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]] | None
    ) -> "MemoryStore":
        """Replace stored items, each of which gets a new slot."""
        refuse_unknown(ids, self)
        if fields is None:
            fields = self.slots.fields.take(self.slots_of(ids))
        store = self._compacted()._prepared_for(items, 0)
        return store._put(ids, store._as_stored(items), fields, replaced=store.slots_of(ids))

    def remove(self, ids: list[Any]) -> "MemoryStore":
        refuse_unknown(ids, self)
        store = self._compacted()._cleaned()
        alive = store.alive.copy()
        alive[store.slots_of(ids)] = False
        return replace(
            store,
            offsets=store.offsets.without(ids),
            flags=GrowingRows(alive),
            alive=alive,
            n_alive=store.n_alive - len(ids),
        )

    def swap(self, similarity: Similarity) -> "MemoryStore":
        """Store the items for another similarity; they are copied only if they are mapped."""
        empty = self._empty(similarity, len(self))
        if self.is_empty:
            return empty
        check_stored_items(self, empty.plan)
        if self.kind is empty.kind and self.plan.stores_same_vectors(empty.plan):
            return replace(self, plan=empty.plan)
        return self._copied_to(empty)

    def set_offsets(self, offsets: ItemOffsets | None) -> "MemoryStore":
        active = ActiveOffsets(offsets)
        concerned = offsets is not None and self.known(list(offsets.ids))
        if not concerned and not self.slots.any_moved(self.alive):
            return replace(self, offsets=active)
        empty = replace(self._empty(self.plan.similarity, len(self)), offsets=active)
        return self._copied_to(empty, from_originals=True)

    def release(self, previous: Any) -> None:
        """Remove from the engine what only the previous store held."""
        engine = self.slots.engine
        if engine is None or previous.slots is not self.slots:
            return
        removed = np.flatnonzero(previous.alive & ~self.alive[: len(previous.alive)])
        if len(removed):
            engine.remove(removed)

    def _empty(self, similarity: Similarity, n_items: int) -> "MemoryStore":
        sparse = self.slots.is_sparse and not self.is_empty
        return self.empty(similarity, self.options, self.offsets, n_items=n_items, sparse=sparse)

    def _prepared_for(self, items: Any, n_new: int) -> "MemoryStore":
        """Return this store, or a copy with an engine that suits more items."""
        similarity = self.plan.similarity
        if self.is_empty:
            sparse = is_sparse(items)
            return self.empty(similarity, self.options, self.offsets, n_items=n_new, sparse=sparse)
        if self.slots.is_sparse:
            return self
        n_items = len(self) + n_new
        can_fold = similarity.takes == "rows"
        kind, _ = choose_engine(self.options.engine, n_items, can_fold=can_fold)
        # The engine changes once, from exact to one for many items, and never back.
        if self.kind.name == "exact" and kind.name != "exact":
            return self._copied_to(self._empty(similarity, n_items))
        return self

    def _as_stored(self, items: Any) -> Any:
        """Return items, sparse or dense as those in this store."""
        if self.is_empty or self.slots.is_sparse == is_sparse(items):
            return items
        if is_sparse(items):
            return items.toarray()
        from scipy.sparse import csr_array

        return csr_array(items)

    def _compacted(self) -> "MemoryStore":
        """Return this store, or a copy without empty slots if these are too many."""
        if self.is_empty or self.n_alive >= _MIN_ALIVE * len(self.alive):
            return self
        return self._copied_to(self._empty(self.plan.similarity, len(self)))

    def _copied_to(self, store: "MemoryStore", *, from_originals: bool = False) -> "MemoryStore":
        """Return an empty store, filled with the items of this one.

        With `from_originals` the new store moves items by its own offsets; otherwise moved items
        stay as they are.
        """
        with LongWork("copying items", total=len(self), unit="items") as work:
            for slots, rows in self.blocks():
                ids, fields = self.ids_of(slots).tolist(), self.slots.fields.take(slots)
                if from_originals:
                    store = store._add(ids, self.originals(slots), fields)
                else:
                    store = store._put(ids, rows, fields, moved=self.moved(slots))
                work.advance(len(slots))
        if store.kind.name == self.kind.name:
            store.set_effort(self.effort)
        return store

    def _add(self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]]) -> "MemoryStore":
        rows, moved = self.offsets.apply(ids, items, self.plan.similarity)
        return self._put(ids, rows, fields, moved=moved)

    def _put(
        self,
        ids: list[Any],
        rows: Any,
        fields: Mapping[str, list[Any]],
        *,
        moved: Moved | None = None,
        replaced: np.ndarray | None = None,
    ) -> "MemoryStore":
        """Return a store with rows in new slots, and without the rows that they replace."""
        vectors = self.plan.stored_vectors(rows)
        store = self._cleaned()
        start = len(store.alive)
        store.slots.append(start, ids, rows, vectors, fields, moved)
        flags, n_replaced = store.flags, 0
        if replaced is not None:
            alive, n_replaced = store.alive.copy(), len(replaced)
            alive[replaced] = False
            flags = GrowingRows(alive)
        flags.append(np.ones(len(ids), bool))
        store.latest.update(zip(ids, range(start, start + len(ids)), strict=True))
        n_alive = store.n_alive + len(ids) - n_replaced
        return replace(store, flags=flags, alive=flags.all(), n_alive=n_alive)

    def _cleaned(self) -> "MemoryStore":
        """Return this store without the remains of an interrupted change."""
        n_slots = len(self.alive)
        if len(self.slots.ids) == n_slots:
            return self
        latest = dict(self._own_slots)
        n_empty = self.slots.cut(n_slots) - n_slots
        flags = GrowingRows(np.concatenate([self.alive, np.zeros(n_empty, bool)]))
        return replace(self, flags=flags, alive=flags.all(), latest=latest)

    # Reading.

    def check_searchable(self) -> None:
        """Do nothing: items are always stored for the plan."""

    def __len__(self) -> int:
        return self.n_alive

    @property
    def is_empty(self) -> bool:
        return not self.n_alive

    @property
    def width(self) -> int | None:
        return self.slots.width

    @property
    def ids(self) -> list[Any]:
        """All ids, in insertion order; an updated item counts as inserted again."""
        if self.is_empty:
            return []
        ids: list[Any] = self.slots.ids.take(np.flatnonzero(self.alive)).tolist()
        return ids

    @property
    def is_exact(self) -> bool:
        return self.slots.engine is None or self.slots.engine.is_exact

    def efforts(self, k: int) -> list[int]:
        return [] if self.slots.engine is None else self.slots.engine.efforts(k)

    def known(self, ids: list[Any]) -> set[Any]:
        return {identifier for identifier in ids if self._slot(identifier) is not None}

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        return np.array([self._slot(identifier) for identifier in ids], np.int64)

    def _slot(self, identifier: Any) -> int | None:
        slot = self.latest.get(identifier)
        if slot is None:
            return None
        if slot >= len(self.alive):  # of a later store
            return self._own_slots.get(identifier)
        return slot if self.alive[slot] else None

    @cached_property
    def _own_slots(self) -> dict[Any, int]:
        """The slot of each id in this store."""
        return dict(zip(self.ids, np.flatnonzero(self.alive).tolist(), strict=True))

    def ids_of(self, slots: np.ndarray) -> np.ndarray:
        ids: np.ndarray = self.slots.ids.take(slots)
        missing = slots == NO_SLOT
        if missing.any():
            ids = ids.astype(object)
            ids[missing] = None
        return ids

    def rows(self, slots: np.ndarray) -> Any:
        return self.slots.rows(slots)

    def moved(self, slots: np.ndarray) -> Moved:
        """Return the items in some slots that offsets have moved, and their originals."""
        return self.slots.moved(slots, self.offsets)

    def originals(self, slots: np.ndarray) -> Any:
        rows, moved = self.rows(slots), self.moved(slots)
        return with_rows(rows, moved.places, moved.originals) if len(moved.places) else rows

    def blocks(self, allowed: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        slots = np.flatnonzero(self.alive if allowed is None else allowed)
        for block in slices(len(slots), _ROWS_IN_BLOCK):
            yield slots[block], self.rows(slots[block])

    def whole(self) -> Any:
        if self.slots.items is None or self.n_alive < len(self.alive):
            return None
        rows = self.slots.items.all()
        return rows if n_rows(rows) == self.n_alive else rows[: self.n_alive]

    def allowed(self, where: Where) -> np.ndarray | None:
        if isinstance(where, SQL):
            raise ValueError("where is SQL, which only the engine 'pgvector' can evaluate.")
        if where is None:
            return None
        if isinstance(where, Mapping):
            return self.alive & self.slots.fields.mask(where, len(self.alive))
        mask = np.zeros(len(self.alive), bool)
        mask[[slot for slot in map(self._slot, where) if slot is not None]] = True
        return mask

    def n_allowed(self, allowed: np.ndarray | None) -> int:
        return len(self) if allowed is None else int(allowed.sum())

    def search(self, folded: Any, k: int, allowed: np.ndarray | None) -> Hits:
        engine = self.slots.engine
        assert engine is not None
        if allowed is None and self.n_alive < len(self.alive) and not engine.forgets:
            allowed = self.alive
        hits = engine.search(folded, k, allowed)
        n_slots = len(self.alive)
        own_only = self.n_alive == n_slots == len(engine)
        if allowed is None and not own_only and not self._are_alive(hits.slots):
            hits = engine.search(folded, k, self.alive)  # without the slots of later stores
        return hits

    def _are_alive(self, slots: np.ndarray) -> bool:
        filled = slots[slots != NO_SLOT]
        return bool((filled < len(self.alive)).all() and self.alive[filled].all())

    def error_bounds(self, folded: Any) -> np.ndarray:
        assert self.slots.engine is not None
        return self.slots.engine.error_bounds(folded)
