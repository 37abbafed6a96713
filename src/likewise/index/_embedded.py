"""Items in this process: ids, fields and rows beside an engine."""

from collections.abc import Callable, Iterator, Mapping
from threading import RLock
from typing import Any

import numpy as np

from likewise.index._engine import NO_SLOT, Engine, Found
from likewise.index._growing import GrowingRows
from likewise.index._where import SQL, Fields, Where, as_objects

_ROWS_IN_BLOCK = 32_768
_MOST_LEFT_OUT = 0.5  # of all slots, before they are given back


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
    """

    def __init__(self, make_engine: Callable[..., Engine] | None, *, keeps_items: bool) -> None:
        self._make_engine = make_engine
        self.engine = None if make_engine is None else make_engine()
        self._items = GrowingRows() if keeps_items or make_engine is None else None
        self._ids = GrowingRows()
        self._slots: dict[Any, int] = {}
        self._alive = np.zeros(0, bool)
        self._fields = Fields()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""
        return not self._slots

    def known(self, ids: list[Any]) -> set[Any]:
        """Return those ids that are stored."""
        return {identifier for identifier in ids if identifier in self._slots}

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came."""
        return list(self._slots)

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
        self, ids: list[Any], items: Any, folded: Any, fields: Mapping[str, Any], *, new: bool
    ) -> None:
        """Store items under unique ids: all of them new, or all of them known."""
        with self._lock:
            start = len(self._alive)
            kept = self._alive.copy()
            before = np.zeros(0, np.int64) if new else self.slots_of(ids)
            kept[before] = False
            try:
                if self.engine is not None:
                    self.engine.add(folded)
                self._write(start, ids, items, fields)
            except BaseException:
                self._leave_out(start, ids, items)
                raise
            # The step that shows it all: until here a search sees what was, from here what is.
            self._alive = np.concatenate([kept, np.ones(len(ids), bool)])
            self._slots.update(zip(ids, range(start, start + len(ids)), strict=True))
            if self.engine is not None and len(before):
                self.engine.remove(before)

    def _write(self, start: int, ids: list[Any], items: Any, fields: Mapping[str, Any]) -> None:
        if self._items is not None:
            self._items.append(items)
        self._ids.append(as_ids(ids))
        self._fields.put(start, len(ids), fields)

    def _leave_out(self, start: int, ids: list[Any], items: Any) -> None:
        """Go back to before; slots that the engine filled in vain stay empty for good."""
        if self._items is not None:
            self._items.cut(start)
        self._ids.cut(start)
        if self.engine is not None and len(self.engine) > start:
            self._write(start, ids, items, {})
            self._alive = np.concatenate([self._alive, np.zeros(len(ids), bool)])

    def remove(self, ids: list[Any]) -> None:
        """Leave stored items out of every later answer."""
        with self._lock:
            slots = self.slots_of(ids)
            alive = self._alive.copy()
            alive[slots] = False
            self._alive = alive
            for identifier in ids:
                del self._slots[identifier]
            if self.engine is not None:
                self.engine.remove(slots)

    @property
    def wants_compacting(self) -> bool:
        """Whether most slots hold what nobody will ask for again."""
        return len(self._slots) < (1 - _MOST_LEFT_OUT) * len(self._alive)

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        """Return the slots of stored ids."""
        return np.array([self._slots[identifier] for identifier in ids], np.int64)

    def rows(self, slots: np.ndarray) -> Any:
        """Return the items in some slots, as they were given."""
        if self._items is not None:
            return self._items.take(slots)
        assert self.engine is not None
        return self.engine.vectors(slots)

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""
        return self._fields.of(slots)

    def blocks(self) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the slots and rows of all items, a block at a time."""
        slots = np.flatnonzero(self._alive)
        for start in range(0, len(slots), _ROWS_IN_BLOCK):
            block = slots[start : start + _ROWS_IN_BLOCK]
            yield block, self.rows(block)

    def scored_rows(self, allowed: np.ndarray | None) -> tuple[np.ndarray, Any]:
        """Return the slots and rows of what a search may find, without a copy where it may all."""
        if allowed is None and self._items is not None:
            return np.arange(len(self._alive)), self._items.all()
        slots = np.flatnonzero(self._alive if allowed is None else allowed)
        return slots, self.rows(slots)

    def allowed(self, where: Where) -> np.ndarray | None:
        """Return a mask of the slots that a search may find; None for all."""
        if isinstance(where, SQL):
            raise ValueError("where is SQL, which only the engine 'pgvector' understands.")
        alive = self._alive
        if where is None:
            return None if alive.all() else alive
        if isinstance(where, Mapping):
            return alive & self._fields.mask(where, len(alive))
        chosen = np.zeros(len(alive), bool)
        chosen[self.slots_of([i for i in where if i in self._slots])] = True
        return chosen & alive

    def n_allowed(self, allowed: np.ndarray | None) -> int:
        """Return how many items a search may find."""
        return len(self._alive) if allowed is None else int(allowed.sum())

    def search(self, folded: Any, k: int, allowed: np.ndarray | None) -> Found:
        """Find the `k` best slots of each folded query."""
        assert self.engine is not None
        alive = self._alive
        found = self.engine.search(folded, k, allowed)
        if (found.slots >= len(alive)).any():  # items that are only being stored
            found = self.engine.search(folded, k, alive if allowed is None else allowed)
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
            slots = np.flatnonzero(self._alive)
            parts: dict[str, Any] = {
                "ids": self._ids.take(slots).tolist(),
                "fields": self._fields.of(slots),
                "slots": slots,
                "n_slots": len(self._alive),
                "arrays": {} if self.engine is None else self.engine.for_file(slots),
            }
            if self._items is not None or not self.engine.keeps_slots:  # type: ignore[union-attr]
                parts["items"] = self.rows(slots)
            return parts

    def from_file(self, fold_items: Callable[[Any], Any], parts: dict[str, Any]) -> None:
        """Fill this store, which is empty, with what `for_file` gave."""
        ids, items = parts["ids"], parts.get("items")
        if self.engine is None or not self.engine.keeps_slots:
            if self._make_engine is not None:
                self.engine = self._make_engine(**parts["arrays"])
            self.put(
                ids,
                items,
                None if self.engine is None else fold_items(items),
                parts["fields"],
                new=True,
            )
            return
        assert self._make_engine is not None
        self.engine = self._make_engine(**parts["arrays"], count=parts["n_slots"])
        slots, n_slots = parts["slots"], parts["n_slots"]
        self._alive = np.zeros(n_slots, bool)
        self._alive[slots] = True
        self._slots = dict(zip(ids, slots.tolist(), strict=True))
        names = as_ids(ids)
        self._ids.append(_spread(names, slots, n_slots))
        if self._items is not None and items is not None:
            self._items.append(_spread(items, slots, n_slots))
        spread = {
            name: _spread(as_objects(v), slots, n_slots).tolist()
            for name, v in parts["fields"].items()
        }
        self._fields.put(0, n_slots, spread)


def as_ids(ids: list[Any]) -> np.ndarray:
    """Return ids as an array: of whole numbers where all are, else of objects."""
    if all(isinstance(identifier, int) for identifier in ids):
        return np.array(ids, dtype=np.int64)
    return as_objects(ids)


def _spread(rows: np.ndarray, slots: np.ndarray, n_slots: int) -> np.ndarray:
    """Return an array with `rows` in their slots, and nothing in the others."""
    spread = np.zeros((n_slots, *rows.shape[1:]), rows.dtype)
    spread[slots] = rows
    return spread
