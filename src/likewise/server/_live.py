"""What answers at one moment: a version of the similarity, and the items."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise._files import from_bytes
from likewise.index import Index
from likewise.server._catalogue import Catalogue
from likewise.server._served import Served
from likewise.server.api._schemas import Query
from likewise.server.store import Files
from likewise.server.store._records import StoredItem, WrongRequestError
from likewise.similarities import ItemOffsets, Similarity


@dataclass(frozen=True, eq=False)
class Version:
    """What a version of the similarity consists of.

    Attributes
    ----------
    number : int
    similarity : Similarity
    offsets : ItemOffsets or None
        Of revisions of items: whatever replaces one has no offset.
    """

    number: int
    similarity: Similarity
    offsets: ItemOffsets | None

    @classmethod
    def read(cls, number: int, files: Files) -> "Version":
        """Return a version as a store holds it."""
        offsets = None if files.offsets is None else from_bytes(files.offsets)
        return cls(number, from_bytes(files.similarity), offsets)

    def moved(self, items: Sequence[StoredItem]) -> np.ndarray:
        """Return the vectors of items as they are compared: judged ones moved by their offsets."""
        rows = np.array([item.vector for item in items], dtype=np.float32)
        if self.offsets is None or not items:
            return rows
        return np.asarray(self.offsets.apply([item.revision for item in items], rows))

    def index(self, engine: str, catalogue: Catalogue) -> Index:
        """Return an index of the items by this version."""
        items = catalogue.list
        index = Index(self.similarity, engine, offsets=self._offsets_by_id(items))
        if items:
            index.add([str(item.id) for item in items], catalogue.rows, fields_of(items))
        return index

    def _offsets_by_id(self, items: Sequence[StoredItem]) -> ItemOffsets | None:
        """Return the offsets of the items that are there now, by their ids."""
        if self.offsets is None:
            return None
        names = {item.revision: str(item.id) for item in items}
        kept = [place for place, number in enumerate(self.offsets.ids) if number in names]
        if not kept:
            return None
        return ItemOffsets(
            tuple(names[int(self.offsets.ids[place])] for place in kept),
            self.offsets.directions[kept],
            self.offsets.counts[kept],
            self.offsets.gamma,
            self.offsets.center,
        )


def fields_of(items: Sequence[StoredItem]) -> dict[str, list[Any]]:
    """Return the cells of rows, column by column, for searches that are filtered."""
    names = dict.fromkeys(name for item in items for name in item.row if name != "image")
    return {name: [_value(item.row.get(name)) for item in items] for name in names}


def _value(cell: Any) -> Any:
    return cell if isinstance(cell, str | int | float | bool) else None


@dataclass(frozen=True, eq=False)
class Live:
    """A version and the items it compares; whoever has begun with it goes on with it."""

    served: Served
    what: Version
    catalogue: Catalogue

    @property
    def version(self) -> int:
        """Number of the version."""
        return self.what.number

    @property
    def similarity(self) -> Similarity:
        """What compares queries with items as `moved` returns them."""
        return self.what.similarity

    @cached_property
    def item_rows(self) -> np.ndarray:
        """All items as they are compared, moved by their offsets."""
        if self.what.offsets is None:
            return self.catalogue.rows
        return self.what.moved(self.catalogue.list)

    def query_row(self, asked: Query) -> np.ndarray:
        """Return the numbers of a query, one row."""
        served = self.served
        if asked.id is not None:
            if not self.items_are_queries:
                raise WrongRequestError("queries of this model are not items: give a vector.")
            return self.catalogue.item(asked.id).vector[None]
        if asked.text is not None:
            row = served.query_of_text(asked.text)[None]
        else:
            row = np.array([asked.vector], dtype=np.float32)
            width = served.n_query_features or self.n_item_features
            if row.shape[1] != width:
                raise WrongRequestError(
                    f"vector has {row.shape[1]} numbers, but the model takes queries of {width}."
                )
        try:
            checked: np.ndarray = self.similarity.check_queries(row, "vector")
        except ValueError as error:
            raise WrongRequestError(str(error)) from error
        return checked

    @property
    def n_item_features(self) -> int | None:
        """Width of the items."""
        if self.served.n_item_features is not None:
            return self.served.n_item_features
        return len(self.catalogue.list[0].vector) if len(self.catalogue) else None

    @property
    def items_are_queries(self) -> bool:
        """Whether an item can be a query."""
        if self.served.query_columns is not None:
            return False
        width = self.served.n_query_features
        return width is None or width == self.n_item_features

    def scores(self, rows: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Score rows of queries with rows of items as they are compared."""
        return self.similarity.score(rows, items)

    def explain(self, row: np.ndarray, item: StoredItem, top: int) -> Any:
        """Say which features made a score."""
        moved = self.what.moved([item])
        names = (
            self.served.names_of_features(row.shape[1], of_queries=True),
            self.served.names_of_features(moved.shape[1], of_queries=False),
        )
        return self.similarity.explain(row, moved, *names, top)
