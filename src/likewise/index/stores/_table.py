"""The table of an index in PostgreSQL: made, filled, mapped again, given a graph."""

import re
from collections.abc import Callable
from dataclasses import fields as parts_of
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.index._fold_plan import Serving
from likewise.similarities import Metric

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_CLASSES: dict[Metric, str] = {
    "inner_product": "vector_ip_ops",
    "cosine": "vector_cosine_ops",
    "euclidean": "vector_l2_ops",
}
_WIDEST_GRAPH = 2_000  # columns: pgvector's own limit
_ROWS_WITH_GRAPH = 20_000  # below that, looking at every item takes milliseconds
_ROWS_IN_BLOCK = 8_192
_OURS = ("likewise_indexes", "likewise_incoming", "likewise_offsets")


class Table:
    """What is known of the table; every method gets a connection inside a transaction."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                "table must be a name of small letters, digits and _, at most 41 long, "
                f"but {name!r} was given."
            )
        if name in _OURS:
            raise ValueError(f"table must not be {name!r}, which likewise itself works with.")
        self.name = name
        self.exists = False
        self.id_type = "text"
        self.width: int | None = None
        self.is_folded = False
        self.has_originals = False
        self.has_graph = False

    def sql(self, query: str) -> Any:
        """Return a query with the table's name put in as an identifier."""
        from psycopg.sql import SQL as Text
        from psycopg.sql import Identifier

        parts = query.split("{table}")
        return Text("").join(
            Text(part) if at == 0 else Identifier(self.name) + Text(part)
            for at, part in enumerate(parts)
        )

    def column(self, serving: Serving) -> str:
        """Return the column that is searched."""
        return "folded" if serving.stored == "folded" else "embedding"

    def forget(self) -> None:
        """Know nothing until the table is looked at again."""
        self.exists, self.has_graph = False, False

    def open(self, db: Any, serving: Serving) -> None:
        """Look whether the table is there and is one of ours, folded for this similarity."""
        columns = self._columns(db)
        self.exists = bool(columns)
        if not columns:
            return
        missing = {"slot", "id", "embedding", "fields"} - set(columns)
        if missing:
            raise ValueError(
                f"table {self.name!r} was not made by likewise: it has no column "
                f"{', '.join(sorted(missing))}."
            )
        self.id_type = columns["id"]
        self.width = int(re.sub(r"\D", "", columns["embedding"]) or 0) or None
        self.is_folded = "folded" in columns
        self.has_originals = "original" in columns
        if serving.stored == "folded" and not self.is_folded:
            raise ValueError(
                f"table {self.name!r} holds items as they are, but this similarity needs them "
                "mapped: choose another table."
            )
        self.check_folded(db, serving)
        self.has_graph = self._find_graph(db, serving)

    def _columns(self, db: Any) -> dict[str, str]:
        """Return the types of the columns; none where there is no table."""
        return dict(
            db.execute(
                "select attname, format_type(atttypid, atttypmod) from pg_attribute "
                "where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped",
                (self.name,),
            ).fetchall()
        )

    def _find_graph(self, db: Any, serving: Serving) -> bool:
        name = self._graph_name(serving)
        found = db.execute("select to_regclass(%s) is not null", (name,)).fetchone()
        return bool(found[0])

    def _graph_name(self, serving: Serving) -> str:
        return f"{self.name}_{self.column(serving)}_{serving.metric}"

    def fitting(self, ids: list[Any]) -> list[Any]:
        """Return those ids that are of the kind which the table holds."""
        if self.id_type == "bigint":
            return [identifier for identifier in ids if isinstance(identifier, int)]
        return [i for i in ids if isinstance(i, str) and "\0" not in i]  # which no text can hold

    def make(self, db: Any, serving: Serving, ids: list[Any], width: int, folded: int) -> None:
        """Make the table if it is not there, for ids of the kind of the first."""
        if any("\0" in identifier for identifier in ids if isinstance(identifier, str)):
            raise ValueError("ids must not hold the character 0, which PostgreSQL cannot store.")
        if not self.exists:
            # Two processes that make the same table wait for each other here.
            db.execute("select pg_advisory_xact_lock(hashtext('likewise_indexes'))")
            self.open(db, serving)
        if not self.exists:
            self._create(db, serving, ids, width, folded)
            self.open(db, serving)
        if len(self.fitting(ids)) < len(ids):
            raise TypeError(
                f"ids of table {self.name!r} are {self.id_type}, and so must new ones be."
            )
        if self.width not in (None, width):
            raise ValueError(
                f"items has {width} columns, but those in table {self.name!r} have {self.width}."
            )

    def _create(self, db: Any, serving: Serving, ids: list[Any], width: int, folded: int) -> None:
        if len({isinstance(identifier, int) for identifier in ids}) > 1:
            raise TypeError("ids must be all text or all whole numbers for the engine 'pgvector'.")
        id_type = "bigint" if isinstance(ids[0], int) else "text"
        column = f", folded vector({folded}) not null" if serving.stored == "folded" else ""
        db.execute(
            "create table if not exists likewise_indexes (name text primary key, folded_by text)"
        )
        db.execute(
            self.sql(
                "create table {table} (slot bigint generated always as identity primary key, "
                f"id {id_type} not null unique, embedding vector({width}) not null{column}, "
                "fields jsonb not null)"
            )
        )
        self._note(db, serving)
        self.note_offsets(db, None, None)  # those of a table of this name that is gone

    def _note(self, db: Any, serving: Serving) -> None:
        """Note what the items are mapped by."""
        mapped_by = fingerprint(serving) if serving.stored == "folded" else None
        db.execute(
            "insert into likewise_indexes values (%s, %s) "
            "on conflict (name) do update set folded_by = excluded.folded_by",
            (self.name, mapped_by),
        )

    def lock(self, db: Any, serving: Serving, *, alone: bool) -> None:
        """Keep swaps away (`alone`: all who write), and refuse to write what would not fit."""
        mode = "share row exclusive" if alone else "row exclusive"
        db.execute(self.sql(f"lock table {{table}} in {mode} mode"))
        self.open(db, serving)
        if self.is_folded and serving.stored != "folded":
            raise ValueError(
                f"the items of table {self.name!r} are mapped for another similarity, and new ones "
                "must be as well: swap the table's to this one before adding to it."
            )

    def check_folded(self, db: Any, serving: Serving) -> None:
        """Refuse items that were mapped by something else than what searches."""
        if serving.stored != "folded" or not self.exists:
            return
        query = "select folded_by from likewise_indexes where name = %s"
        found = db.execute(query, (self.name,)).fetchone()
        if found is None or found[0] != fingerprint(serving):
            raise ValueError(
                f"the items of table {self.name!r} are mapped for another similarity: swap to that "
                "one, or swap the table's to this one."
            )

    def put(self, db: Any, serving: Serving, rows: Any, *, new: bool) -> None:
        """Write ids, items, folded items, originals of moved items (or None), and fields.

        What replaces an item has no original.
        """
        target = self.name if new else "likewise_incoming"
        columns = dict(zip(("id", "embedding", "folded", "original", "fields"), rows, strict=True))
        if serving.stored != "folded":
            del columns["folded"]
        if columns["original"] is None:
            del columns["original"]
        names = list(columns)
        if not new:
            db.execute(
                self.sql(
                    "create temporary table likewise_incoming on commit drop as "
                    f"select {', '.join(names)} from {{table}} with no data"
                )
            )
        self._copy(db, target, columns)
        if not new:
            sets = ", ".join(f"{name} = incoming.{name}" for name in names[1:])
            sets += ", original = null" if self.has_originals else ""
            changed = db.execute(
                self.sql(
                    f"update {{table}} as kept set {sets} from likewise_incoming as incoming "
                    "where kept.id = incoming.id"
                )
            )
            if changed.rowcount < len(rows[0]):
                raise ValueError("ids must be stored, but another process has just removed one.")

    def _copy(self, db: Any, target: str, columns: dict[str, Any]) -> None:
        from psycopg.sql import SQL as Text
        from psycopg.sql import Identifier

        types = {"id": "int8" if self.id_type == "bigint" else "text", "fields": "jsonb"}
        statement = Text("copy {} ({}) from stdin with (format binary)").format(
            Identifier(target), Text(", ").join(map(Identifier, columns))
        )
        with db.cursor().copy(statement) as copy:
            copy.set_types([types.get(name, "vector") for name in columns])
            for row in zip(*map(_as_vectors, columns.values()), strict=True):
                copy.write_row(row)

    def find_originals(self, db: Any) -> bool:
        """Tell whether the table has a column for the originals of moved items."""
        self.has_originals = "original" in self._columns(db)
        return self.has_originals

    def add_originals(self, db: Any) -> None:
        """Give the table a column for the originals of moved items."""
        kind = "vector" if self.width is None else f"vector({self.width})"
        db.execute(self.sql(f"alter table {{table}} add column if not exists original {kind}"))
        self.has_originals = True

    def move(
        self,
        db: Any,
        serving: Serving,
        ids: list[Any],
        moved: Callable[[list[Any], np.ndarray], tuple[Any, Any, Any]],
    ) -> None:
        """Rewrite the items with these ids, and all that were moved before, from their originals.

        `moved` returns items, originals of those that it moved, and folded items.
        """
        names = ["embedding", "original", *(["folded"] if serving.stored == "folded" else [])]
        sets = ", ".join(f"{name} = %s::vector" for name in names)
        read = self.sql(
            "select slot, id, coalesce(original, embedding) from {table} "
            "where original is not null or id = any(%s) order by slot"
        )
        with db.cursor(name="likewise_move") as cursor:
            cursor.execute(read, (ids,))
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, known, vectors = zip(*block, strict=True)
                rows = np.stack([np.asarray(_plain(v), np.float32) for v in vectors])
                columns = [_as_vectors(part) for part in moved(list(known), rows)[: len(names)]]
                db.cursor().executemany(
                    self.sql(f"update {{table}} set {sets} where slot = %s"),
                    list(zip(*columns, slots, strict=True)),
                )

    def note_offsets(self, db: Any, version: str | None, offsets: bytes | None) -> None:
        """Note the table's offsets, none of which are dropped; None for no offsets."""
        if version is None:
            if self._has_offsets(db):
                db.execute("delete from likewise_offsets where name = %s", (self.name,))
            return
        if not self._has_offsets(db):
            db.execute("select pg_advisory_xact_lock(hashtext('likewise_indexes'))")
            db.execute(
                "create table if not exists likewise_offsets (name text primary key, "
                "version text not null, offsets bytea not null, dropped jsonb not null)"
            )
        db.execute(
            "insert into likewise_offsets values (%s, %s, %b, '[]') on conflict (name) do update "
            "set version = excluded.version, offsets = excluded.offsets, dropped = '[]'",
            (self.name, version, offsets),
        )

    def offsets_noted(self, db: Any, *, keep: bool = False, whole: bool = False) -> Any:
        """Return the version of the table's offsets, and the ids whose offsets were dropped.

        With `keep` those who would drop others wait for the end of the transaction; with `whole`
        the offsets are returned as well. None where the table has no offsets.
        """
        if not self._has_offsets(db):
            return None
        query = (
            f"select version, dropped{', offsets' if whole else ''} from likewise_offsets "
            f"where name = %s{' for share' if keep else ''}"
        )
        return db.execute(query, (self.name,)).fetchone()

    def drop_offsets(self, db: Any, ids: list[Any]) -> None:
        """Note that some items are not to be moved when they come again."""
        from psycopg.types.json import Jsonb

        db.execute(
            "update likewise_offsets set dropped = dropped || %s where name = %s",
            (Jsonb(ids), self.name),
        )

    def _has_offsets(self, db: Any) -> bool:
        found = db.execute("select to_regclass('likewise_offsets') is not null").fetchone()
        return bool(found[0])

    def wants_graph(self, db: Any, serving: Serving, n_new: int) -> bool:
        """Tell whether the table, with some more rows, is so large that a graph is needed."""
        if self.has_graph:
            return False
        column = self.column(serving)
        some = f"(select {column} from {{table}} limit {_ROWS_WITH_GRAPH})"  # do not count them all
        counted = self.sql(f"select count(*), max(vector_dims({column})) from {some} as counted")
        n_rows, width = db.execute(counted).fetchone()
        return bool(n_rows + n_new >= _ROWS_WITH_GRAPH and (width or 0) <= _WIDEST_GRAPH)

    def build_graph(self, db: Any, serving: Serving) -> None:
        """Give the table a graph."""
        column = self.column(serving)
        db.execute("set local maintenance_work_mem = '512MB'")
        db.execute(
            self.sql(
                f"create index if not exists {self._graph_name(serving)} on {{table}} using hnsw "
                f"({column} {_CLASSES[serving.metric]})"
            )
        )
        self.has_graph = True

    def remap(self, db: Any, serving: Serving) -> None:
        """Map all items for another similarity, or leave them as they are, mapped for none."""
        db.execute(self.sql("lock table {table} in share row exclusive mode"))
        if serving.stored == "folded":
            self._rewrite(db, serving.folded)
        elif self.is_folded:
            db.execute(self.sql("alter table {table} drop column if exists folded"))
        self.is_folded = serving.stored == "folded"
        self._note(db, serving)
        self.has_graph = self._find_graph(db, serving)
        if self.wants_graph(db, serving, 0):
            self.build_graph(db, serving)

    def _rewrite(self, db: Any, fold: Callable[[np.ndarray], np.ndarray]) -> None:
        """Fill the column of mapped items anew; a column drops its graph with it."""
        db.execute(self.sql("alter table {table} drop column if exists folded"))
        db.execute(self.sql("alter table {table} add column folded vector"))
        read = self.sql("select slot, embedding from {table} order by slot")
        width = 0
        with db.cursor(name="likewise_rewrite") as cursor:
            cursor.itersize = _ROWS_IN_BLOCK
            cursor.execute(read)
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, vectors = zip(*block, strict=True)
                folded = fold(np.stack([np.asarray(_plain(v), np.float32) for v in vectors]))
                width = folded.shape[1]
                db.cursor().executemany(
                    self.sql("update {table} set folded = %s where slot = %s"),
                    list(zip(folded.astype(np.float32), slots, strict=True)),
                )
        if width:
            db.execute(self.sql(f"alter table {{table}} alter column folded type vector({width})"))


def fingerprint(serving: Serving) -> str:
    """Return what tells one map of the items from another."""
    digest = sha256(f"{serving.metric} {serving.halves is not None}".encode())
    digest.update(type(serving.by).__name__.encode())
    for part in parts_of(serving.by):  # type: ignore[arg-type]
        value = getattr(serving.by, part.name)
        if isinstance(value, np.ndarray):
            digest.update(f"{value.shape} {value.dtype}".encode())
            value = value.tobytes()
        digest.update(value if isinstance(value, bytes) else repr(value).encode())
    return digest.hexdigest()


def _plain(vector: Any) -> Any:
    return vector.to_numpy() if hasattr(vector, "to_numpy") else vector


def _as_vectors(column: Any) -> Any:
    return column.astype(np.float32) if isinstance(column, np.ndarray) else column
