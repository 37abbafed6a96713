"""An index as the parts of a file, and back."""

import json
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.exceptions import ModelFileError
from likewise.index._embedded import Embedded


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
        return {**parts, "url": live.store.url_without_password, "table": index._table}
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
    place = {name: parts.pop(name) for name in ("url", "table") if name in parts}
    index = kind(**options, **place)
    index.n_candidates = n_candidates
    if "ids" in parts:
        _fill(index, parts)
    if effort is not None:
        index._live.store.effort = effort
    return index


def _fill(index: Any, parts: dict[str, Any]) -> None:
    from likewise._validation import is_sparse, n_rows
    from likewise.index._checks import check_ids, check_items
    from likewise.index._where import check_fields

    ids = check_ids(_from_bytes(parts["ids"], list))
    fields = check_fields(_from_bytes(parts["fields"], dict), len(ids))
    items = parts.get("items")
    graph = parts["arrays"].get("graph")
    if graph is not None and sha256(graph).hexdigest() != parts.pop("checksum"):
        raise ModelFileError("its graph is damaged.")
    slots, n_slots = parts["slots"], parts["n_slots"]
    if len(slots) != len(ids) or slots.min() < 0 or slots.max() >= n_slots:
        raise ModelFileError("its ids and items do not belong together.")
    if items is not None:
        # Rows were finite when they were stored; looking at them now would read all of the file.
        if n_rows(items) != len(ids):
            raise ModelFileError("it has not as many ids as items.")
        check_items(index.similarity, items[:1], 1)
    live = index._begun(index.similarity, len(ids), sparse=items is not None and is_sparse(items))
    fold = live.serving.fold_items if live.serving.by is not None else None
    live.store.from_file(fold, {**parts, "ids": ids, "fields": fields, "items": items})
    index._live = live


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
