"""The journal of a store: feedback in order of arrival."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from time import time
from typing import Any

import numpy as np

from likewise.server.store._database import Database
from likewise.server.store._records import AlreadyExists, Entry, NotFound, Page, TextQuery

_QUERY = "query"  # in a body, the number of a query vector is {"query": number}
_MORE = ("model", "lexical")  # parts of a page that most pages do not have, as a fourth part


class Journal(Database):
    """The tables of feedback entries and of their query vectors, each of which is stored once."""

    def accepted_count(self, key: str, digest: str) -> int | None:
        """Return the number of comparisons accepted under a key; None if the key is new."""
        with self._transaction(read_only=True):
            return self._accepted_count(key, digest)

    def append(self, key: str, digest: str, pages: Sequence[Page], user: str | None = None) -> int:
        """Write pages once for each key, and return the number of their comparisons."""
        with self._transaction():
            number = self._increment("entry", 1)  # locks out other writers
            known = self._accepted_count(key, digest)
            if known is not None:
                self._increment("entry", -1)
                return known
            size = sum(page.n_judgments for page in pages)
            first = self._increment("position", size) - size
            body = self._with_numbers(number, [_encode_page(page) for page in pages])
            self._add_entry(number, key, digest, first, size, body, None, user)
            return size

    def undo(self, key: str) -> int:
        """Undo the feedback under a key, and return the number of its comparisons."""
        with self._transaction():
            self._increment("entry", 0)
            rows = self._execute(
                "select number, size from entry where key = ? and undoes is null", [key]
            )
            if not rows:
                raise NotFound(f"there is no feedback with the key {key!r}.")
            self._undo(rows)
            return int(rows[0][1])

    def forget(self, user: str) -> int:
        """Undo all feedback of a user, and return the number of its comparisons."""
        with self._transaction():
            self._increment("entry", 0)
            rows = self._execute(
                "select number, size from entry where person = ? order by number", [user]
            )
            if not rows:
                raise NotFound(f"there is no feedback of the user {user!r}.")
            self._undo(rows)
            return sum(int(size) for _, size in rows)

    def _undo(self, rows: Sequence[Sequence[Any]]) -> None:
        """Undo entries, given by their numbers and sizes, unless they are undone."""
        for target, _ in rows:
            if not self._execute("select 1 from entry where undoes = ?", [target]):
                number, first = self._increment("entry", 1), self._increment("position", 0)
                self._add_entry(number, f" undo {target}", "", first, 0, "[]", target, None)

    def last_entry(self) -> int:
        """Return the number of the last entry; 0 if there is none."""
        with self._transaction(read_only=True):
            ((number,),) = self._execute("select coalesce(max(number), 0) from entry")
        return int(number)

    def n_undone(self, after: int = 0) -> int:
        """Return the number of judgments after a position that were undone."""
        with self._transaction(read_only=True):
            ((size,),) = self._execute(
                "select coalesce(sum(size), 0) from entry where first >= ? and number in "
                "(select undoes from entry where undoes is not null)",
                [after],
            )
        return int(size)

    def entries(self, after: int, limit: int = 256) -> list[Entry]:
        """Return the entries after a number, in order."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select number, first, size, body, undoes, key, at from entry "
                "where number > ? order by number limit ?",
                [after, limit],
            )
            bodies = {row[0]: json.loads(row[3]) for row in rows}
            vectors = self._query_vectors(
                query[_QUERY]
                for body in bodies.values()
                for query, *_ in body
                if isinstance(query, dict)
            )
        return [
            Entry(number, first, size, _decode_pages(bodies[number], vectors), undoes, key, at)
            for number, first, size, _, undoes, key, at in rows
        ]

    def first_entry_since(self, at: float) -> int:
        """Return the number before the first entry at or after a time."""
        with self._transaction(read_only=True):
            ((number,),) = self._execute(
                "select coalesce(min(number), 1 + (select max(number) from entry)) from entry "
                "where at >= ?",
                [at],
            )
        return int(number or 1) - 1

    def undone(self, last_entry: int) -> set[int]:
        """Return the numbers of the entries undone by entries up to a number."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select undoes from entry where undoes is not null and number <= ?", [last_entry]
            )
        return {number for (number,) in rows}

    def erase_undone(self) -> None:
        """Erase all undone entries, in a store without a learner that must consume the undos."""
        with self._transaction():
            self._erase_undone(self._increment("entry", 0))

    def _erase_undone(self, last_entry: int) -> None:
        """Erase the entries undone by entries up to a number.

        Their numbers, keys and positions stay, and nothing of what they said.
        """
        rows = self._execute(
            "select number from entry where body <> '[]' and number in "
            "(select undoes from entry where undoes is not null and number <= ?)",
            [last_entry],
        )
        for (number,) in rows:
            queries = self._execute("select query from entry_query where entry = ?", [number])
            self._execute("delete from entry_query where entry = ?", [number])
            for (query,) in queries:
                self._execute(
                    "delete from query where number = ? and not exists "
                    "(select 1 from entry_query where query = ?)",
                    [query, query],
                )
            self._execute(
                "update entry set body = '[]', digest = '', person = null where number = ?",
                [number],
            )

    def _accepted_count(self, key: str, digest: str) -> int | None:
        rows = self._execute("select number, digest, size from entry where key = ?", [key])
        if not rows:
            return None
        ((number, known, size),) = rows
        if self._execute("select 1 from entry where undoes = ?", [number]):
            raise AlreadyExists(
                f"the feedback with the key {key!r} was undone: repeat it with another key."
            )
        if known != digest:
            raise AlreadyExists(f"the key {key!r} was used before with other feedback.")
        return int(size)

    def _add_entry(self, *values: int | str | None) -> None:
        """Write the number, key, digest, first position, size, body, undone entry and user."""
        self._execute(
            "insert into entry (number, key, digest, first, size, body, undoes, person, at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*values, time()],
        )

    def _with_numbers(self, entry: int, body: Sequence[Sequence[Any]]) -> str:
        """Return a body with numbers instead of query vectors, which are stored unless they are."""
        named = {
            digest: vector
            for query, *_ in body
            if not isinstance(query, int)
            for digest, vector in (_named(query),)
        }
        known = {
            digest: int(number)
            for digest, number in self._select_in(
                "select digest, number from query where digest", list(named)
            )
        }
        new = [digest for digest in named if digest not in known]
        if new:
            first = self._increment("query", len(new)) - len(new) + 1
            known |= {digest: first + place for place, digest in enumerate(new)}
        self._execute_many(
            "insert into query (number, digest, vector) values (?, ?, ?)",
            [(known[digest], digest, _to_bytes(named[digest])) for digest in new],
        )
        self._execute_many(
            "insert into entry_query (entry, query) values (?, ?)",
            [(entry, known[digest]) for digest in named],
        )
        return json.dumps(
            [
                [query if isinstance(query, int) else {_QUERY: known[_named(query)[0]]}, *rest]
                for query, *rest in body
            ]
        )

    def _query_vectors(self, numbers: Iterable[int]) -> dict[int, list[float]]:
        rows = self._select_in("select number, vector from query where number", list(numbers))
        return {
            int(number): np.frombuffer(bytes(vector), dtype="<f8").tolist()
            for number, vector in rows
        }


def _encode_page(page: Page) -> list[Any]:
    """Return a page as a body has it, except that its query is not a number yet."""
    more = {name: value for name in _MORE if (value := getattr(page, name)) is not None}
    return [page.query, page.shown, page.chosen, *([more] if more else [])]


def _decode_pages(body: list[Any], vectors: dict[int, list[float]]) -> tuple[Page, ...]:
    pages = []
    for query, shown, chosen, *more in body:
        vector_or_revision = vectors[query[_QUERY]] if isinstance(query, dict) else query
        others = more[0] if more else {}
        model, lexical = others.get("model"), others.get("lexical")
        scores = None if lexical is None else tuple(lexical)
        pages.append(Page(vector_or_revision, tuple(shown), tuple(chosen), model, scores))
    return tuple(pages)


def _to_bytes(vector: list[float]) -> bytes:
    return np.asarray(vector, dtype="<f8").tobytes()


def _named(query: list[float] | TextQuery) -> tuple[str, list[float]]:
    """Return the digest under which a query is stored, and its vector."""
    if isinstance(query, TextQuery):
        return query.digest, query.vector
    return sha256(_to_bytes(query)).hexdigest(), query
