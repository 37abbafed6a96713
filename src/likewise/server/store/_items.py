"""The items of a store: every change of an item creates an immutable revision."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from likewise.server.store._database import Database
from likewise.server.store._records import AlreadyExists, ItemId, NotFound, StoredItem

NewItem = tuple[ItemId, np.ndarray, dict[str, Any]]


class Items(Database):
    """The table of items."""

    def put_items(
        self,
        items: Sequence[NewItem],
        *,
        add: bool = True,
        replace: bool = True,
        digest: str | None = None,
    ) -> int:
        """Write items and return the number of changed items.

        Without `add` all must exist, without `replace` none may exist. `digest` identifies the file
        that they come from; the file that was imported last is skipped, and the note
        "first_imported" has the first revision of its items.
        """
        with self._transaction():
            self._increment("item", 0)  # locks out other writers
            if digest is not None:
                if self._note("items") == digest:
                    return 0
                self._set_note("items", digest)
            last = self._increment("item", len(items))
            if digest is not None:
                self._set_note("first_imported", str(last - len(items) + 1))
            ids = [str(item[0]) for item in items]
            existing = self._existing(ids)
            for name in ids:
                if name in existing and not replace:
                    raise AlreadyExists(f"item {name!r} already exists: PUT replaces it.")
                if name not in existing and not add:
                    raise NotFound(f"there is no item {name!r}: POST adds it.")
            revisions = range(last - len(items) + 1, last + 1)
            self._retire((r, n) for r, n in zip(revisions, ids, strict=True) if n in existing)
            self._execute_many(
                "insert into item (revision, id, shown, vector, cells) values (?, ?, ?, ?, ?)",
                (
                    (
                        revision,
                        str(name),
                        json.dumps(name),
                        self._encode_vector(vector),
                        json.dumps(row),
                    )
                    for revision, (name, vector, row) in zip(revisions, items, strict=True)
                ),
            )
            return len(items)

    def remove_item(self, name: ItemId) -> None:
        """Remove an item; feedback about it is kept."""
        with self._transaction():
            change = self._increment("item", 1)
            if not self._existing([str(name)]):
                raise NotFound(f"there is no item {name!r}.")
            self._retire([(change, str(name))])

    def items_since(self, change: int) -> tuple[list[StoredItem], list[int], int]:
        """Return the items added after a change, the revisions retired, and the last change."""
        with self._transaction(read_only=True):
            added = self._execute(
                "select revision, shown, vector, cells from item "
                "where revision > ? and retired is null order by revision",
                [change],
            )
            retired = self._execute(
                "select revision from item where retired > ? and revision <= ?", [change, change]
            )
            ((last,),) = self._execute("select value from counter where name = 'item'")
        items = [
            StoredItem(revision, json.loads(name), self._decode_vector(vector), _read_row(cells))
            for revision, name, vector, cells in added
        ]
        return items, [revision for (revision,) in retired], int(last)

    def vectors(self, revisions: Sequence[int]) -> dict[int, np.ndarray]:
        """Return the vectors of revisions, including retired ones."""
        sql = "select revision, vector from item where revision"
        return {r: self._decode_vector(vector) for r, vector in self._select_in(sql, revisions)}

    def item_ids(self, revisions: Sequence[int]) -> dict[int, ItemId]:
        """Return the item ids of revisions."""
        sql = "select revision, shown from item where revision"
        return {revision: json.loads(name) for revision, name in self._select_in(sql, revisions)}

    def _existing(self, ids: Sequence[str]) -> set[str]:
        sql = "select id from item where retired is null and id"
        return {name for (name,) in self._select_in(sql, ids)}

    def _retire(self, changes: Iterable[tuple[int, str]]) -> None:
        self._execute_many("update item set retired = ? where retired is null and id = ?", changes)


def _read_row(cells: str) -> dict[str, Any]:
    """Return a row; NaN and infinity, which earlier releases stored, are missing."""
    row: dict[str, Any] = json.loads(cells, parse_constant=lambda constant: None)
    return row
