"""Rows of numbered slots in memory: ids, items, fields and the vectors of an engine."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from likewise._validation import is_sparse
from likewise.index._fold_plan import FoldPlan
from likewise.index._growing import GrowingRows
from likewise.index._offsets import ActiveOffsets, Moved
from likewise.index._where import Values, unknown_field
from likewise.index.engines import Engine, EngineKind


class Slots:
    """Rows of all slots, appended to and never changed otherwise.

    Parameters
    ----------
    plan : FoldPlan
    kind : EngineKind
    engine_arrays : arrays, optional
        From the engine's `for_file`.

    Attributes
    ----------
    engine : Engine or None
        None where the plan folds nothing.
    items : GrowingRows or None
        None where the engine holds the items.
    """

    def __init__(self, plan: FoldPlan, kind: EngineKind, **engine_arrays: Any) -> None:
        self.engine: Engine | None = None
        if plan.folded is not None:
            self.engine = kind.make(plan.metric, **engine_arrays)
        # An engine that shifts vectors does not return them exactly.
        engine_holds_items = plan.stored == "given" and plan.metric != "euclidean"
        self.items: GrowingRows | None = None
        if self.engine is None or not engine_holds_items:
            self.items = GrowingRows()
        self.ids = GrowingRows()
        self.fields = Fields()
        self._moved_slots = GrowingRows(np.zeros(0, np.int64))  # ascending
        self._originals = GrowingRows()  # of the items in these slots

    def append(
        self,
        start: int,
        ids: list[Any],
        rows: Any,
        vectors: Any,
        fields: Mapping[str, list[Any]],
        moved: Moved | None,
    ) -> None:
        """Fill the slots from `start` on."""
        self.ids.append(id_array(ids))  # first: it shows that a change was begun
        if self.items is not None:
            self.items.append(rows)
        if moved is not None and len(moved.places):
            self._originals.append(moved.originals)
            self._moved_slots.append(start + moved.places)
        self.fields.put(start, len(ids), fields)
        if self.engine is not None and vectors is not None:
            self.engine.add(vectors, dtype=rows.dtype)

    def cut(self, n_slots: int) -> int:
        """Drop the slots from `n_slots` on; return the number of slots afterwards.

        An engine cannot drop slots: those that it has filled stay as empty slots.
        """
        for rows in (self.ids, self.items):
            if rows is not None:
                rows.cut(n_slots)
        n_moved = int(np.searchsorted(self._moved_slots.all(), n_slots))
        self._moved_slots.cut(n_moved)
        self._originals.cut(n_moved)
        n_unused = 0 if self.engine is None else len(self.engine) - n_slots
        if n_unused <= 0:
            return n_slots
        self.ids.append(np.zeros(n_unused, np.int64))
        if self.items is not None:
            kept = self.items.all()
            self.items.append(np.zeros((n_unused, *kept.shape[1:]), kept.dtype))
        return n_slots + n_unused

    @property
    def width(self) -> int | None:
        """Number of columns of the items; None if there are none."""
        if self.items is None:
            return self.engine.width  # type: ignore[union-attr]
        rows = self.items.all()
        return None if getattr(rows, "ndim", 0) < 2 else int(rows.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the items are sparse."""
        return self.items is not None and is_sparse(self.items.all())

    def rows(self, slots: np.ndarray) -> Any:
        """Return items as they are searched."""
        if self.items is not None:
            return self.items.take(slots)
        assert self.engine is not None
        return self.engine.vectors(slots)

    def any_moved(self, alive: np.ndarray) -> bool:
        """Return whether offsets have moved an item among the alive slots."""
        moved = self._moved_slots.all()
        return bool(alive[moved[moved < len(alive)]].any())

    def moved(self, slots: np.ndarray, offsets: ActiveOffsets) -> Moved:
        """Return the items in some slots that offsets have moved, and their originals."""
        moved = self._moved_slots.all()
        if not len(moved):
            return Moved(offsets)
        nearest = np.minimum(np.searchsorted(moved, slots), len(moved) - 1)
        places = np.flatnonzero(moved[nearest] == slots)
        if not len(places):
            return Moved(offsets)
        return Moved(offsets, places, self._originals.take(nearest[places]))


class Fields:
    """The values of each field, slot by slot; None where an item lacks the field."""

    def __init__(self) -> None:
        self._columns: dict[str, GrowingRows] = {}

    def put(self, start: int, n_items: int, fields: Mapping[str, list[Values]]) -> None:
        """Set the fields of the slots from `start` on."""
        columns = dict(self._columns)
        for name in {*columns, *fields}:
            column = columns.get(name)
            if column is None or len(column) > start:
                kept = [] if column is None else column.all()[:start]
                column = columns[name] = GrowingRows(object_array(kept))
            if len(column) < start:
                column.append(object_array([None] * (start - len(column))))
            column.append(object_array(fields.get(name, [None] * n_items)))
        self._columns = columns

    def mask(self, where: Mapping[str, Any], n_slots: int) -> np.ndarray:
        """Return the mask of the slots that satisfy all conditions."""
        columns = self._columns
        mask = np.ones(n_slots, bool)
        for name, accepted in where.items():
            if not columns:
                raise ValueError(f"where names the field {name!r}, but no item has fields.")
            if name not in columns:
                raise unknown_field(name, columns)
            values = columns[name].all()[:n_slots]
            satisfied = np.zeros(n_slots, bool)
            for value in accepted:
                satisfied[: len(values)] |= _equal(values, value)
            mask &= satisfied
        return mask

    def take(self, slots: np.ndarray) -> dict[str, list[Values]]:
        """Return the fields of some slots."""
        return {name: column.take(slots).tolist() for name, column in self._columns.items()}


def _equal(values: np.ndarray, value: Values) -> np.ndarray:
    """Return which values equal one value; True does not equal 1."""
    equal: np.ndarray = values == value
    if value in (0, 1):
        equal[equal] = [isinstance(v, bool) == isinstance(value, bool) for v in values[equal]]
    return equal


def object_array(values: Any) -> np.ndarray:
    """Return a 1-D array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def id_array(ids: list[Any]) -> np.ndarray:
    """Return ids as an array: of integers if all are, otherwise of objects."""
    if all(isinstance(identifier, int) for identifier in ids):
        return np.array(ids, dtype=np.int64)
    return object_array(ids)
