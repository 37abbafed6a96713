"""A table of items in PostgreSQL, within one transaction.

The table has the columns ``slot`` (a sequence number), ``id`` (text or bigint), ``embedding`` (the
items), ``fields`` (jsonb) and, where items are mapped by a learned matrix, ``folded``. The table
``likewise_indexes`` holds a digest of that matrix.

Tables with offsets also have a column ``original``: of a moved item, the vector that was given.
``embedding`` and ``folded`` then hold the moved one. The offsets are in the table
``likewise_offsets``, with the ids of items that were removed since they were set.
"""

import re
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from hashlib import sha256
from typing import Any

import numpy as np

from likewise.index._fold_plan import FoldPlan
from likewise.index._pgvector import PGVECTOR_OPERATORS
from likewise.index.stores._base import OutdatedSnapshotError

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
_RESERVED = ("likewise_indexes", "likewise_incoming", "likewise_offsets")
_MAX_GRAPH_COLUMNS = 2_000  # pgvector's limit
_MIN_GRAPH_ROWS = 20_000  # below that, scoring every item takes milliseconds
_ROWS_IN_BLOCK = 8_192
_CREATION_LOCK = "select pg_advisory_xact_lock(hashtext('likewise_indexes'))"


def check_table_name(name: Any) -> str:
    """Return a name that needs no quotes and that likewise does not use itself."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            "table must be a name of lowercase letters, digits and _, at most 41 long, "
            f"but {name!r} was given."
        )
    if name in _RESERVED:
        raise ValueError(f"table must not be {name!r}, a table that likewise uses itself.")
    return name


class Table:
    """The table as one transaction sees it.

    Parameters
    ----------
    db : Connection
        In a transaction.
    name : str
    plan : FoldPlan

    Attributes
    ----------
    exists : bool
    id_type : {"text", "bigint"}
    width : int or None
        Number of columns of the items.
    is_folded, has_originals, has_graph : bool
        Whether there is a column of mapped items, one of originals, and a graph for the plan.
    """

    def __init__(self, db: Any, name: str, plan: FoldPlan) -> None:
        self.db = db
        self.name = name
        self.plan = plan
        self.refresh()

    def refresh(self) -> None:
        """Read the columns of the table; one that likewise has not made is refused."""
        columns = dict(
            self.db.execute(
                "select attname, format_type(atttypid, atttypmod) from pg_attribute "
                "where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped "
                "union all select '', 'graph' where to_regclass(%s) is not null",
                (self.name, self._graph_name),
            ).fetchall()
        )
        self.has_graph = columns.pop("", None) is not None
        self.exists = bool(columns)
        missing = {"slot", "id", "embedding", "fields"} - set(columns)
        if self.exists and missing:
            raise ValueError(
                f"table {self.name!r} was not made by likewise: it has no column "
                f"{', '.join(sorted(missing))}."
            )
        self.id_type = columns.get("id", "text")
        self.width = int(re.sub(r"\D", "", columns.get("embedding", "")) or 0) or None
        self.is_folded = "folded" in columns
        self.has_originals = "original" in columns

    @property
    def searched_column(self) -> str:
        """The column that the plan searches."""
        return "folded" if self.plan.stored == "folded" else "embedding"

    @property
    def _graph_name(self) -> str:
        return f"{self.name}_{self.searched_column}_{self.plan.metric}"

    def sql(self, query: str) -> Any:
        """Return a query with the name of the table in place of ``{table}``."""
        from psycopg.sql import SQL as Text
        from psycopg.sql import Identifier

        first, *others = query.split("{table}")
        return Text("").join([Text(first), *(Identifier(self.name) + Text(p) for p in others)])

    def execute(self, query: str, *parameters: Any) -> Any:
        """Execute a query that names the table as ``{table}``."""
        return self.db.execute(self.sql(query), parameters or None)

    def fetch(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query that names the table as ``{table}``."""
        return list(self.execute(query, *parameters).fetchall())

    def value(self, query: str, *parameters: Any) -> Any:
        """Return the first value of a query that names the table as ``{table}``."""
        return self.execute(query, *parameters).fetchone()[0]

    def of_id_type(self, ids: list[Any]) -> list[Any]:
        """Return the ids that the table can hold."""
        if self.id_type == "bigint":
            return [identifier for identifier in ids if isinstance(identifier, int)]
        return [i for i in ids if isinstance(i, str) and "\0" not in i]

    def check_plan(self) -> None:
        """Refuse a plan for which the items are not mapped."""
        if not self.exists or self.plan.stored != "folded":
            return
        if not self.is_folded:
            raise OutdatedSnapshotError(
                f"table {self.name!r} holds items as they are, but this similarity needs them "
                "mapped: choose another table."
            )
        query = "select folded_by from likewise_indexes where name = %s"
        row = self.db.execute(query, (self.name,)).fetchone()
        if row is None or row[0] != plan_digest(self.plan):
            raise OutdatedSnapshotError(
                f"the items of table {self.name!r} are mapped for another similarity: swap to that "
                "one, or swap the table's to this one."
            )

    # Changes.

    def lock(self, *, exclusive: bool) -> None:
        """Exclude swaps, or all other writers, and refuse items that would not match the table."""
        mode = "share row exclusive" if exclusive else "row exclusive"
        self.execute(f"lock table {{table}} in {mode} mode")
        self.refresh()
        self.check_plan()
        if self.is_folded and self.plan.stored != "folded":
            raise ValueError(
                f"the items of table {self.name!r} are mapped for another similarity, and new ones "
                "must be as well: swap the table's to this one before adding to it."
            )

    def create(self, ids: list[Any], width: int, folded_width: int) -> None:
        """Create the table unless it exists; its ids are of the kind of the given ones."""
        with_null = [name for name in ids if isinstance(name, str) and "\0" in name]
        if with_null:
            raise ValueError(
                "ids must not contain the null character, which PostgreSQL cannot store, but "
                f"{with_null[0]!r} was given."
            )
        if not self.exists:
            self.db.execute(_CREATION_LOCK)
            self.refresh()
        if not self.exists:
            self._create(ids, width, folded_width)
            self.refresh()
        accepted = self.of_id_type(ids)
        if len(accepted) < len(ids):
            other = next(name for name in ids if name not in accepted)
            raise TypeError(
                f"ids must be {self.id_type}, as those of table {self.name!r} are, but {other!r} "
                "was given."
            )
        if self.width not in (None, width):
            raise ValueError(
                f"items has {width} columns, but those in table {self.name!r} have {self.width}."
            )

    def _create(self, ids: list[Any], width: int, folded_width: int) -> None:
        if len({isinstance(identifier, int) for identifier in ids}) > 1:
            raise TypeError("ids must be all text or all whole numbers for the engine 'pgvector'.")
        id_type = "bigint" if isinstance(ids[0], int) else "text"
        is_folded = self.plan.stored == "folded"
        folded = f", folded vector({folded_width}) not null" if is_folded else ""
        self.db.execute(
            "create table if not exists likewise_indexes (name text primary key, folded_by text)"
        )
        self.execute(
            "create table {table} (slot bigint generated always as identity primary key, "
            f"id {id_type} not null unique, embedding vector({width}) not null{folded}, "
            "fields jsonb not null)"
        )
        self._save_plan()
        self.save_offsets(None, None)  # of a dropped table of this name

    def _save_plan(self) -> None:
        folded_by = plan_digest(self.plan) if self.plan.stored == "folded" else None
        self.db.execute(
            "insert into likewise_indexes values (%s, %s) "
            "on conflict (name) do update set folded_by = excluded.folded_by",
            (self.name, folded_by),
        )

    def put(self, columns: dict[str, Any], *, new: bool) -> None:
        """Insert rows, or update those with the same ids; an updated item has no original."""
        if new:
            self._copy(self.name, columns)
            return
        names = ", ".join(columns)
        self.execute(
            "create temporary table likewise_incoming on commit drop as "
            f"select {names} from {{table}} with no data"
        )
        self._copy("likewise_incoming", columns)
        sets = ", ".join(f"{name} = incoming.{name}" for name in columns if name != "id")
        sets += ", original = null" if self.has_originals else ""
        changed = self.execute(
            f"update {{table}} as kept set {sets} from likewise_incoming as incoming "
            "where kept.id = incoming.id"
        )
        if changed.rowcount < len(columns["id"]):
            raise ValueError("ids must be stored, but another process has just removed one.")

    def _copy(self, target: str, columns: dict[str, Any]) -> None:
        from psycopg.sql import SQL as Text
        from psycopg.sql import Identifier

        types = {"id": "int8" if self.id_type == "bigint" else "text", "fields": "jsonb"}
        statement = Text("copy {} ({}) from stdin with (format binary)").format(
            Identifier(target), Text(", ").join(map(Identifier, columns))
        )
        with self.db.cursor().copy(statement) as copy:
            copy.set_types([types.get(name, "vector") for name in columns])
            for row in zip(*columns.values(), strict=True):
                copy.write_row(row)

    # Offsets.

    def add_originals(self) -> None:
        """Add the column for originals of moved items."""
        kind = "vector" if self.width is None else f"vector({self.width})"
        self.execute(f"alter table {{table}} add column if not exists original {kind}")
        self.has_originals = True

    def move(
        self, ids: list[Any], moved: Callable[[list[Any], np.ndarray], tuple[Any, Any, Any]]
    ) -> None:
        """Rewrite the items with these ids, and all moved ones, from their originals.

        `moved` returns items, originals of those that it moved, and folded items.
        """
        names = ["embedding", "original", *(["folded"] if self.plan.stored == "folded" else [])]
        sets = ", ".join(f"{name} = %s::vector" for name in names)
        read = self.sql(
            "select slot, id, coalesce(original, embedding) from {table} "
            "where original is not null or id = any(%s) order by slot"
        )
        with self.db.cursor(name="likewise_move") as cursor:
            cursor.execute(read, (ids,))
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, known, vectors = zip(*block, strict=True)
                items, originals, folded = moved(list(known), as_array(vectors))
                columns = [items.astype(np.float32), originals, folded][: len(names)]
                self.db.cursor().executemany(
                    self.sql(f"update {{table}} set {sets} where slot = %s"),
                    list(zip(*columns, slots, strict=True)),
                )

    def save_offsets(self, version: str | None, offsets: bytes | None) -> None:
        """Store the table's offsets, none of which is dropped; None for no offsets."""
        if version is None:
            if self._offsets_exist():
                self.db.execute("delete from likewise_offsets where name = %s", (self.name,))
            return
        if not self._offsets_exist():
            self.db.execute(_CREATION_LOCK)
            self.db.execute(
                "create table if not exists likewise_offsets (name text primary key, "
                "version text not null, offsets bytea not null, dropped jsonb not null)"
            )
        self.db.execute(
            "insert into likewise_offsets values (%s, %s, %b, '[]') on conflict (name) do update "
            "set version = excluded.version, offsets = excluded.offsets, dropped = '[]'",
            (self.name, version, offsets),
        )

    def read_offsets(self, *, lock: bool = False, with_content: bool = False) -> Any:
        """Return the version of the table's offsets and the ids whose offsets were dropped.

        With `lock` other transactions wait before they drop offsets; with `with_content` the
        offsets are returned as well. None if the table has no offsets.
        """
        if not self._offsets_exist():
            return None
        return self.db.execute(
            f"select version, dropped{', offsets' if with_content else ''} from likewise_offsets "
            f"where name = %s{' for share' if lock else ''}",
            (self.name,),
        ).fetchone()

    def drop_offsets(self, ids: list[Any]) -> None:
        """Store that some items are not moved if they are added again."""
        from psycopg.types.json import Jsonb

        self.db.execute(
            "update likewise_offsets set dropped = dropped || %s where name = %s",
            (Jsonb(ids), self.name),
        )

    def _offsets_exist(self) -> bool:
        row = self.db.execute("select to_regclass('likewise_offsets') is not null").fetchone()
        return bool(row[0])

    # Graphs, and maps of the items.

    def needs_graph(self, n_new: int) -> bool:
        """Return whether the table with some more rows is large enough for a graph."""
        if self.has_graph:
            return False
        column = self.searched_column
        some = f"(select {column} from {{table}} limit {_MIN_GRAPH_ROWS}) as counted"  # not all
        n_rows, width = self.fetch(f"select count(*), max(vector_dims({column})) from {some}")[0]
        return bool(n_rows + n_new >= _MIN_GRAPH_ROWS and (width or 0) <= _MAX_GRAPH_COLUMNS)

    def build_graph(self) -> None:
        """Create an HNSW graph for the plan."""
        index_class = PGVECTOR_OPERATORS[self.plan.metric].index_class
        self.db.execute("set local maintenance_work_mem = '512MB'")
        self.execute(
            f"create index if not exists {self._graph_name} on {{table}} using hnsw "
            f"({self.searched_column} {index_class})"
        )
        self.has_graph = True

    def remap(self) -> None:
        """Map all items for the plan, or drop mapped items that it does not need."""
        self.execute("lock table {table} in share row exclusive mode")
        self.refresh()
        if self.is_folded:
            self.execute("alter table {table} drop column folded")  # and its graph
        if self.plan.stored == "folded":
            self._fold_items()
        self._save_plan()
        self.refresh()
        if self.needs_graph(0):
            self.build_graph()

    def _fold_items(self) -> None:
        self.execute("alter table {table} add column folded vector")
        width = 0
        with self.db.cursor(name="likewise_fold") as cursor:
            cursor.execute(self.sql("select slot, embedding from {table} order by slot"))
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, vectors = zip(*block, strict=True)
                folded = self.plan.stored_vectors(as_array(vectors)).astype(np.float32)
                width = folded.shape[1]
                self.db.cursor().executemany(
                    self.sql("update {table} set folded = %s where slot = %s"),
                    list(zip(folded, slots, strict=True)),
                )
        if width:
            self.execute(f"alter table {{table}} alter column folded type vector({width})")


def plan_digest(plan: FoldPlan) -> str:
    """Return a digest of the map of a plan's items."""
    digest = sha256(f"{plan.metric} {plan.factors is not None}".encode())
    digest.update(type(plan.folded).__name__.encode())
    for part in dataclass_fields(plan.folded):  # type: ignore[arg-type]
        value = getattr(plan.folded, part.name)
        if isinstance(value, np.ndarray):
            digest.update(f"{value.shape} {value.dtype}".encode())
            value = value.tobytes()
        digest.update(value if isinstance(value, bytes) else repr(value).encode())
    return digest.hexdigest()


def as_array(vectors: Any) -> np.ndarray:
    """Return vectors of the database as rows."""
    rows = [v.to_numpy() if hasattr(v, "to_numpy") else v for v in vectors]
    return np.stack([np.asarray(row, np.float32) for row in rows])
