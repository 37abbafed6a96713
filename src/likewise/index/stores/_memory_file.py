"""A store in memory as the parts of an index file, and back."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._validation import check_whole_number, is_sparse, n_rows
from likewise.exceptions import ModelFileError
from likewise.index._checks import check_ids, check_items
from likewise.index._growing import GrowingRows
from likewise.index._offsets import ActiveOffsets, Moved, check_offsets
from likewise.index._where import check_fields
from likewise.index.stores._slots import Slots, id_array, object_array
from likewise.similarities import Similarity

if TYPE_CHECKING:
    from likewise.index.stores._memory import MemoryStore


def file_parts(store: "MemoryStore") -> dict[str, Any]:
    """Return the offsets and items of a store; without empty slots where the engine allows."""
    parts: dict[str, Any] = {}
    offsets = store.offsets.offsets
    if offsets is not None:
        dropped = [i for i in offsets.ids if i in store.offsets.dropped]
        parts.update(offsets=offsets, dropped=_to_bytes(dropped))
    if store.is_empty:
        return parts
    engine, slots = store.slots.engine, np.flatnonzero(store.alive)
    arrays = {} if engine is None else engine.for_file(slots)
    graph = arrays.get("graph")
    parts.update(
        # As JSON in an array: a million ids are too many for the header of a file.
        ids=_to_bytes(store.ids),
        fields=_to_bytes(store.slots.fields.take(slots)),
        slots=slots,
        n_slots=len(store.alive),
        arrays=arrays,
        checksum=None if graph is None else sha256(graph.data).hexdigest(),
    )
    if engine is None or store.slots.items is not None or not engine.keeps_slots:
        parts["items"] = store.rows(slots)
    moved = store.moved(slots)
    if len(moved.places):
        parts.update(moved=moved.places, originals=moved.originals)
    return parts


def restored(store: "MemoryStore", parts: dict[str, Any]) -> "MemoryStore":
    """Return an empty store, filled with the parts of a file, which are checked."""
    if "dropped" in parts:
        store = replace(store, offsets=_active(store.offsets.offsets, parts["dropped"]))
    if "ids" not in parts:
        return store
    similarity, offsets = store.plan.similarity, store.offsets
    ids = check_ids(_from_bytes(parts["ids"], list))
    fields = check_fields(_from_bytes(parts["fields"], dict), len(ids))
    items, arrays = parts.get("items"), parts["arrays"]
    slots, n_slots = parts["slots"], parts["n_slots"]
    _check_slots(slots, n_slots, len(ids))
    if not isinstance(arrays, dict):
        raise ModelFileError("its engine has no arrays.")
    graph = arrays.get("graph")
    if graph is not None and sha256(graph).hexdigest() != parts["checksum"]:
        raise ModelFileError("its graph is damaged.")
    if items is not None:
        if n_rows(items) != len(ids):
            raise ModelFileError("its numbers of ids and items differ.")
        # Rows were finite when they were stored; checking them now would read the whole file.
        check_items(similarity, items[:1], 1)
    moved = _moved(parts, ids, items, similarity, offsets)
    store = store.empty(
        similarity, store.options, offsets, n_items=len(ids), sparse=is_sparse(items)
    )
    keeps_slots = store.slots.engine is not None and store.slots.engine.keeps_slots
    if items is None and (store.slots.items is not None or not keeps_slots):
        raise ModelFileError("it has no items.")
    if not keeps_slots:
        store = replace(store, slots=Slots(store.plan, store.kind, **arrays))
        store = store._put(ids, items, fields, moved=moved)
    else:
        kept = Slots(store.plan, store.kind, **arrays, count=n_slots)
        rows = None if items is None else _in_slots(items, slots, n_slots)
        fields = {
            name: _in_slots(object_array(values), slots, n_slots).tolist()
            for name, values in fields.items()
        }
        moved = replace(moved, places=slots[moved.places])
        kept.append(0, _in_slots(id_array(ids), slots, n_slots).tolist(), rows, None, fields, moved)
        alive = np.zeros(n_slots, bool)
        alive[slots] = True
        latest = dict(zip(ids, slots.tolist(), strict=True))
        store = replace(
            store,
            slots=kept,
            flags=GrowingRows(alive),
            alive=alive,
            n_alive=len(ids),
            latest=latest,
        )
    check_offsets(offsets.offsets, similarity, store.width)
    return store


def _active(offsets: Any, dropped: Any) -> ActiveOffsets:
    ids = _from_bytes(dropped, list)
    if offsets is None or not all(isinstance(i, str | int) and i in offsets for i in ids):
        raise ModelFileError("it has dropped offsets of items that have none.")
    return ActiveOffsets(offsets, frozenset(ids))


def _moved(
    parts: dict[str, Any],
    ids: list[Any],
    items: Any,
    similarity: Similarity,
    active: ActiveOffsets,
) -> Moved:
    """Return the moved items and their originals."""
    if "moved" not in parts and "originals" not in parts:
        return Moved(active)
    offsets, places = active.offsets, parts.get("moved")
    if (
        offsets is None
        or not (isinstance(places, np.ndarray) and places.dtype == np.int64 and places.ndim == 1)
        or not len(places)
        or not 0 <= places[0] <= places[-1] < len(ids)
        or (np.diff(places) <= 0).any()
        or not all(ids[place] in offsets for place in places)
    ):
        raise ModelFileError("its offsets do not match the items that they moved.")
    width = offsets.n_item_features
    originals = check_items(similarity, parts.get("originals"), len(places), width)
    if is_sparse(originals) != is_sparse(items):
        raise ModelFileError("its moved items are not stored as the others are.")
    return Moved(active, np.array(places), originals)


def _check_slots(slots: Any, n_slots: Any, n_ids: int) -> None:
    check_whole_number(n_slots, "n_slots")
    valid = isinstance(slots, np.ndarray) and slots.dtype == np.int64 and slots.shape == (n_ids,)
    # Ascending, so that no two items share a slot.
    if not valid or slots[0] < 0 or slots[-1] >= n_slots or (np.diff(slots) <= 0).any():
        raise ModelFileError("its ids do not match its items.")


def _in_slots(rows: np.ndarray, slots: np.ndarray, n_slots: int) -> np.ndarray:
    """Return an array with `rows` in their slots, and zeros elsewhere."""
    array = np.zeros((n_slots, *rows.shape[1:]), rows.dtype)
    array[slots] = rows
    return array


def _to_bytes(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _from_bytes(array: Any, kind: type) -> Any:
    try:
        value = json.loads(np.asarray(array, dtype=np.uint8).tobytes())
    except ValueError as error:
        raise ModelFileError("its ids or fields are not JSON.") from error
    if not isinstance(value, kind):
        raise ModelFileError(f"its ids or fields are not a {kind.__name__}.")
    return value
