"""Fill a new store with a model and its items, and check an existing one."""

import json
from hashlib import sha256
from typing import Any

from likewise._files import to_bytes
from likewise.server._model import ServedModel, initialize_learner
from likewise.server._settings import Settings
from likewise.server.api._schemas import MAX_FEATURES
from likewise.server.store import Store


def fill_store(store: Store, settings: Settings, model: ServedModel) -> None:
    """Check that a store belongs to the model, or fill a new store; import new items."""
    digest = sha256(settings.model.read_bytes()).hexdigest()
    known = store.note("model")
    if known is not None and known != digest:
        # The address of a database may contain a password.
        in_postgres = store.kind == "postgresql"
        location = "in PostgreSQL" if in_postgres else settings.location
        raise ValueError(
            f"the store {location} belongs to another model than {settings.model}: "
            "give another --store."
        )
    _check_encoder(store, settings, model)
    items = _new_items(store, settings, model)
    if known is None:
        width = model.n_item_features or (len(items[0][0][1]) if items else None)
        if width is None:
            raise ValueError("items are needed: the model does not define their width.")
        if width > MAX_FEATURES:
            raise ValueError(f"items have {width} features, but the limit is {MAX_FEATURES}.")
        state = None
        if model.learner is not None:
            n_query = model.n_query_features or width
            state = to_bytes(initialize_learner(model.learner, n_query, width))
        store.initialize({"model": digest}, to_bytes(model.similarity), state)
    if model.encoder is not None and store.note("encoder") is None:
        store.set_note("encoder", json.dumps(model.encoder.probe.tolist()))
    store.set_learner(settings.learner, settings.hybrid)
    if items is not None:
        rows, file_digest, has_ids = items
        store.set_note("feature_names", json.dumps(model.numeric_columns))
        store.set_note("has_ids", json.dumps(has_ids))
        store.put_items(rows, digest=file_digest)
    elif names := store.note("feature_names"):
        model.numeric_columns[:] = json.loads(names)


def _new_items(
    store: Store, settings: Settings, model: ServedModel
) -> tuple[list[Any], str, bool] | None:
    """Return the items of a file, its digest, and whether it has ids; None if it is known."""
    from likewise.tables import read_table

    path = settings.items
    if path is None:
        return None
    digest = sha256(path.read_bytes() if path.is_file() else str(path).encode()).hexdigest()
    if store.note("items") == digest:
        return None
    table = read_table(path)
    rows = table.rows
    labels = table.labels if settings.label is None else None
    if labels is not None and hasattr(rows, "append_column"):
        import pyarrow

        rows = rows.append_column(table.target, pyarrow.array(labels.tolist()))
    has_ids = "id" in getattr(rows, "column_names", [])
    return list(model.convert_table(rows)), digest, has_ids


def _check_encoder(store: Store, settings: Settings, model: ServedModel) -> None:
    """Check that the encoder is the one that encoded the texts in the store."""
    encoder, probe = model.encoder, store.note("encoder")
    if encoder is not None and probe is not None and not encoder.is_same(json.loads(probe)):
        raise ValueError(
            f"encoder {settings.encoder!r} returns other vectors than the encoder that "
            "filled the store: give that one, or another --store."
        )
