"""Items, journal, checkpoints and versions in a database: what all databases have in common.

Numbers are counted up in the table ``counter``, within the transaction that uses them: whoever
writes waits there for whoever writes already, so that numbers become visible in their order.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, astuple
from time import time
from typing import Any

import numpy as np

from likewise.server._records import (
    Checkpoint,
    Entry,
    ItemId,
    KeyTakenError,
    NotPossibleError,
    NotThereError,
    Pulse,
    StoredItem,
    Verdict,
    VersionInfo,
)

NewItem = tuple[ItemId, np.ndarray, dict[str, Any]]

_KEPT_CANDIDATES = 20  # of versions that were never live, whose numbers are kept
_ENTRY = "number, first, body, undoes, key, at"
_AT_A_TIME = 500


class Store(ABC):
    """A database; a subclass says how to reach it. All methods may be called from any thread."""

    kind: str

    @abstractmethod
    def _transaction(self, *, reads: bool = False) -> AbstractContextManager[Any]:
        """Hold the connection, and write all or nothing: durable when the block has ended.

        One that only `reads` waits for nobody, and sees one moment. Inside another it is a part
        of that.
        """

    @abstractmethod
    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with ``?`` for its values; return the rows it gives, if any."""

    @abstractmethod
    def _run_many(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of many tuples of values."""

    @abstractmethod
    def _packed(self, vector: np.ndarray) -> Any:
        """Return a vector as the database takes it."""

    @abstractmethod
    def _unpacked(self, stored: Any) -> np.ndarray:
        """Return a vector that the database gave, as float32."""

    @abstractmethod
    def try_to_lead(self) -> bool:
        """Become the one learner on this store, until `close` or the end of the process."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    # What the store is about.

    def note(self, name: str) -> str | None:
        """Return what was written down under a name."""
        with self._transaction(reads=True):
            return self._note(name)

    def begin(self, notes: dict[str, str], similarity: bytes, start: bytes | None) -> None:
        """Write down, the first time, what is served: its first version, and a learner's start."""
        with self._transaction():
            self._count("version", 0)  # waits for whoever begins at the same time
            if self._note("live") is not None:
                return
            for name, value in {**notes, "live": "1", "gate": "open"}.items():
                self._set_note(name, value)
            self._add_version("file", 0, similarity, None, held=False, promoted=True)
            if start is not None:
                self._set_checkpoint("start", Checkpoint(0, 0, 0, 0, start))

    # Items.

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

    # The journal.

    def known_answer(self, key: str, digest: str) -> int | None:
        """Return how many comparisons were accepted under a key; None where it is new."""
        with self._transaction(reads=True):
            return self._known_answer(key, digest)

    def append(self, key: str, digest: str, triplets: Sequence[Sequence[Any]]) -> int:
        """Write comparisons down for good, or find them there already; return how many they are."""
        with self._transaction():
            number = self._count("entry", 1)  # from here on nobody else writes
            known = self._known_answer(key, digest)
            if known is not None:
                self._count("entry", -1)
                return known
            size = len(triplets)
            first = self._count("position", size) - size
            self._add_entry(number, key, digest, first, size, json.dumps(triplets), None)
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

    def entries_at(self, first: int, last_entry: int) -> list[Entry]:
        """Return the entries with comparisons at positions from `first` on, up to an entry."""
        with self._transaction(reads=True):
            rows = self._run(
                f"select {_ENTRY} from entry where first + size > ? and number <= ? "
                "order by number",
                [first, last_entry],
            )
        return [_entry(row) for row in rows]

    def undone(self, last_entry: int) -> set[int]:
        """Return the numbers of the entries taken back by entries up to one."""
        with self._transaction(reads=True):
            rows = self._run(
                "select undoes from entry where undoes is not null and number <= ?", [last_entry]
            )
        return {number for (number,) in rows}

    # What was learned.

    def checkpoint(self, *, start: bool = False) -> Checkpoint | None:
        """Return the learner's last state, or its start; None where nothing can be learned."""
        with self._transaction(reads=True):
            rows = self._run(
                "select entry, position, asked, foretold, state from checkpoint "
                "where name = 'start' or name = ? order by entry desc limit 1",
                ["start" if start else "latest"],
            )
        if not rows:
            return None
        entry, position, asked, foretold, state = rows[0]
        return Checkpoint(entry, position, asked, foretold, bytes(state))

    def checkpoint_entry(self) -> int:
        """Return the last entry that the learner's last state knows."""
        with self._transaction(reads=True):
            ((entry,),) = self._run("select coalesce(max(entry), 0) from checkpoint")
        return int(entry)

    def keep(
        self,
        checkpoint: Checkpoint,
        progress: Sequence[tuple[int, int, int]] = (),
        candidate: tuple[bytes, Verdict] | None = None,
    ) -> bool:
        """Write a state and what came with it, at once.

        A candidate is written beside it, and promoted if its verdict says so and the gate is open.
        Where the version it was compared with is no longer live, nothing is written: False.
        """
        with self._transaction():
            if candidate is not None:
                self._count("version", 0)
                similarity, verdict = candidate
                if int(self._note("live") or 0) != verdict.live:
                    return False
                held = self._note("gate") == "held"
                number = self._add_version(
                    "learned",
                    checkpoint.position,
                    similarity,
                    verdict,
                    held=held and verdict.beats,
                    promoted=verdict.beats and not held,
                )
                if verdict.beats and not held:
                    self._set_note("live", str(number))
            self._set_checkpoint("latest", checkpoint)
            self._run_many(
                "insert into progress (position, asked, foretold) values (?, ?, ?) "
                "on conflict (position) do nothing",
                progress,
            )
            return True

    def progress(self) -> list[tuple[int, int, int]]:
        """Return positions with how many comparisons were foretold up to there, and rightly."""
        with self._transaction(reads=True):
            rows = self._run("select position, asked, foretold from progress order by position")
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    # Versions.

    def versions(self) -> list[VersionInfo]:
        """Return all versions, the newest first."""
        with self._transaction(reads=True):
            rows = self._run(
                "select number, origin, position, created, promoted, held, verdict, "
                "similarity is not null from version order by number desc"
            )
        return [_version(*row) for row in rows]

    def similarity(self, version: int) -> bytes:
        """Return a version's numbers, as a model file holds them."""
        with self._transaction(reads=True):
            return self._similarity(version)

    def make_live(self, version: int, *, back: bool) -> None:
        """Let a version answer from now on; going `back` holds the gate, promoting opens it."""
        with self._transaction():
            self._count("version", 0)
            self._similarity(version)
            ((promoted,),) = self._run("select promoted from version where number = ?", [version])
            if back and promoted is None:
                raise NotPossibleError(f"version {version} was never live: promote it instead.")
            self._run("update version set promoted = ? where number = ?", [time(), version])
            self._set_note("live", str(version))
            self._set_note("gate", "held" if back else "open")

    def pulse(self) -> Pulse:
        """Return what changes, all at one moment."""
        with self._transaction(reads=True):
            notes = dict(self._run("select name, value from note where name in ('live', 'gate')"))
            counts = dict(self._run("select name, value from counter"))
            ((applied,),) = self._run("select coalesce(max(position), 0) from checkpoint")
        return Pulse(
            int(notes.get("live", 0)),
            notes.get("gate") == "held",
            int(counts["item"]),
            int(counts["position"]),
            int(applied),
        )

    # Within a transaction.

    def _count(self, name: str, by: int) -> int:
        rows = self._run(
            "update counter set value = value + ? where name = ? returning value", [by, name]
        )
        return int(rows[0][0])

    def _note(self, name: str) -> str | None:
        rows = self._run("select value from note where name = ?", [name])
        return str(rows[0][0]) if rows else None

    def _set_note(self, name: str, value: str) -> None:
        self._run(
            "insert into note (name, value) values (?, ?) "
            "on conflict (name) do update set value = excluded.value",
            [name, value],
        )

    def _set_checkpoint(self, name: str, checkpoint: Checkpoint) -> None:
        self._run("delete from checkpoint where name = ?", [name])
        self._run(
            "insert into checkpoint (name, entry, position, asked, foretold, state) "
            "values (?, ?, ?, ?, ?, ?)",
            [name, *astuple(checkpoint)],
        )

    def _current(self, names: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for rows in self._in_parts("select id from item where retired is null and id", names):
            found.update(name for (name,) in rows)
        return found

    def _retire(self, changes: Iterable[tuple[int, str]]) -> None:
        self._run_many("update item set retired = ? where retired is null and id = ?", changes)

    def _in_parts(self, sql: str, values: Sequence[Any]) -> Iterable[list[tuple[Any, ...]]]:
        """Run a query that ends in a column for parts of the values that column may have."""
        values = list(dict.fromkeys(values))
        with self._transaction(reads=True):
            for start in range(0, len(values), _AT_A_TIME):
                part = values[start : start + _AT_A_TIME]
                yield self._run(f"{sql} in ({', '.join('?' * len(part))})", part)

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

    def _add_version(
        self,
        origin: str,
        position: int,
        similarity: bytes,
        verdict: Verdict | None,
        *,
        held: bool,
        promoted: bool,
    ) -> int:
        number, now = self._count("version", 1), time()
        self._run(
            "insert into version "
            "(number, origin, position, created, promoted, held, verdict, similarity) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                number,
                origin,
                position,
                now,
                now if promoted else None,
                int(held),
                None if verdict is None else json.dumps(asdict(verdict)),
                similarity,
            ],
        )
        self._run(
            "update version set similarity = null where promoted is null and number <= ?",
            [number - _KEPT_CANDIDATES],
        )
        return number

    def _similarity(self, version: int) -> bytes:
        rows = self._run("select similarity from version where number = ?", [version])
        if not rows:
            raise NotThereError(f"there is no version {version}.")
        if rows[0][0] is None:
            raise NotPossibleError(
                f"version {version} was never live, and too many came after it: it was let go."
            )
        return bytes(rows[0][0])


def _entry(row: tuple[Any, ...]) -> Entry:
    number, first, body, undoes, key, at = row
    triplets = tuple((q, c, f, w) for q, c, f, w in json.loads(body))
    return Entry(number, first, triplets, undoes, key, at)


def _version(
    number: int,
    origin: str,
    position: int,
    created: float,
    promoted: float | None,
    held: int,
    verdict: str | None,
    available: Any,
) -> VersionInfo:
    judged = None if verdict is None else Verdict(**json.loads(verdict))
    return VersionInfo(
        number, origin, position, created, promoted, bool(held), judged, bool(available)
    )
