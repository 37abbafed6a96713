"""A version in service: its index follows the changes of the items."""

from collections.abc import Sequence

import numpy as np

from likewise.server._lexical import LexicalIndex
from likewise.server._model import ServedModel
from likewise.server._snapshot import Catalog, Snapshot, Version, item_fields
from likewise.server.store import StoredItem


class ServedVersion:
    """The items of a catalog, indexed under a version.

    Parameters
    ----------
    model : ServedModel
    version : Version
    catalog : Catalog
    engine : str
    """

    def __init__(self, model: ServedModel, version: Version, catalog: Catalog, engine: str) -> None:
        self._model, self._engine = model, engine
        self.version = version
        self._index = version.build_index(engine, catalog)

    def switch(self, version: Version, catalog: Catalog) -> None:
        """Index the items under another version; where no item moves, swap the similarity."""
        if version.offsets is None and self.version.offsets is None:
            self._index.swap(version.similarity)
        else:
            self._index = version.build_index(self._engine, catalog)
        self.version = version

    def update(self, before: Catalog, added: Sequence[StoredItem], removed: Sequence[str]) -> None:
        """Add or replace items, and remove others by their ids."""
        for exists, put in ((False, self._index.add), (True, self._index.update)):
            items = [item for item in added if (str(item.id) in before.by_id) is exists]
            if items:
                rows = np.array([item.vector for item in items])
                put([str(item.id) for item in items], rows, item_fields(items))
        if removed:
            self._index.remove(removed)

    def snapshot(self, catalog: Catalog, lexical: LexicalIndex | None = None) -> Snapshot:
        """Return the present state."""
        return Snapshot(self._model, self.version, catalog, self._index.snapshot, lexical)
