"""Sentences for the person who starts a server: its model, and its items."""

import json

from likewise.server._model import ServedModel
from likewise.server._settings import Settings
from likewise.server._snapshot import Catalog
from likewise.server.store import Store


def startup_notices(
    settings: Settings, model: ServedModel, store: Store, catalog: Catalog
) -> list[str]:
    """Return sentences about facts that requests and responses do not show."""
    return [*_model_notices(settings, model), *_item_notices(settings, store, catalog)]


def _model_notices(settings: Settings, model: ServedModel) -> list[str]:
    notices = []
    if model.no_learning_reason is not None:
        notices.append(f"searches only, and answers feedback with 409: {model.no_learning_reason}")
    if model.columns is not None:
        notices.append(
            f"vectors are encoded rows: {model.n_query_features} numbers, as "
            f"likewise.load({str(settings.model)!r}).transform_queries(rows) returns them, and not "
            "the cells of a row."
        )
    return notices


def _item_notices(settings: Settings, store: Store, catalog: Catalog) -> list[str]:
    if not len(catalog):
        return ["the store has no items yet: add them by --items FILE or POST /v1/items."]
    if settings.items is None:
        return []
    notices = []
    if store.note("has_ids") == json.dumps(False):
        notices.append(f"{settings.items} has no column id: ids are row numbers, from 0.")
    first = store.note("first_imported")
    earlier = 0 if first is None else sum(item.revision < int(first) for item in catalog.items)
    if earlier:
        notices.append(
            f"{earlier} of {len(catalog)} stored items are not in {settings.items} and stay: "
            "DELETE /v1/items/{id} removes an item, and another --store begins without them."
        )
    return notices
