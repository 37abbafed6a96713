"""The journal of a store: feedback in order of arrival."""

import json
from collections.abc import Sequence
from time import time

from likewise.server.store._database import Database
from likewise.server.store._records import AlreadyExists, Entry, NotFound, Page


class Journal(Database):
    """The table of feedback entries."""

    def accepted_count(self, key: str, digest: str) -> int | None:
        """Return the number of comparisons accepted under a key; None if the key is new."""
        with self._transaction(read_only=True):
            return self._accepted_count(key, digest)

    def append(self, key: str, digest: str, pages: Sequence[Page]) -> int:
        """Write pages once for each key, and return the number of their comparisons."""
        with self._transaction():
            number = self._increment("entry", 1)  # locks out other writers
            known = self._accepted_count(key, digest)
            if known is not None:
                self._increment("entry", -1)
                return known
            size = sum(page.n_comparisons for page in pages)
            first = self._increment("position", size) - size
            self._add_entry(number, key, digest, first, size, encode_pages(pages), None)
            return size

    def undo(self, key: str) -> int:
        """Undo the feedback under a key, and return the number of its comparisons."""
        with self._transaction():
            number = self._increment("entry", 1)
            rows = self._execute(
                "select number, size from entry where key = ? and undoes is null", [key]
            )
            if not rows:
                raise NotFound(f"there is no feedback with the key {key!r}.")
            ((target, size),) = rows
            if self._execute("select 1 from entry where undoes = ?", [target]):
                self._increment("entry", -1)
                return int(size)
            first = self._increment("position", 0)
            self._add_entry(number, f" undo {target}", "", first, 0, "[]", target)
            return int(size)

    def entries(self, after: int, limit: int = 256) -> list[Entry]:
        """Return the entries after a number, in order."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select number, first, body, undoes, key, at from entry "
                "where number > ? order by number limit ?",
                [after, limit],
            )
        return [_decode_entry(*row) for row in rows]

    def undone(self, last_entry: int) -> set[int]:
        """Return the numbers of the entries undone by entries up to a number."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select undoes from entry where undoes is not null and number <= ?", [last_entry]
            )
        return {number for (number,) in rows}

    def _accepted_count(self, key: str, digest: str) -> int | None:
        rows = self._execute("select digest, size from entry where key = ?", [key])
        if not rows:
            return None
        if rows[0][0] != digest:
            raise AlreadyExists(f"the key {key!r} was used before with other feedback.")
        return int(rows[0][1])

    def _add_entry(self, *values: int | str | None) -> None:
        """Write the number, key, digest, first position, size, body and undone entry."""
        self._execute(
            "insert into entry (number, key, digest, first, size, body, undoes, at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            [*values, time()],
        )


def encode_pages(pages: Sequence[Page]) -> str:
    """Return pages as the body of an entry."""
    return json.dumps([(page.query, page.shown, page.chosen) for page in pages])


def _decode_entry(
    number: int, first: int, body: str, undoes: int | None, key: str, at: float
) -> Entry:
    pages = (Page(query, tuple(shown), tuple(chosen)) for query, shown, chosen in json.loads(body))
    return Entry(number, first, tuple(pages), undoes, key, at)
