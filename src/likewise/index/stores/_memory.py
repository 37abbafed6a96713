"""Items in this process: ids, fields and rows beside an engine."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import is_sparse, n_rows
from likewise.index._offsets import ActiveOffsets, Moved
from likewise.index._where import SQL, Fields, Where, as_objects
from likewise.index.engines._engine import NO_SLOT, Engine, Found
from likewise.index.stores._growing import GrowingRows
from likewise.similarities import with_rows

_ROWS_IN_BLOCK = 32_768
_MOST_LEFT_OUT = 0.5  # of all slots, before they are given back


class _State(NamedTuple):
    """Which slots hold items: shown as a whole, and never changed once it is."""

    alive: np.ndarray  # the view of `flags` that belongs to this state
    n_alive: int
    flags: GrowingRows


class Embedded:
    """Items under ids, each in a slot of its own.

    A change writes behind what readers see and then shows it in one step: a search that runs
    meanwhile goes on with what it began with, and a change that fails has changed nothing.

    Parameters
    ----------
    make_engine : callable or None
        Makes an empty engine, which searches; with None the items are there only to be scored.
        Keyword arguments are what the engine wrote `for_file`.
    keeps_items : bool
        Whether items are kept beside the engine, which holds something else.
    offsets : ActiveOffsets
        What new items are moved by, before they are put here.
    """

    def __init__(
        self,
        make_engine: Callable[..., Engine] | None,
        *,
        keeps_items: bool,
        offsets: ActiveOffsets,
    ) -> None:
        self._make_engine = make_engine
        self.engine = None if make_engine is None else make_engine()
        self._items = GrowingRows() if keeps_items or make_engine is None else None
        self._ids = GrowingRows()
        self.offsets = offsets
        self._moved_slots = GrowingRows(np.zeros(0, np.int64))  # ascending
        self._originals = GrowingRows()  # of the items in these slots
        self._fields = Fields()
        self._state = _State(np.zeros(0, bool), 0, GrowingRows(np.zeros(0, bool)))
        self._slots: dict[Any, int] = {}
        self._slots_for = self._state  # the state to which the slots were brought up
        self._lock = RLock()

    @contextmanager
    def reading(self) -> Iterator["Embedded"]:
        """Yield the store as it is now, whatever is changed meanwhile."""
        yield copy(self)

    def __len__(self) -> int:
        return self._state.n_alive

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""
        return not self._state.n_alive

    def known(self, ids: list[Any]) -> set[Any]:
        """Return those ids that are stored."""
        return {identifier for identifier in ids if self._slot(identifier) is not None}

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came; what was updated came again."""
        if self.is_empty:
            return []
        found: list[Any] = self._ids.take(np.flatnonzero(self._state.alive)).tolist()
        return found

    @property
    def width(self) -> int | None:
        """How many columns the items have; None where there are none."""
        if self._items is None:
            return self.engine.width  # type: ignore[union-attr]
        rows = self._items.all()
        return None if getattr(rows, "ndim", 0) < 2 else int(rows.shape[1])

    @property
    def holds_sparse(self) -> bool:
        """Whether the items are sparse."""
        return self._items is not None and is_sparse(self._items.all())

    @property
    def is_exact(self) -> bool:
        """Whether nothing but rounding stands between the answers and the truth."""
        return self.engine is None or self.engine.is_exact

    @property
    def effort(self) -> int | None:
        """How thorough a search is; None where it is exact."""
        return None if self.engine is None else self.engine.effort

    @effort.setter
    def effort(self, effort: int | None) -> None:
        if self.engine is not None:
            self.engine.effort = effort

    def efforts(self, k: int) -> list[int]:
        """Return the efforts worth trying."""
        return [] if self.engine is None else self.engine.efforts(k)

    def put(
        self,
        ids: list[Any],
        items: Any,
        folded: Any,
        fields: Mapping[str, Any],
        *,
        new: bool,
        moved: Moved | None = None,
    ) -> None:
        """Store items under unique ids: all of them new, or all of them known."""
        with self._lock:
            self._align()
            start = len(self._state.alive)
            before = np.zeros(0, np.int64) if new else self.slots_of(ids)
            try:
                self._write(start, ids, items, fields, moved)
                if self.engine is not None:
                    self.engine.add(folded, dtype=items.dtype)
                # The step that shows it all: until here a search sees what was, now what is.
                self._state = self._grown(len(ids), before)
            except BaseException:
                self._align()
                raise
            self._slots.update(zip(ids, range(start, start + len(ids)), strict=True))
            self._slots_for = self._state
            if self.engine is not None and len(before):
                self.engine.remove(before)

    def _write(
        self,
        start: int,
        ids: list[Any],
        items: Any,
        fields: Mapping[str, Any],
        moved: Moved | None,
    ) -> None:
        if self._items is not None:
            self._items.append(items)
        if moved is not None and len(moved.places):
            self._originals.append(moved.originals)
            self._moved_slots.append(start + moved.places)
        self._ids.append(as_ids(ids))
        self._fields.put(start, len(ids), fields)

    def _grown(self, n_new: int, before: np.ndarray) -> _State:
        alive, count, flags = self._state
        if len(before):
            alive = alive.copy()
            alive[before] = False
            flags = GrowingRows(alive)
        flags.append(np.ones(n_new, bool))
        return _State(flags.all(), count + n_new - len(before), flags)

    def _align(self) -> None:
        """Forget what an interrupted change wrote; what an engine was given in vain stays empty."""
        alive, count, flags = self._state
        for rows in (flags, self._ids, self._items):
            if rows is not None:
                rows.cut(len(alive))
        n_moved = int(np.searchsorted(self._moved_slots.all(), len(alive)))
        self._moved_slots.cut(n_moved)
        self._originals.cut(n_moved)
        n_vain = 0 if self.engine is None else len(self.engine) - len(alive)
        if n_vain > 0:
            self._ids.append(np.zeros(n_vain, np.int64))
            if self._items is not None:
                kept = self._items.all()
                self._items.append(np.zeros((n_vain, *kept.shape[1:]), kept.dtype))
            flags.append(np.zeros(n_vain, bool))
            state = _State(flags.all(), count, flags)
            self._slots_for = state if self._slots_for is self._state else self._slots_for
            self._state = state

    def remove(self, ids: list[Any]) -> None:
        """Leave stored items out of every later answer."""
        with self._lock:
            slots = self.slots_of(ids)
            self.offsets = self.offsets.without(ids)  # first: for stored items it says nothing
            alive = self._state.alive.copy()
            alive[slots] = False
            self._state = _State(alive, self._state.n_alive - len(ids), GrowingRows(alive))
            for identifier in ids:
                self._slots.pop(identifier, None)
            self._slots_for = self._state
            if self.engine is not None:
                self.engine.remove(slots)

    @property
    def wants_compacting(self) -> bool:
        """Whether most slots hold what nobody will ask for again."""
        return self._state.n_alive < (1 - _MOST_LEFT_OUT) * len(self._state.alive)

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        """Return the slots of stored ids."""
        slots = [self._slot(identifier) for identifier in ids]
        if None in slots:
            raise KeyError(ids[slots.index(None)])
        return np.array(slots, np.int64)

    def _slot(self, identifier: Any) -> int | None:
        """Return the slot of an id in this state, which others may have gone beyond."""
        if self._slots_for is not self._state:
            self._find_slots()
        slot, alive = self._slots.get(identifier), self._state.alive
        if slot is None or (slot < len(alive) and alive[slot]):
            return slot
        # It has moved since: only a search that began before an update comes here.
        places = np.flatnonzero(alive & (self._ids.all()[: len(alive)] == identifier))
        return int(places[0]) if len(places) else None

    def _find_slots(self) -> None:
        """Find the slots of all ids anew, where a change was interrupted before they were noted."""
        with self._lock:
            if self._slots_for is not self._state:
                places = np.flatnonzero(self._state.alive)
                names = self._ids.take(places).tolist() if len(places) else []
                self._slots = dict(zip(names, places.tolist(), strict=True))
                self._slots_for = self._state

    def rows(self, slots: np.ndarray) -> Any:
        """Return the items in some slots, moved by their offsets."""
        if self._items is not None:
            return self._items.take(slots)
        assert self.engine is not None
        return self.engine.vectors(slots)

    def moved(self, slots: np.ndarray) -> Moved:
        """Return which items in some slots were moved, and what they were before."""
        known = self._moved_slots.all()
        if not len(known):
            return Moved(self.offsets)
        found = np.minimum(np.searchsorted(known, slots), len(known) - 1)
        places = np.flatnonzero(known[found] == slots)
        if not len(places):
            return Moved(self.offsets)
        return Moved(self.offsets, places, self._originals.take(found[places]))

    def given(self, slots: np.ndarray) -> Any:
        """Return the items in some slots, as they were given."""
        rows, moved = self.rows(slots), self.moved(slots)
        return with_rows(rows, moved.places, moved.originals) if len(moved.places) else rows

    def changes_with(self, offsets: ActiveOffsets) -> bool:
        """Tell whether other offsets would move any item, or put one back."""
        alive, known = self._state.alive, self._moved_slots.all()
        if alive[known[known < len(alive)]].any():
            return True
        return offsets.offsets is not None and bool(self.known(list(offsets.offsets.ids)))

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""
        return self._fields.of(slots)

    def blocks(self, allowed: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the slots and rows of all items, or those allowed, a block at a time."""
        slots = np.flatnonzero(self._state.alive if allowed is None else allowed)
        for start in range(0, len(slots), _ROWS_IN_BLOCK):
            block = slots[start : start + _ROWS_IN_BLOCK]
            yield block, self.rows(block)

    def whole(self) -> Any:
        """Return all rows without a copy, where that is possible; else None."""
        alive, count, _ = self._state
        if self._items is None or count < len(alive):
            return None
        rows = self._items.all()
        return rows if n_rows(rows) == count else rows[:count]

    def allowed(self, where: Where) -> np.ndarray | None:
        """Return a mask of the slots that a search may find; None for all items."""
        if isinstance(where, SQL):
            raise ValueError("where is SQL, which only the engine 'pgvector' understands.")
        alive = self._state.alive
        if where is None:
            return None
        if isinstance(where, Mapping):
            return alive & self._fields.mask(where, len(alive))
        chosen = np.zeros(len(alive), bool)
        chosen[[slot for slot in map(self._slot, where) if slot is not None]] = True
        return chosen

    def n_allowed(self, allowed: np.ndarray | None) -> int:
        """Return how many items a search may find."""
        return len(self) if allowed is None else int(allowed.sum())

    def search(self, folded: Any, k: int, allowed: np.ndarray | None) -> Found:
        """Find the `k` best slots of each folded query."""
        assert self.engine is not None
        alive, count, _ = self._state
        if allowed is None and count < len(alive) and not self.engine.forgets:
            allowed = alive
        found = self.engine.search(folded, k, allowed)
        if allowed is None and not _are_among(found.slots, alive):
            # The engine knows more than this state: what is only being stored, for instance.
            found = self.engine.search(folded, k, alive)
        return found

    def most_off(self, folded: Any) -> np.ndarray:
        """Return by how much rounding may have moved the values of each folded query."""
        assert self.engine is not None
        return self.engine.most_off(folded)

    def names(self, slots: np.ndarray) -> np.ndarray:
        """Return the ids in some slots; None where there is no slot."""
        names: np.ndarray = self._ids.take(slots)
        missing = slots == NO_SLOT
        if missing.any():
            names = names.astype(object)
            names[missing] = None
        return names

    def for_file(self) -> dict[str, Any]:
        """Return what `from_file` wants: only what is alive."""
        with self._lock:
            slots = np.flatnonzero(self._state.alive)
            parts: dict[str, Any] = {
                "ids": self._ids.take(slots).tolist(),
                "fields": self._fields.of(slots),
                "slots": slots,
                "n_slots": len(self._state.alive),
                "arrays": {} if self.engine is None else self.engine.for_file(slots),
            }
            if self._items is not None or not self.engine.keeps_slots:  # type: ignore[union-attr]
                parts["items"] = self.rows(slots)
            moved = self.moved(slots)
            if len(moved.places):
                parts.update(moved=moved.places, originals=moved.originals)
            return parts

    def from_file(self, fold_items: Callable[[Any], Any], parts: dict[str, Any]) -> None:
        """Fill this store, which is empty, with what `for_file` gave."""
        ids, items = parts["ids"], parts.get("items")
        moved = Moved(self.offsets)
        if "moved" in parts:
            moved = Moved(self.offsets, parts["moved"], parts["originals"])
        if self.engine is None or not self.engine.keeps_slots:
            if self._make_engine is not None:
                self.engine = self._make_engine(**parts["arrays"])
            self.put(
                ids,
                items,
                None if self.engine is None else fold_items(items),
                parts["fields"],
                new=True,
                moved=moved,
            )
            return
        assert self._make_engine is not None
        self.engine = self._make_engine(**parts["arrays"], count=parts["n_slots"])
        slots, n_slots = parts["slots"], parts["n_slots"]
        alive = np.zeros(n_slots, bool)
        alive[slots] = True
        names = as_ids(ids)
        self._ids.append(_spread(names, slots, n_slots))
        if self._items is not None and items is not None:
            self._items.append(_spread(items, slots, n_slots))
        if len(moved.places):
            self._originals.append(moved.originals)
            self._moved_slots.append(slots[moved.places])
        spread = {
            name: _spread(as_objects(v), slots, n_slots).tolist()
            for name, v in parts["fields"].items()
        }
        self._fields.put(0, n_slots, spread)
        self._state = _State(alive, len(ids), GrowingRows(alive))


def as_ids(ids: list[Any]) -> np.ndarray:
    """Return ids as an array: of whole numbers where all are, else of objects."""
    if all(isinstance(identifier, int) for identifier in ids):
        return np.array(ids, dtype=np.int64)
    return as_objects(ids)


def _are_among(slots: np.ndarray, alive: np.ndarray) -> bool:
    found = slots[slots != NO_SLOT]
    return bool((found < len(alive)).all() and alive[found].all())


def _spread(rows: np.ndarray, slots: np.ndarray, n_slots: int) -> np.ndarray:
    """Return an array with `rows` in their slots, and nothing in the others."""
    spread = np.zeros((n_slots, *rows.shape[1:]), rows.dtype)
    spread[slots] = rows
    return spread
