"""The journal of a store: feedback in order of arrival."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from time import time
from typing import Any

import numpy as np

from likewise.server.store._database import Database
from likewise.server.store._records import AlreadyExists, Entry, NotFound, Page

_QUERY = "query"  # in a body, the number of a query vector is {"query": number}


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
            size = sum(page.n_comparisons for page in pages)
            first = self._increment("position", size) - size
            body = self._with_numbers(number, json.loads(encode_pages(pages)))
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

    def undone(self, last_entry: int) -> set[int]:
        """Return the numbers of the entries undone by entries up to a number."""
        with self._transaction(read_only=True):
            rows = self._execute(
                "select undoes from entry where undoes is not null and number <= ?", [last_entry]
            )
        return {number for (number,) in rows}

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
        rows = self._execute("select digest, size from entry where key = ?", [key])
        if not rows:
            return None
        if rows[0][0] not in ("", digest):  # that of an erased entry is empty
            raise AlreadyExists(f"the key {key!r} was used before with other feedback.")
        return int(rows[0][1])

    def _add_entry(self, *values: int | str | None) -> None:
        """Write the number, key, digest, first position, size, body, undone entry and user."""
        self._execute(
            "insert into entry (number, key, digest, first, size, body, undoes, person, at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*values, time()],
        )

    def _with_numbers(self, entry: int, body: list[Any]) -> str:
        """Return a body with numbers instead of query vectors, which are stored unless they are."""
        vectors = {_digest(query): query for query, *_ in body if isinstance(query, list)}
        if not vectors:
            return json.dumps(body)
        known = {
            digest: int(number)
            for digest, number in self._select_in(
                "select digest, number from query where digest", list(vectors)
            )
        }
        new = [digest for digest in vectors if digest not in known]
        first = self._increment("query", len(new)) - len(new) + 1
        known |= {digest: first + place for place, digest in enumerate(new)}
        self._execute_many(
            "insert into query (number, digest, vector) values (?, ?, ?)",
            [(known[digest], digest, _to_bytes(vectors[digest])) for digest in new],
        )
        self._execute_many(
            "insert into entry_query (entry, query) values (?, ?)",
            [(entry, known[digest]) for digest in vectors],
        )
        return json.dumps(
            [
                [{_QUERY: known[_digest(query)]} if isinstance(query, list) else query, *rest]
                for query, *rest in body
            ]
        )

    def _query_vectors(self, numbers: Iterable[int]) -> dict[int, list[float]]:
        rows = self._select_in("select number, vector from query where number", list(numbers))
        return {
            int(number): np.frombuffer(bytes(vector), dtype="<f8").tolist()
            for number, vector in rows
        }


def encode_pages(pages: Sequence[Page]) -> str:
    """Return pages as the body of an entry, with the vectors of queries."""
    return json.dumps([(page.query, page.shown, page.chosen) for page in pages])


def _decode_pages(body: list[Any], vectors: dict[int, list[float]]) -> tuple[Page, ...]:
    return tuple(
        Page(
            vectors[query[_QUERY]] if isinstance(query, dict) else query,
            tuple(shown),
            tuple(chosen),
        )
        for query, shown, chosen in body
    )


def _to_bytes(vector: list[float]) -> bytes:
    return np.asarray(vector, dtype="<f8").tobytes()


def _digest(vector: list[float]) -> str:
    return sha256(_to_bytes(vector)).hexdigest()
