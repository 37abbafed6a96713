"""One consistent state of the server: a version of the similarity, the items and their index."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise._validation import sample_rows
from likewise.index import Index
from likewise.index import Snapshot as IndexSnapshot
from likewise.server._model import ServedModel
from likewise.server.api._schemas import Query
from likewise.server.store import InvalidRequest, ItemId, NotFound, StoredItem, VersionFiles
from likewise.similarities import ItemOffsets, Similarity


class Catalog:
    """An immutable collection of items, in the order in which they were added.

    Parameters
    ----------
    by_id : dict
        Items by their ids as text.
    change : int
        Number of the store's last change that is included.
    """

    def __init__(self, by_id: dict[str, StoredItem] | None = None, change: int = 0) -> None:
        self.by_id = {} if by_id is None else by_id
        self.change = change

    def __len__(self) -> int:
        return len(self.by_id)

    def updated(self, added: Iterable[StoredItem], removed: set[str], change: int) -> "Catalog":
        """Return a catalog with items added, replaced or removed."""
        by_id = {name: item for name, item in self.by_id.items() if name not in removed}
        by_id.update({str(item.id): item for item in added})
        return Catalog(by_id, change)

    def item(self, name: ItemId) -> StoredItem:
        """Return the item with an id."""
        item = self.by_id.get(str(name))
        if item is None:
            raise NotFound(f"there is no item {name!r}.")
        return item

    @cached_property
    def items(self) -> Sequence[StoredItem]:
        """All items."""
        return tuple(self.by_id.values())

    @cached_property
    def rows(self) -> np.ndarray:
        """The vectors of all items."""
        return np.array([item.vector for item in self.items], dtype=np.float32)

    @cached_property
    def row_numbers(self) -> dict[str, int]:
        """The row of each id."""
        return {name: row for row, name in enumerate(self.by_id)}

    def sample(self, n: int) -> np.ndarray:
        """Return the sorted rows of at most `n` items, drawn with a fixed seed."""
        return sample_rows(len(self), n)


@dataclass(frozen=True, eq=False)
class Version:
    """A version of the similarity.

    Attributes
    ----------
    number : int
    similarity : Similarity
    offsets : ItemOffsets or None
        By revisions of items: a replaced item has no offset.
    """

    number: int
    similarity: Similarity
    offsets: ItemOffsets | None

    @classmethod
    def from_files(cls, number: int, files: VersionFiles) -> "Version":
        """Return a version from its model files."""
        offsets = None if files.offsets is None else from_bytes(files.offsets)
        return cls(number, from_bytes(files.similarity), offsets)

    def item_rows(self, items: Sequence[StoredItem]) -> np.ndarray:
        """Return the vectors of items, moved by their offsets."""
        rows = np.array([item.vector for item in items], dtype=np.float32)
        if self.offsets is None or not items:
            return rows
        return np.asarray(self.offsets.apply([item.revision for item in items], rows))

    def build_index(self, engine: str, catalog: Catalog) -> Index:
        """Return an index of the items under this version."""
        index = Index(self.similarity, engine, offsets=self._offsets_by_id(catalog.items))
        if len(catalog):
            index.add(list(catalog.by_id), catalog.rows, item_fields(catalog.items))
        return index

    def _offsets_by_id(self, items: Sequence[StoredItem]) -> ItemOffsets | None:
        """Return the offsets of the present items, by their ids."""
        if self.offsets is None:
            return None
        names = {item.revision: str(item.id) for item in items}
        kept = [row for row, revision in enumerate(self.offsets.ids) if revision in names]
        if not kept:
            return None
        return ItemOffsets(
            tuple(names[int(self.offsets.ids[row])] for row in kept),
            self.offsets.directions[kept],
            self.offsets.counts[kept],
            self.offsets.gamma,
            self.offsets.center,
        )


def item_fields(items: Sequence[StoredItem]) -> dict[str, list[Any]]:
    """Return the cells of items by column, for filtered searches."""
    names = dict.fromkeys(name for item in items for name in item.row if name != "image")
    return {name: [_scalar(item.row.get(name)) for item in items] for name in names}


def _scalar(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool) else None


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An immutable state of the server; a request uses one snapshot from beginning to end.

    Attributes
    ----------
    model : ServedModel
    version : Version
    catalog : Catalog
    built_index : likewise.index.Snapshot, optional
        The items of the catalog under the version; by default it is built on the first search.
    """

    model: ServedModel
    version: Version
    catalog: Catalog
    built_index: IndexSnapshot | None = None

    @cached_property
    def index(self) -> IndexSnapshot:
        """The index of the items."""
        if self.built_index is not None:
            return self.built_index
        return self.version.build_index("exact", self.catalog).snapshot

    @property
    def similarity(self) -> Similarity:
        """The similarity of the version."""
        return self.version.similarity

    @cached_property
    def item_rows(self) -> np.ndarray:
        """The vectors of all items, moved by their offsets."""
        if self.version.offsets is None:
            return self.catalog.rows
        return self.version.item_rows(self.catalog.items)

    def query_row(self, query: Query) -> np.ndarray:
        """Return the vector of a query, as one row."""
        if query.id is not None:
            if not self.items_are_queries:
                raise InvalidRequest("queries of this model are not items: give a vector.")
            return self.catalog.item(query.id).vector[None]
        if query.text is not None:
            row = self.model.vectorize_text(query.text)[None]
        else:
            row = np.array([query.vector], dtype=np.float32)
            width = self.model.n_query_features or self.n_item_features
            if row.shape[1] != width:
                raise InvalidRequest(
                    f"vector has {row.shape[1]} numbers, but the model takes queries of {width}."
                )
        try:
            checked: np.ndarray = self.similarity.check_queries(row, "vector")
        except ValueError as error:
            raise InvalidRequest(str(error)) from error
        return checked

    @property
    def n_item_features(self) -> int | None:
        """Width of the items."""
        if self.model.n_item_features is not None:
            return self.model.n_item_features
        return len(self.catalog.items[0].vector) if len(self.catalog) else None

    @property
    def items_are_queries(self) -> bool:
        """Whether an item can be a query."""
        if self.model.query_columns is not None:
            return False
        width = self.model.n_query_features
        return width is None or width == self.n_item_features

    def search(
        self, row: np.ndarray, k: int, where: dict[str, Any] | None
    ) -> list[tuple[StoredItem, float]]:
        """Return the `k` best items of a query and their scores."""
        if not len(self.catalog):
            return []
        try:
            matches = self.index.search(row, min(k, len(self.catalog)), where).row(0)
        except ValueError as error:  # an unknown column in `where`, or scores that overflow
            raise InvalidRequest(str(error)) from error
        return [(self.catalog.by_id[name], score) for name, score in matches]

    def explain(self, row: np.ndarray, item: StoredItem, top: int) -> Any:
        """Return the features that contribute most to a score."""
        item_row = self.version.item_rows([item])
        names = (
            self.model.feature_names(row.shape[1], of_queries=True),
            self.model.feature_names(item_row.shape[1], of_queries=False),
        )
        return self.similarity.explain(row, item_row, *names, top)
