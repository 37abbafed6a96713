"""The journal of a store: feedback as it came, in the order in which it came."""

import json
from collections.abc import Sequence
from time import time
from typing import Any

from likewise.server.store._database import Database
from likewise.server.store._records import Entry, KeyTakenError, NotThereError, Page

_ENTRY = "number, first, body, undoes, key, at"


class Journal(Database):
    """What was said, and what was taken back."""

    def known_answer(self, key: str, digest: str) -> int | None:
        """Return how many comparisons were accepted under a key; None where it is new."""
        with self._transaction(reads=True):
            return self._known_answer(key, digest)

    def append(self, key: str, digest: str, pages: Sequence[Page]) -> int:
        """Write pages down for good, or find them there already; return their comparisons."""
        with self._transaction():
            number = self._count("entry", 1)  # from here on nobody else writes
            known = self._known_answer(key, digest)
            if known is not None:
                self._count("entry", -1)
                return known
            size = sum(page.n_comparisons for page in pages)
            first = self._count("position", size) - size
            self._add_entry(number, key, digest, first, size, body_of(pages), None)
            return size

    def undo(self, key: str) -> int:
        """Take back what came under a key; return how many comparisons those are."""
        with self._transaction():
            number = self._count("entry", 1)
            found = self._run(
                "select number, size from entry where key = ? and undoes is null", [key]
            )
            if not found:
                raise NotThereError(f"no feedback came under the key {key!r}.")
            ((target, size),) = found
            if self._run("select 1 from entry where undoes = ?", [target]):
                self._count("entry", -1)
                return int(size)
            first = self._count("position", 0)
            self._add_entry(number, f" undo {target}", "", first, 0, "[]", target)
            return int(size)

    def entries(self, after: int, most: int = 256) -> list[Entry]:
        """Return the entries that follow one, in their order."""
        with self._transaction(reads=True):
            rows = self._run(
                f"select {_ENTRY} from entry where number > ? order by number limit ?",
                [after, most],
            )
        return [_entry(row) for row in rows]

    def undone(self, last_entry: int) -> set[int]:
        """Return the numbers of the entries taken back by entries up to one."""
        with self._transaction(reads=True):
            rows = self._run(
                "select undoes from entry where undoes is not null and number <= ?", [last_entry]
            )
        return {number for (number,) in rows}

    def _known_answer(self, key: str, digest: str) -> int | None:
        rows = self._run("select digest, size from entry where key = ?", [key])
        if not rows:
            return None
        if rows[0][0] != digest:
            raise KeyTakenError(f"other feedback came under the key {key!r} before.")
        return int(rows[0][1])

    def _add_entry(
        self,
        number: int,
        key: str,
        digest: str,
        first: int,
        size: int,
        body: str,
        undoes: int | None,
    ) -> None:
        self._run(
            "insert into entry (number, key, digest, first, size, body, undoes, at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            [number, key, digest, first, size, body, undoes, time()],
        )


def body_of(pages: Sequence[Page]) -> str:
    """Return pages as an entry keeps them."""
    return json.dumps([(page.query, page.shown, page.chosen) for page in pages])


def _entry(row: tuple[Any, ...]) -> Entry:
    number, first, body, undoes, key, at = row
    pages = tuple(Page(q, tuple(shown), tuple(chosen)) for q, shown, chosen in json.loads(body))
    return Entry(number, first, pages, undoes, key, at)
