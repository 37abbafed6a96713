"""An index as the parts of a file, and back."""

import json
from hashlib import sha256
from typing import Any

import numpy as np

from likewise._validation import check_whole_number, is_sparse, n_rows
from likewise.exceptions import ModelFileError
from likewise.index._checks import check_ids, check_items
from likewise.index._offsets import ActiveOffsets, check_offsets
from likewise.index._where import check_fields
from likewise.index.stores._memory import Embedded


def parts_of_index(index: Any) -> dict[str, Any]:
    """Return what a file holds of an index: plain values, arrays and the similarity."""
    live = index._live
    parts = {
        "similarity": live.serving.similarity,
        "engine": index._asked,
        "fold": index._fold,
        "metric": index._metric,
        "n_candidates": index.n_candidates,
        "effort": live.store.effort,
    }
    if not isinstance(live.store, Embedded):
        place = {"url": live.store.url_for_file, "table": index._table}
        waiting = live.store.waiting_offsets
        return {**parts, **place, **({} if waiting is None else {"offsets": waiting})}
    active = live.store.offsets
    if active.offsets is not None:
        dropped = [i for i in active.offsets.ids if i in active.dropped]
        parts.update(offsets=active.offsets, dropped=_as_bytes(dropped))
    if not len(live.store):
        return parts
    stored = live.store.for_file()
    graph = stored["arrays"].get("graph")
    return {
        **parts,
        **stored,
        # As bytes of JSON: a million ids are too much for the header of a file.
        "ids": _as_bytes(stored["ids"]),
        "fields": _as_bytes(stored["fields"]),
        "checksum": None if graph is None else sha256(graph).hexdigest(),
    }


def index_from_parts(kind: Any, parts: dict[str, Any]) -> Any:
    """Make the index again, or refuse what does not fit together."""
    options = {name: parts.pop(name) for name in ("similarity", "engine", "fold", "metric")}
    effort, n_candidates = parts.pop("effort"), parts.pop("n_candidates")
    place = {name: parts.pop(name) for name in ("url", "table", "offsets") if name in parts}
    index = kind(**options, **place)
    if "dropped" in parts:
        index._live.store.offsets = _active(index.offsets, parts.pop("dropped"))
    index.n_candidates = check_whole_number(n_candidates, "n_candidates")
    if "ids" in parts:
        _fill(index, parts)
    if effort is not None:
        index._live.store.effort = check_whole_number(effort, "effort")
    return index


def _active(offsets: Any, dropped: Any) -> ActiveOffsets:
    listed = _from_bytes(dropped, list)
    if offsets is None or not all(_is_known(identifier, offsets) for identifier in listed):
        raise ModelFileError("it has dropped offsets of items that have none.")
    return ActiveOffsets(offsets, frozenset(listed))


def _is_known(identifier: Any, offsets: Any) -> bool:
    return isinstance(identifier, str | int) and identifier in offsets


def _fill(index: Any, parts: dict[str, Any]) -> None:
    ids = check_ids(_from_bytes(parts["ids"], list))
    fields = check_fields(_from_bytes(parts["fields"], dict), len(ids))
    items, arrays = parts.get("items"), parts["arrays"]
    _check_slots(parts["slots"], parts["n_slots"], len(ids))
    if not isinstance(arrays, dict):
        raise ModelFileError("its engine has no arrays.")
    graph = arrays.get("graph")
    if graph is not None and sha256(graph).hexdigest() != parts.pop("checksum"):
        raise ModelFileError("its graph is damaged.")
    if items is not None:
        if n_rows(items) != len(ids):
            raise ModelFileError("it has not as many ids as items.")
        # Rows were finite when they were stored; looking at them now would read all of the file.
        check_items(index.similarity, items[:1], 1)
    active = index._live.store.offsets
    originals = _checked_originals(index, parts, ids, items)
    live = index._begun(index.similarity, len(ids), active, sparse=is_sparse(items))
    stored = {**parts, **originals, "ids": ids, "fields": fields, "items": items}
    live.store.from_file(live.serving.folded, stored)
    check_offsets(active.offsets, index.similarity, live.store.width)
    index._live = live


def _checked_originals(index: Any, parts: dict[str, Any], ids: list[Any], items: Any) -> Any:
    """Return which items were moved, and what they were; refuse what does not fit."""
    if "moved" not in parts and "originals" not in parts:
        return {}
    offsets: Any = index.offsets
    moved: Any = parts.get("moved")
    fits = isinstance(moved, np.ndarray) and moved.dtype == np.int64 and moved.ndim == 1
    if (
        offsets is None
        or not fits
        or not len(moved)
        or not 0 <= moved[0] <= moved[-1] < len(ids)
        or (np.diff(moved) <= 0).any()
        or not all(ids[place] in offsets for place in moved)
    ):
        raise ModelFileError("its offsets and the items that they moved do not belong together.")
    originals = check_items(
        index.similarity, parts.get("originals"), len(moved), offsets.n_item_features
    )
    if is_sparse(originals) != is_sparse(items):
        raise ModelFileError("its moved items are not stored as the others are.")
    return {"moved": np.array(moved), "originals": originals}


def _check_slots(slots: Any, n_slots: Any, n_ids: int) -> None:
    check_whole_number(n_slots, "n_slots")
    fits = isinstance(slots, np.ndarray) and slots.dtype == np.int64 and slots.shape == (n_ids,)
    # Ascending, so that no two items share a slot.
    if not fits or slots[0] < 0 or slots[-1] >= n_slots or (np.diff(slots) <= 0).any():
        raise ModelFileError("its ids and items do not belong together.")


def _as_bytes(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _from_bytes(array: Any, kind: type) -> Any:
    try:
        value = json.loads(np.asarray(array, dtype=np.uint8).tobytes())
    except ValueError as error:
        raise ModelFileError("its ids or fields are not JSON.") from error
    if not isinstance(value, kind):
        raise ModelFileError(f"it has no {kind.__name__} of ids or fields.")
    return value
