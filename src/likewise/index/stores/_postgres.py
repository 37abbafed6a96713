"""The store of items in a table of PostgreSQL, which several processes may share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from likewise import _files
from likewise.exceptions import ModelFileError, require_extra
from likewise.index._checks import check_items, refuse_known, refuse_unknown, stored_items_refused
from likewise.index._fold_plan import FoldPlan, fold_plan
from likewise.index._offsets import ActiveOffsets, Moved, check_offsets, fingerprint
from likewise.index.engines import ALL_METRICS, EngineOptions, as_float32
from likewise.index.stores._connections import Connections
from likewise.index.stores._table import Table, check_table_name
from likewise.index.stores._table_reader import MAX_EFFORT, TableReader
from likewise.similarities import ItemOffsets, Similarity, to_dense

_DEFAULT_EFFORT = 100
_MAX_ATTEMPTS = 10  # to add items while other processes change the offsets


class _OffsetsChangedError(Exception):
    """Another process has set other offsets since these were applied."""


@dataclass
class _Cache:
    """State that the stores of one index share; it does not affect results."""

    effort: int = _DEFAULT_EFFORT
    table_seen: bool = False
    offsets: tuple[str, ItemOffsets] | None = None  # with their version


@dataclass(frozen=True, eq=False)
class PostgresStore:
    """Items in a table; see `Store`.

    Every change is a transaction, so other processes see all of it or nothing. A graph is built
    when scoring every item becomes slow; until then searches are exact.

    Attributes
    ----------
    connections : Connections
    name : str
        The table, which is created with the first items.
    options : EngineOptions
    plan : FoldPlan
    pending_offsets : ItemOffsets or None
        Offsets for a table that does not exist yet.
    """

    connections: Connections
    name: str
    options: EngineOptions
    plan: FoldPlan
    pending_offsets: ItemOffsets | None = None
    cache: _Cache = field(default_factory=_Cache)

    engine_name = "pgvector"
    reason = "a url was given"

    @classmethod
    def open(
        cls,
        similarity: Similarity,
        options: EngineOptions,
        offsets: ItemOffsets | None,
        url: str,
        name: str,
    ) -> "PostgresStore":
        """Return the store of a table, which gets the offsets if they are not its own."""
        for package in ("psycopg", "psycopg_pool", "pgvector"):
            require_extra(package, "pgvector", "the engine 'pgvector'")
        plan = _plan(similarity, options)
        name = check_table_name(name)
        store = cls(Connections(url), name, options, plan)
        with store.reading() as reader:
            reader.check_searchable()
            width = reader.width
        if offsets is None:
            return store
        check_offsets(offsets, similarity, width)
        return store if store._version() == fingerprint(offsets) else store.set_offsets(offsets)

    @property
    def effort(self) -> int | None:
        """Number of candidates that a search of the graph keeps; None without a graph."""
        with self._table() as table:
            return self.cache.effort if table.has_graph else None

    def set_effort(self, effort: int | None) -> None:
        if effort is not None:
            self.cache.effort = min(effort, MAX_EFFORT)

    def for_file(self) -> dict[str, Any]:
        """Return the address of the table, and offsets that it does not have yet."""
        parts: dict[str, Any] = {"url": self.connections.url_for_file, "table": self.name}
        if self.pending_offsets is not None:
            parts["offsets"] = self.pending_offsets
        return parts

    def restored(self, parts: dict[str, Any]) -> "PostgresStore":
        """Refuse items from a file."""
        raise ModelFileError("it holds items, but also the address of a table.")

    @contextmanager
    def reading(self) -> Iterator[TableReader]:
        from psycopg.errors import UndefinedTable

        if not self.cache.table_seen:
            with self._table() as table:
                self.cache.table_seen = table.exists
                if not table.exists:
                    yield TableReader(table, self.cache.effort)
                    return
        try:
            with self.connections.transaction(read_only=True) as db:
                # The first query fixes the state. A lock is none, and waits for swaps.
                db.execute(f'lock table "{self.name}" in access share mode')
                yield TableReader(Table(db, self.name, self.plan), self.cache.effort)
        except UndefinedTable as error:
            self.cache.table_seen = False
            raise ValueError(
                f"table {self.name!r} does not exist in the database any more."
            ) from error

    @contextmanager
    def _table(self) -> Iterator[Table]:
        with self.connections.transaction() as db:
            yield Table(db, self.name, self.plan)

    # Changes.

    def add(self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]]) -> "PostgresStore":
        items, active = to_dense(items), self.offsets
        with self.reading() as reader:
            if reader.width is None:
                check_offsets(active.offsets, self.plan.similarity, items.shape[1])
            refuse_known(ids, reader)
        for _ in range(_MAX_ATTEMPTS):
            rows, moved = active.apply(ids, items, self.plan.similarity)
            try:
                self._put(ids, rows, fields, moved)
            except _OffsetsChangedError:
                active = self.offsets
                continue
            return replace(self, pending_offsets=None)
        raise ValueError("offsets cannot be applied while other processes change them: try again.")

    def update(
        self, ids: list[Any], items: Any, fields: Mapping[str, list[Any]] | None
    ) -> "PostgresStore":
        with self.reading() as reader:
            refuse_unknown(ids, reader)
            if fields is None:
                fields = reader.fields(reader.slots_of(ids))
        self._put(ids, to_dense(items), fields, None)
        return self

    def _put(
        self,
        ids: list[Any],
        rows: np.ndarray,
        fields: Mapping[str, list[Any]],
        moved: Moved | None,
    ) -> None:
        """Insert rows with the offsets that they were moved by, or update rows without offsets."""
        from psycopg import DataError
        from psycopg.errors import UniqueViolation
        from psycopg.types.json import Jsonb

        columns: dict[str, Any] = {"id": ids, "embedding": as_float32(rows, "items", "pgvector")}
        folded = as_float32(self.plan.stored_vectors(rows), "items", "pgvector")
        if self.plan.stored == "folded":
            columns["folded"] = folded
        if moved is not None and len(moved.places):
            originals = as_float32(moved.originals, "items", "pgvector")
            columns["original"] = _at_places(moved.places, originals, len(ids))
        columns["fields"] = [
            Jsonb({name: values[at] for name, values in fields.items()}) for at in range(len(ids))
        ]
        try:
            with self._table() as table:
                table.create(ids, rows.shape[1], folded.shape[1])
                if moved is not None and self.pending_offsets is not None:
                    self._move(table, self.pending_offsets)
                builds = table.needs_graph(len(ids))
                table.lock(exclusive=builds)
                if moved is not None:
                    self._refuse_other_offsets(table, moved.by, ids)
                table.put(columns, new=moved is not None)
                if builds:
                    table.build_graph()
        except UniqueViolation as error:
            message = "ids must be new, but another process has just stored one."
            raise ValueError(message) from error
        except DataError as error:
            raise ValueError(f"the database cannot hold the items: {error}") from error
        self.cache.table_seen = True

    def remove(self, ids: list[Any]) -> "PostgresStore":
        with self.reading() as reader:
            refuse_unknown(ids, reader)
        with self._table() as table:
            table.execute("lock table {table} in row exclusive mode")
            active = self._read_offsets(table)
            dropped = active.without(ids).dropped - active.dropped
            if dropped:
                table.drop_offsets(list(dropped))
            table.execute("delete from {table} where id = any(%s)", ids)
        return self

    def swap(self, similarity: Similarity) -> "PostgresStore":
        """Map the items for another similarity, if it needs that."""
        store = replace(self, plan=_plan(similarity, self.options))
        with store._table() as table:
            if table.exists:
                with stored_items_refused():
                    check_items(similarity, np.ones((1, table.width or 1), np.float32), 1)
                table.remap()
        return store

    def release(self, previous: Any) -> None:
        """Do nothing: the database frees replaced rows."""

    # Offsets.

    @property
    def offsets(self) -> ActiveOffsets:
        """The offsets that new items are moved by, as the database has them now."""
        if self.pending_offsets is not None:
            return ActiveOffsets(self.pending_offsets)
        with self._table() as table:
            return self._read_offsets(table) if table.exists else ActiveOffsets()

    def set_offsets(self, offsets: ItemOffsets | None) -> "PostgresStore":
        """Move the items that have offsets, from their originals, in one transaction."""
        with self._table() as table:
            if not table.exists:
                return replace(self, pending_offsets=offsets)
            # In a transaction of its own, because only this blocks searches.
            if offsets is not None and not table.has_originals:
                table.add_originals()
        with self._table() as table:
            self._move(table, offsets)
        return replace(self, pending_offsets=None)

    def _move(self, table: Table, offsets: ItemOffsets | None) -> None:
        active, plan = ActiveOffsets(offsets), self.plan

        def moved_rows(ids: list[Any], rows: np.ndarray) -> tuple[Any, Any, Any]:
            items, moved = active.apply(ids, rows, plan.similarity)
            originals = _at_places(moved.places, rows[moved.places], len(ids))
            return items, originals, as_float32(plan.stored_vectors(items), "items", "pgvector")

        table.lock(exclusive=True)
        if offsets is not None and not table.has_originals:
            table.add_originals()
        if table.has_originals:
            table.move([] if offsets is None else table.of_id_type(list(offsets.ids)), moved_rows)
        content = None if offsets is None else _files.to_bytes(offsets)
        table.save_offsets(fingerprint(offsets), content)

    def _version(self) -> str | None:
        """Return the digest of the table's offsets."""
        with self._table() as table:
            row = table.read_offsets() if table.exists else None
        return None if row is None else row[0]

    def _read_offsets(self, table: Table, *, lock: bool = False) -> ActiveOffsets:
        row = table.read_offsets(lock=lock)
        if row is None:
            return ActiveOffsets()
        cached = self.cache.offsets
        if cached is None or cached[0] != row[0]:
            # In one query: the version may have changed since.
            row = table.read_offsets(lock=lock, with_content=True)
            if row is None:
                return ActiveOffsets()
            offsets = _files.from_bytes(bytes(row[2]))
            if not isinstance(offsets, ItemOffsets):
                raise ValueError(f"the offsets of table {self.name!r} are damaged.")
            check_offsets(offsets, self.plan.similarity, table.width)
            cached = self.cache.offsets = row[0], offsets
        return ActiveOffsets(cached[1], frozenset(row[1]))

    def _refuse_other_offsets(self, table: Table, applied: ActiveOffsets, ids: list[Any]) -> None:
        present = self._read_offsets(table, lock=True)
        same = fingerprint(applied.offsets) == fingerprint(present.offsets)
        if not same or (applied.dropped ^ present.dropped).intersection(ids):
            raise _OffsetsChangedError


def _plan(similarity: Similarity, options: EngineOptions) -> FoldPlan:
    return fold_plan(similarity, options.fold, options.metric, ALL_METRICS, "pgvector")


def _at_places(places: np.ndarray, rows: np.ndarray, n_rows: int) -> list[Any]:
    """Return a list with rows at some places, and None elsewhere."""
    listed: list[Any] = [None] * n_rows
    for place, row in zip(places.tolist(), rows, strict=True):
        listed[place] = row
    return listed
