"""The items of a store: each state of one is a revision, which never changes."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from likewise.server.store._database import Database
from likewise.server.store._records import ItemId, KeyTakenError, NotThereError, StoredItem

NewItem = tuple[ItemId, np.ndarray, dict[str, Any]]


class Items(Database):
    """What is searched."""

    def put_items(
        self,
        items: Sequence[NewItem],
        *,
        add: bool = True,
        replace: bool = True,
        digest: str | None = None,
    ) -> int:
        """Write items; return how many were changed.

        With `add` false all must be there, with `replace` false none may be. `digest` names the
        file they come from, and a file that was the last one read is not read again.
        """
        with self._transaction():
            self._count("item", 0)  # from here on nobody else writes
            if digest is not None:
                if self._note("items") == digest:
                    return 0
                self._set_note("items", digest)
            last = self._count("item", len(items))
            there = self._current([str(item[0]) for item in items])
            for name, given in ((n, n in there) for n in (str(item[0]) for item in items)):
                if given and not replace:
                    raise KeyTakenError(f"there is an item {name!r} already: PUT replaces it.")
                if not given and not add:
                    raise NotThereError(f"there is no item {name!r}: POST adds it.")
            revisions = range(last - len(items) + 1, last + 1)
            self._retire(
                (revision, str(item[0]))
                for revision, item in zip(revisions, items, strict=True)
                if str(item[0]) in there
            )
            self._run_many(
                "insert into item (revision, id, shown, vector, cells) values (?, ?, ?, ?, ?)",
                (
                    (revision, str(name), json.dumps(name), self._packed(vector), json.dumps(row))
                    for revision, (name, vector, row) in zip(revisions, items, strict=True)
                ),
            )
            return len(items)

    def remove_item(self, name: ItemId) -> None:
        """Take an item out; feedback about it stays."""
        with self._transaction():
            change = self._count("item", 1)
            if not self._current([str(name)]):
                raise NotThereError(f"there is no item {name!r}.")
            self._retire([(change, str(name))])

    def items_since(self, change: int) -> tuple[list[StoredItem], list[int], int]:
        """Return items that came after a change, revisions that went, and the last change."""
        with self._transaction(reads=True):
            came = self._run(
                "select revision, shown, vector, cells from item "
                "where revision > ? and retired is null order by revision",
                [change],
            )
            went = self._run(
                "select revision from item where retired > ? and revision <= ?", [change, change]
            )
            ((last,),) = self._run("select value from counter where name = 'item'")
        items = [
            StoredItem(revision, json.loads(shown), self._unpacked(vector), json.loads(cells))
            for revision, shown, vector, cells in came
        ]
        return items, [revision for (revision,) in went], int(last)

    def vectors(self, revisions: Sequence[int]) -> dict[int, np.ndarray]:
        """Return the vectors of revisions, also of those that were replaced or removed."""
        found: dict[int, np.ndarray] = {}
        for rows in self._in_parts("select revision, vector from item where revision", revisions):
            found.update({revision: self._unpacked(vector) for revision, vector in rows})
        return found

    def names(self, revisions: Sequence[int]) -> dict[int, ItemId]:
        """Return the ids of revisions."""
        found: dict[int, ItemId] = {}
        for rows in self._in_parts("select revision, shown from item where revision", revisions):
            found.update({revision: json.loads(shown) for revision, shown in rows})
        return found

    def _current(self, names: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for rows in self._in_parts("select id from item where retired is null and id", names):
            found.update(name for (name,) in rows)
        return found

    def _retire(self, changes: Iterable[tuple[int, str]]) -> None:
        self._run_many("update item set retired = ? where retired is null and id = ?", changes)
