"""The pgvector engine: items in a table of PostgreSQL, which several processes may share.

The table has the columns ``slot`` (a running number), ``id`` (text or bigint), ``embedding`` (the
items as they were given), ``fields`` (jsonb) and, where items are mapped by what was learned,
``folded``. What they were mapped by is noted in the table ``likewise_indexes``.

Once offsets were set there is a column ``original``: it holds a moved item as it was given, and
``embedding`` (with ``folded``) what it became; where it is null, the item was not moved. The
offsets themselves lie in the table ``likewise_offsets``, with the ids that were removed since.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from likewise import _files
from likewise.exceptions import require_extra
from likewise.index._checks import check_items, of_stored_items
from likewise.index._fold_plan import Serving
from likewise.index._offsets import (
    ActiveOffsets,
    Moved,
    OffsetsChanged,
    check_offsets,
    fingerprint,
)
from likewise.index._where import SQL, Where, unknown_field
from likewise.index.engines._engine import NO_SLOT, Found, as_single, most_off
from likewise.index.stores._connections import Connections
from likewise.index.stores._table import Table
from likewise.similarities import ItemOffsets, Metric

_OPERATORS: dict[Metric, str] = {"inner_product": "<#>", "cosine": "<=>", "euclidean": "<->"}
_ROWS_IN_BLOCK = 8_192
_FIRST_EFFORT = 100
_MOST_EFFORT = 1000  # pgvector's own limit


class _Condition(NamedTuple):
    """What limits a search: a condition in SQL, its parameters, and the fields that it names."""

    text: str
    parameters: list[Any]
    fields: list[str]


class PgvectorStore:
    """Items in a table.

    Every change is a transaction, so that it is seen whole or not at all, by all processes. A
    graph is built once the table is so large that looking at every item is slow; until then
    answers are exact.

    Parameters
    ----------
    url : str
        The database, such as ``postgresql://user@host/name``.
    name : str
        The table, which is made when the first items come.
    serving : Serving
    offsets : ItemOffsets or None
        Set if they are not those of the table; with None those of the table stay.
    """

    def __init__(
        self, url: str, name: str, serving: Serving, offsets: ItemOffsets | None = None
    ) -> None:
        require_extra("psycopg", "pgvector", "the engine 'pgvector'")
        require_extra("pgvector", "pgvector", "the engine 'pgvector'")
        self._connections = Connections(url)
        self._table = Table(name)
        self._serving = serving
        self._effort = _FIRST_EFFORT
        self.waiting_offsets: ItemOffsets | None = None  # for a table that is not there yet
        self._known_offsets: tuple[str, ItemOffsets] | None = None
        self._look()
        if offsets is not None:
            check_offsets(offsets, serving.similarity, self.width)
            if self._version() != fingerprint(offsets):
                self.set_offsets(offsets)

    def _look(self) -> bool:
        """Look for the table, if it was not there before; tell whether it is."""
        if not self._table.exists:
            with self._connections.transaction() as db:
                self._table.open(db, self._serving)
        return self._table.exists

    @contextmanager
    def reading(self) -> Iterator["PgvectorStore"]:
        """Let all that is read be of one state of the table."""
        from psycopg.errors import UndefinedTable

        if self._connections.is_reading or not self._look():
            yield self
            return
        try:
            with self._connections.reading() as db:
                # Before anything is read: else a swap that is waited for here would be unseen.
                db.execute(self._table.sql("lock table {table} in access share mode"))
                self._table.check_folded(db, self._serving)
                yield self
        except UndefinedTable as error:
            self._table.forget()
            raise ValueError(f"table {self._table.name!r} is gone from the database.") from error

    @property
    def url_for_file(self) -> str:
        """The database, as a file may name it: without password."""
        return self._connections.url_for_file

    def close(self) -> None:
        """Close all connections that are not in use."""
        self._connections.close()

    # what is stored

    def __len__(self) -> int:
        return int(self._value("select count(*) from {table}")) if self._look() else 0

    @property
    def width(self) -> int | None:
        """How many columns the items have; None where there is no table."""
        return self._table.width if self._look() else None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""
        return not self._look() or not self._value("select exists (select from {table})")

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came."""
        if not self._look():
            return []
        return [row[0] for row in self._rows("select id from {table} order by slot")]

    def known(self, ids: list[Any]) -> set[Any]:
        """Return those ids that are stored."""
        fitting = self._table.fitting(ids) if self._look() else []
        if not fitting:
            return set()
        return {row[0] for row in self._rows("select id from {table} where id = any(%s)", fitting)}

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        """Return the slots of stored ids."""
        found = dict(self._rows("select id, slot from {table} where id = any(%s)", ids))
        return np.array([found[identifier] for identifier in ids], np.int64)

    def names(self, slots: np.ndarray) -> np.ndarray:
        """Return the ids in some slots; None where there is no slot."""
        wanted = np.unique(slots[slots != NO_SLOT])
        seen = self._connections.local.__dict__.get("names", {})
        if not all(slot in seen for slot in wanted.tolist()):
            query = "select slot, id from {table} where slot = any(%s)"
            seen = dict(self._rows(query, wanted.tolist()))
        named = np.empty(slots.size, dtype=object)
        named[:] = [seen.get(slot) for slot in slots.ravel().tolist()]
        if slots.size and self._table.id_type == "bigint" and (slots != NO_SLOT).all():
            named = named.astype(np.int64)
        return named.reshape(slots.shape)

    def rows(self, slots: np.ndarray) -> np.ndarray:
        """Return the items in some slots, moved by their offsets."""
        return self._vectors(slots, "embedding")

    def given(self, slots: np.ndarray) -> np.ndarray:
        """Return the items in some slots, as they were given."""
        with self._connections.transaction() as db:
            # Each time anew: another process may have set offsets.
            moved = self._table.find_originals(db)
        return self._vectors(slots, "coalesce(original, embedding)" if moved else "embedding")

    def _vectors(self, slots: np.ndarray, column: str) -> np.ndarray:
        query = f"select slot, {column} from {{table}} where slot = any(%s)"
        found = {slot: _array(vector) for slot, vector in self._rows(query, slots.tolist())}
        return np.stack([found[slot] for slot in slots.tolist()])

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""
        query = "select slot, fields from {table} where slot = any(%s)"
        found = dict(self._rows(query, slots.tolist()))
        names = sorted({name for fields in found.values() for name in fields})
        return {name: [found[slot].get(name) for slot in slots.tolist()] for name in names}

    def blocks(self, allowed: _Condition | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the slots and rows of all items, or those allowed, a block at a time."""
        limit = allowed or _Condition("true", [], [])
        query = f"select slot, embedding from {{table}} where {limit.text} order by slot"
        with self._connections.transaction() as db, db.cursor(name="likewise_blocks") as cursor:
            cursor.execute(self._table.sql(query), limit.parameters)
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, vectors = zip(*block, strict=True)
                yield np.array(slots, np.int64), np.stack([_array(v) for v in vectors])

    # changes

    def put(
        self,
        ids: list[Any],
        items: np.ndarray,
        folded: np.ndarray,
        fields: Mapping[str, list[Any]],
        *,
        new: bool,
        moved: Moved | None = None,
    ) -> None:
        """Store items under unique ids, in one transaction.

        Where `moved` tells of offsets that are not those of the table any more, nothing is stored:
        `OffsetsChanged`.
        """
        from psycopg import DataError
        from psycopg.errors import UniqueViolation
        from psycopg.types.json import Jsonb

        documents = [
            Jsonb({name: values[at] for name, values in fields.items()}) for at in range(len(ids))
        ]
        vectors = as_single(items, "items", "pgvector"), as_single(folded, "items", "pgvector")
        originals = None
        if moved is not None and len(moved.places):
            originals = [None] * len(ids)
            single = as_single(moved.originals, "items", "pgvector")
            for place, row in zip(moved.places.tolist(), single, strict=True):
                originals[place] = row
        waiting = self.waiting_offsets
        try:
            with self._connections.transaction() as db:
                self._table.make(db, self._serving, ids, *(part.shape[1] for part in vectors))
                if waiting is not None:
                    self._set_offsets(db, waiting)
                grows = self._table.wants_graph(db, self._serving, len(ids))
                self._table.lock(db, self._serving, alone=grows)
                if moved is not None:
                    self._refuse_other_offsets(db, moved.by, ids)
                rows = (ids, *vectors, originals, documents)
                self._table.put(db, self._serving, rows, new=new)
                if grows:
                    self._table.build_graph(db, self._serving)
        except BaseException as error:
            self._table.forget()  # what was made in the transaction is gone with it
            if isinstance(error, UniqueViolation):
                message = "ids must be new, but another process has just stored one."
                raise ValueError(message) from error
            if isinstance(error, DataError):
                raise ValueError(f"the database cannot hold the items: {error}") from error
            raise
        self.waiting_offsets = None

    def remove(self, ids: list[Any]) -> None:
        """Delete items, and drop their offsets."""
        with self._connections.transaction() as db:
            db.execute(self._table.sql("lock table {table} in row exclusive mode"))
            active = self._read_offsets(db)
            dropped = active.without(ids).dropped - active.dropped
            if dropped:
                self._table.drop_offsets(db, list(dropped))
            db.execute(self._table.sql("delete from {table} where id = any(%s)"), (ids,))

    # offsets

    @property
    def offsets(self) -> ActiveOffsets:
        """What new items are to be moved by: as the database has it now."""
        if self.waiting_offsets is not None or not self._look():
            return ActiveOffsets(self.waiting_offsets)
        with self._connections.transaction() as db:
            return self._read_offsets(db)

    def set_offsets(self, offsets: ItemOffsets | None) -> None:
        """Move the stored items that offsets know, from their originals, in one transaction."""
        if not self._look():
            self.waiting_offsets = offsets
            return
        try:
            with self._connections.transaction() as db:
                # By itself, because this alone keeps searches waiting.
                if offsets is not None and not self._table.find_originals(db):
                    self._table.add_originals(db)
            with self._connections.transaction() as db:
                self._set_offsets(db, offsets)
        except BaseException:
            self._table.forget()
            raise
        self.waiting_offsets = None

    def _set_offsets(self, db: Any, offsets: ItemOffsets | None) -> None:
        active, serving = ActiveOffsets(offsets), self._serving

        def moved_rows(ids: list[Any], rows: np.ndarray) -> tuple[Any, Any, Any]:
            items, moved = active.apply(ids, rows, serving.similarity)
            originals: list[Any] = [None] * len(ids)
            for place in moved.places.tolist():
                originals[place] = rows[place]
            return items, originals, as_single(serving.folded(items), "items", "pgvector")

        self._table.lock(db, serving, alone=True)
        if offsets is not None and not self._table.has_originals:
            self._table.add_originals(db)
        if self._table.has_originals:
            known = [] if offsets is None else self._table.fitting(list(offsets.ids))
            self._table.move(db, serving, known, moved_rows)
        if offsets is None:
            self._table.note_offsets(db, None, None)
        else:
            self._table.note_offsets(db, fingerprint(offsets), _files.to_bytes(offsets))

    def _version(self) -> str | None:
        """Return which offsets the table has."""
        if not self._look():
            return None
        with self._connections.transaction() as db:
            found = self._table.offsets_noted(db)
        return None if found is None else found[0]

    def _read_offsets(self, db: Any, *, keep: bool = False) -> ActiveOffsets:
        """Return the table's offsets; with `keep` none are dropped until the transaction ends."""
        found = self._table.offsets_noted(db, keep=keep)
        if found is None:
            return ActiveOffsets()
        known = self._known_offsets
        if known is None or known[0] != found[0]:
            # All at once: other offsets may have been set since.
            found = self._table.offsets_noted(db, keep=keep, whole=True)
            if found is None:
                return ActiveOffsets()
            offsets = _files.from_bytes(bytes(found[2]))
            if not isinstance(offsets, ItemOffsets):
                raise ValueError(f"the offsets of table {self._table.name!r} are damaged.")
            check_offsets(offsets, self._serving.similarity, self._table.width)
            known = self._known_offsets = found[0], offsets
        return ActiveOffsets(known[1], frozenset(found[1]))

    def _refuse_other_offsets(self, db: Any, applied: ActiveOffsets, ids: list[Any]) -> None:
        now = self._read_offsets(db, keep=True)
        if not _are_same(applied.offsets, now.offsets):
            raise OffsetsChanged
        if applied.dropped_of(ids) != now.dropped_of(ids):
            raise OffsetsChanged

    def served_by(self, serving: Serving) -> "PgvectorStore":
        """Return a store for another similarity: where items are mapped, they are mapped again."""
        store = copy(self)
        store._table, store._serving = copy(self._table), serving
        if self._look():
            with of_stored_items():
                check_items(serving.similarity, np.ones((1, self._table.width), np.float32), 1)
            with self._connections.transaction() as db:
                store._table.remap(db, serving)
        return store

    # search

    @property
    def is_exact(self) -> bool:
        """As long as there is no graph."""
        return not self._table.has_graph

    @property
    def effort(self) -> int | None:
        """How many candidates a search of the graph keeps in sight."""
        return self._effort if self._table.has_graph else None

    @effort.setter
    def effort(self, effort: int | None) -> None:
        if effort is not None:
            self._effort = min(effort, _MOST_EFFORT)

    def efforts(self, k: int) -> list[int]:
        """Return the reaches worth trying; none where there is no graph."""
        if not self._table.has_graph:
            return []
        least = min(max(k, 10), _MOST_EFFORT)
        return [int(step) for step in np.unique(np.geomspace(least, _MOST_EFFORT, 12).astype(int))]

    def allowed(self, where: Where) -> _Condition | None:
        """Return a condition in SQL; None for no limit."""
        if where is None:
            return None
        if isinstance(where, SQL):
            return _Condition(f"({where.condition})", list(where.parameters), [])
        if isinstance(where, Mapping):
            conditions, parameters = ["true"], []
            for name, wanted in where.items():
                listed = [json.dumps(value) for value in wanted]  # type: ignore[union-attr]
                missing = " or not fields ? %s::text" if None in wanted else ""  # type: ignore[operator]
                conditions.append(f"(fields->%s::text = any(%s::jsonb[]){missing})")
                parameters += [name, listed, *([name] if missing else [])]
            return _Condition(" and ".join(conditions), parameters, list(where))
        return _Condition("id = any(%s)", [self._table.fitting(list(where))], [])

    def n_allowed(self, allowed: _Condition | None) -> None:
        """Return None: counting a large table would cost more than the search."""

    def search(self, folded: np.ndarray, k: int, allowed: _Condition | None) -> Found:
        """Find the `k` best slots of each folded query, all in one state of the table."""
        from psycopg import DataError, ProgrammingError

        try:
            with self.reading(), self._connections.transaction() as db:
                found = self._found(db, as_single(folded, "queries", "pgvector"), k, allowed)
                if allowed is not None and not any(found):
                    self._refuse_unknown_fields(db, allowed.fields)
        except (DataError, ProgrammingError) as error:
            raise ValueError(f"where is refused by the database: {error}") from error
        width = max(1, *map(len, found))
        slots, values = np.full((len(found), width), NO_SLOT), np.full((len(found), width), np.inf)
        for at, rows in enumerate(found):
            slots[at, : len(rows)] = [row[0] for row in rows]
            values[at, : len(rows)] = [row[2] for row in rows]
        self._connections.local.names = {row[0]: row[1] for rows in found for row in rows}
        if self._serving.metric == "inner_product":
            values = -values
        elif self._serving.metric == "cosine":
            values = 1 - values  # NaN for a zero vector, whose cosine is taken as 0
            values[np.isnan(values)] = 0
        return Found(slots, values)

    def _found(
        self, db: Any, vectors: np.ndarray, k: int, allowed: _Condition | None
    ) -> list[list[tuple[Any, ...]]]:
        """Return the slots, ids and values of the best items of each query."""
        limit = allowed or _Condition("true", [], [])
        value = f"{self._table.column(self._serving)} {_OPERATORS[self._serving.metric]} %s"
        query = self._table.sql(
            f"select slot, id, {value} as value from {{table}} "
            f"where {limit.text} order by {value} limit %s"
        )
        through_graph = not self.is_exact
        self._prepare(db, k, through_graph=through_graph)
        found = []
        for vector in vectors:
            parameters = (vector, *limit.parameters, vector, k)
            rows = db.execute(query, parameters).fetchall()
            if through_graph and len(rows) < k:  # a graph gives up where few items are allowed
                self._prepare(db, k, through_graph=False)
                rows = db.execute(query, parameters).fetchall()
                self._prepare(db, k, through_graph=True)
            found.append(rows)
        return found

    def _prepare(self, db: Any, k: int, *, through_graph: bool) -> None:
        """Choose between the graph, which another process may have built, and every item."""
        db.execute(
            "select set_config('enable_indexscan', %s, true), "
            "set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true)",
            ("on" if through_graph else "off", str(min(max(self._effort, k), _MOST_EFFORT))),
        )

    def _refuse_unknown_fields(self, db: Any, fields: list[str]) -> None:
        has = self._table.sql("select exists (select from {table} where fields ? %s::text)")
        for name in fields:
            if not db.execute(has, (name,)).fetchone()[0]:
                known = "select distinct jsonb_object_keys(fields) from {table}"
                raise unknown_field(name, [row[0] for row in self._rows(known)])

    def most_off(self, folded: np.ndarray) -> np.ndarray:
        """Return by how much rounding may have moved the values of each folded query."""
        if self._serving.metric == "cosine":
            reach, longest = np.ones(len(folded)), 1.0
        else:
            reach = np.sqrt(np.einsum("ij,ij->i", folded, folded, dtype=np.float64))
            column = self._table.column(self._serving)
            # Each time anew: another process may have stored a longer one.
            query = f"select coalesce(max(vector_norm({column})), 0) from {{table}}"
            longest = float(self._value(query))
        return most_off(self._serving.metric, reach, longest, folded.shape[1], np.float32)

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._connections.transaction() as db:
            return list(db.execute(self._table.sql(query), parameters).fetchall())

    def _value(self, query: str) -> Any:
        return self._rows(query)[0][0]


def _are_same(one: ItemOffsets | None, other: ItemOffsets | None) -> bool:
    if one is None or other is None or one is other:
        return one is other
    return fingerprint(one) == fingerprint(other)


def _array(vector: Any) -> np.ndarray:
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, np.float32)
