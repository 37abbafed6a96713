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
from likewise.server._lexical import LexicalIndex
from likewise.server._model import ServedModel
from likewise.server.api._schemas import QueryValue
from likewise.server.store import InvalidRequest, ItemId, NotFound, StoredItem, VersionFiles
from likewise.similarities import Explanation, ItemOffsets, Similarity, Term

_MAX_WITH_WORDS = 10_000


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
    weight : float
        Weight of the lexical score.
    """

    number: int
    similarity: Similarity
    offsets: ItemOffsets | None
    weight: float = 0.0

    @classmethod
    def from_files(cls, number: int, files: VersionFiles) -> "Version":
        """Return a version from its model files."""
        offsets = None if files.offsets is None else from_bytes(files.offsets)
        return cls(number, from_bytes(files.similarity), offsets, files.weight)

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
    lexical : LexicalIndex, optional
        The words of the items, which may lag behind the catalog.
    """

    model: ServedModel
    version: Version
    catalog: Catalog
    built_index: IndexSnapshot | None = None
    lexical: LexicalIndex | None = None

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

    def query_row(self, query: QueryValue) -> np.ndarray:
        """Return the vector of a query, as one row."""
        if query.id is not None:
            self.check_id_queries()
            return self.catalog.item(query.id).vector[None]
        if query.text is not None:
            row = self.model.vectorize_texts([query.text])
        else:
            row = np.array([query.vector], dtype=np.float32)
        return self.check_query(row)

    def check_id_queries(self) -> None:
        """Raise an error if items cannot be queries."""
        if not self.items_are_queries:
            raise InvalidRequest(
                "queries of this model are not items: query must be a vector or a text."
            )

    def check_query(self, row: np.ndarray) -> np.ndarray:
        """Return a query, given as one row, as the similarity takes it."""
        width = self.model.n_query_features or self.n_item_features
        if width is not None and row.shape[1] != width:
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

    def query_text(self, query: QueryValue) -> str | None:
        """Return the text by which items get a lexical score; None where there is none."""
        if self.lexical is None or self.version.weight == 0 or query.vector is not None:
            return None
        if query.text is not None:
            return query.text
        assert query.id is not None
        return self.model.item_text(self.catalog.item(query.id).row)

    def search(
        self,
        row: np.ndarray,
        k: int,
        where: dict[str, Any] | None,
        own: ItemId | None = None,
        text: str | None = None,
    ) -> list[tuple[StoredItem, float]]:
        """Return the `k` best items of a query and their scores, without the query's own item."""
        if not len(self.catalog):
            return []
        n = k if own is None else k + 1
        try:
            matches = self.index.search(row, min(n, len(self.catalog)), where).row(0)
        except ValueError as error:  # an unknown column in `where`, or scores that overflow
            raise InvalidRequest(str(error)) from error
        if text is not None:
            matches = self._mixed(row, [name for name, _ in matches], where, text)
        own_name, by_id = str(own), self.catalog.by_id
        others = [match for match in matches if own is None or match[0] != own_name]
        return [(by_id[name], score) for name, score in others[:k]]

    def _mixed(
        self, row: np.ndarray, names: list[str], where: dict[str, Any] | None, text: str
    ) -> list[tuple[str, float]]:
        """Return items by their similarity and lexical score, from the best items by similarity.

        An item without a word of the query is among the best only if it is among them by similarity
        alone. So it suffices to score those and the items that have a word of the query, of which
        the best 10,000 by their lexical scores are taken.
        """
        lexical, items = self._lexical_scores(text), self.catalog.items
        with_words = np.flatnonzero(lexical)
        if len(with_words) > _MAX_WITH_WORDS:
            order = np.argpartition(-lexical[with_words], _MAX_WITH_WORDS)
            with_words = with_words[order[:_MAX_WITH_WORDS]]
        if where:
            satisfying = [r for r in with_words.tolist() if _satisfies(items[r], where)]
            with_words = np.array(satisfying, dtype=np.int64)
        found = np.array([self.catalog.row_numbers[name] for name in names], dtype=np.int64)
        rows = np.union1d(found, with_words)
        scores = self._mixed_scores(row, rows, lexical)
        best = np.argsort(-scores, kind="stable")[: len(names)]
        return [
            (str(items[at].id), score)
            for at, score in zip(rows[best].tolist(), scores[best].tolist(), strict=True)
        ]

    def scores(self, row: np.ndarray, rows: np.ndarray, text: str | None) -> np.ndarray:
        """Return the scores of some items, by their rows in the catalog."""
        lexical = None if text is None else self._lexical_scores(text)
        return self._mixed_scores(row, rows, lexical)

    def _mixed_scores(
        self, row: np.ndarray, rows: np.ndarray, lexical: np.ndarray | None
    ) -> np.ndarray:
        # In double precision, as the index scores its best items.
        P = self.item_rows[rows].astype(np.float64)
        scores: np.ndarray = self.similarity.score(row.astype(np.float64), P)[0]
        return scores if lexical is None else scores + self.version.weight * lexical[rows]

    def _lexical_scores(self, text: str) -> np.ndarray:
        """Return the lexical scores of all items."""
        assert self.lexical is not None
        scores, rows = self.lexical.scores(text), self._lexical_rows
        if not len(scores):
            return np.zeros(len(rows))
        return np.where(rows >= 0, scores[rows], 0.0)

    @cached_property
    def _lexical_rows(self) -> np.ndarray:
        assert self.lexical is not None
        return self.lexical.rows(item.revision for item in self.catalog.items)

    def explain(self, row: np.ndarray, item: StoredItem, top: int, text: str | None) -> Explanation:
        """Return the features that contribute most to a score, and the words of a text."""
        item_row = self.version.item_rows([item])
        own = self._column_names(item) if self.items_are_queries else None
        names = (
            self.model.feature_names(row.shape[1], of_queries=True) or own,
            self.model.feature_names(item_row.shape[1], of_queries=False) or own,
        )
        explanation: Explanation = self.similarity.explain(row, item_row, *names, top)
        if text is None or self.lexical is None:
            return explanation
        name = f"words of {self.model.encoded_column}"
        added = self.version.weight * self.lexical.scores_of(text, [item.revision])[0]
        terms = sorted([*explanation, Term(name, name, added)], key=lambda t: -abs(t.contribution))
        left_out = sum(term.contribution for term in terms[top:])
        return Explanation(
            explanation.score + added, tuple(terms[:top]), explanation.rest + left_out
        )

    def _column_names(self, item: StoredItem) -> list[str] | None:
        """Return the columns of an item's numbers, if these are its features."""
        names = [
            name
            for name, cell in item.row.items()
            if isinstance(cell, int | float) and not isinstance(cell, bool)
        ]
        names = [name for name in names if name != self.model.label]
        return names if len(names) == len(item.vector) else None


def _satisfies(item: StoredItem, where: dict[str, Any]) -> bool:
    """Tell whether an item has one of the wanted values in every column."""
    for name, wanted in where.items():
        cell = _scalar(item.row.get(name))
        values = wanted if isinstance(wanted, list) else [wanted]
        if not any(cell == v and isinstance(cell, bool) == isinstance(v, bool) for v in values):
            return False
    return True
