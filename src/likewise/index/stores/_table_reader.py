"""Reading and searching a table of items, within one transaction."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from likewise.index._fold_plan import FoldPlan
from likewise.index._pgvector import PGVECTOR_OPERATORS
from likewise.index._where import SQL, Where, unknown_field
from likewise.index.engines import NO_SLOT, Hits, as_float32, squared_lengths
from likewise.index.stores._table import Table, as_array
from likewise.similarities import rounding_bound

_ROWS_IN_BLOCK = 8_192
_MIN_EFFORT = 10
MAX_EFFORT = 1000  # pgvector's limit


class Condition(NamedTuple):
    """A filter of a search: a condition in SQL, its parameters, and the fields that it names."""

    text: str = "true"
    parameters: tuple[Any, ...] = ()
    fields: tuple[str, ...] = ()


class TableReader:
    """One state of a table; see `Reader`.

    Parameters
    ----------
    table : Table
        In a transaction whose reads all see the same state.
    effort : int
        Number of candidates that a search of the graph keeps.
    """

    def __init__(self, table: Table, effort: int) -> None:
        self._table = table
        self._effort = effort
        self._ids: dict[int, Any] = {}  # of slots that searches have returned

    @property
    def plan(self) -> FoldPlan:
        return self._table.plan

    def check_searchable(self) -> None:
        """Refuse a search if the items are mapped for another similarity."""
        self._table.check_plan()

    def __len__(self) -> int:
        return int(self._table.value("select count(*) from {table}")) if self._table.exists else 0

    @property
    def is_empty(self) -> bool:
        table = self._table
        return not table.exists or not table.value("select exists (select from {table})")

    @property
    def width(self) -> int | None:
        return self._table.width

    @property
    def ids(self) -> list[Any]:
        if not self._table.exists:
            return []
        return [row[0] for row in self._table.fetch("select id from {table} order by slot")]

    @property
    def is_exact(self) -> bool:
        """Whether the table has no graph yet."""
        return not self._table.has_graph

    def efforts(self, k: int) -> list[int]:
        if not self._table.has_graph:
            return []
        minimum = min(max(k, _MIN_EFFORT), MAX_EFFORT)
        return [int(step) for step in np.unique(np.geomspace(minimum, MAX_EFFORT, 12).astype(int))]

    def known(self, ids: list[Any]) -> set[Any]:
        possible = self._table.of_id_type(ids) if self._table.exists else []
        if not possible:
            return set()
        query = "select id from {table} where id = any(%s)"
        return {row[0] for row in self._table.fetch(query, possible)}

    def slots_of(self, ids: list[Any]) -> np.ndarray:
        slots = dict(self._table.fetch("select id, slot from {table} where id = any(%s)", ids))
        return np.array([slots[identifier] for identifier in ids], np.int64)

    def ids_of(self, slots: np.ndarray) -> np.ndarray:
        missing = [slot for slot in slots[slots != NO_SLOT].tolist() if slot not in self._ids]
        if missing:
            query = "select slot, id from {table} where slot = any(%s)"
            self._ids.update(self._table.fetch(query, missing))
        ids = np.empty(slots.size, dtype=object)
        ids[:] = [self._ids.get(slot) for slot in slots.ravel().tolist()]
        if slots.size and self._table.id_type == "bigint" and (slots != NO_SLOT).all():
            ids = ids.astype(np.int64)
        return ids.reshape(slots.shape)

    def rows(self, slots: np.ndarray) -> np.ndarray:
        return self._vectors(slots, "embedding")

    def originals(self, slots: np.ndarray) -> np.ndarray:
        has_originals = self._table.has_originals
        column = "coalesce(original, embedding)" if has_originals else "embedding"
        return self._vectors(slots, column)

    def _vectors(self, slots: np.ndarray, column: str) -> np.ndarray:
        query = f"select slot, {column} from {{table}} where slot = any(%s)"
        vectors = dict(self._table.fetch(query, slots.tolist()))
        return as_array([vectors[slot] for slot in slots.tolist()])

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""
        query = "select slot, fields from {table} where slot = any(%s)"
        documents = dict(self._table.fetch(query, slots.tolist()))
        names = sorted({name for fields in documents.values() for name in fields})
        return {name: [documents[slot].get(name) for slot in slots.tolist()] for name in names}

    def blocks(self, allowed: Condition | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        condition = allowed or Condition()
        query = f"select slot, embedding from {{table}} where {condition.text} order by slot"
        with self._table.db.cursor(name="likewise_blocks") as cursor:
            cursor.execute(self._table.sql(query), condition.parameters)
            while block := cursor.fetchmany(_ROWS_IN_BLOCK):
                slots, vectors = zip(*block, strict=True)
                yield np.array(slots, np.int64), as_array(vectors)

    def whole(self) -> None:
        """Return None: a table is read in blocks."""

    def allowed(self, where: Where) -> Condition | None:
        if where is None:
            return None
        if isinstance(where, SQL):
            return Condition(f"({where.condition})", tuple(where.parameters))
        if isinstance(where, Mapping):
            texts, parameters = ["true"], []
            for name, accepted in where.items():
                values = [json.dumps(value) for value in accepted]  # type: ignore[union-attr]
                or_missing = " or not fields ? %s::text" if None in accepted else ""  # type: ignore[operator]
                texts.append(f"(fields->%s::text = any(%s::jsonb[]){or_missing})")
                parameters += [name, values, *([name] if or_missing else [])]
            return Condition(" and ".join(texts), tuple(parameters), tuple(where))
        return Condition("id = any(%s)", (self._table.of_id_type(list(where)),))

    def n_allowed(self, allowed: Condition | None) -> None:
        """Return None: counting a large table is slower than a search."""

    def search(self, folded: np.ndarray, k: int, allowed: Condition | None) -> Hits:
        from psycopg import DataError, ProgrammingError

        try:
            hits = self._search(as_float32(folded, "queries", "pgvector"), k, allowed)
            if allowed is not None and not any(hits):
                self._refuse_unknown_fields(allowed.fields)
        except (DataError, ProgrammingError) as error:
            raise ValueError(f"where is refused by the database: {error}") from error
        width = max(1, *map(len, hits))
        slots, values = np.full((len(hits), width), NO_SLOT), np.full((len(hits), width), np.inf)
        for at, rows in enumerate(hits):
            slots[at, : len(rows)] = [row[0] for row in rows]
            values[at, : len(rows)] = [row[2] for row in rows]
            self._ids.update((row[0], row[1]) for row in rows)
        if self.plan.metric == "inner_product":
            values = -values
        elif self.plan.metric == "cosine":
            values = 1 - values
            values[np.isnan(values)] = 0  # of a zero vector, whose cosine is defined as 0
        return Hits(slots, values)

    def _search(
        self, vectors: np.ndarray, k: int, allowed: Condition | None
    ) -> list[list[tuple[Any, ...]]]:
        """Return slots, ids and values of the best items of each query."""
        table, condition = self._table, allowed or Condition()
        value = f"{table.searched_column} {PGVECTOR_OPERATORS[self.plan.metric].symbol} %s"
        query = table.sql(
            f"select slot, id, {value} as value from {{table}} "
            f"where {condition.text} order by {value} limit %s"
        )
        by_graph = table.has_graph
        self._set_plan(k, by_graph=by_graph)
        hits = []
        for vector in vectors:
            parameters = (vector, *condition.parameters, vector, k)
            rows = table.db.execute(query, parameters).fetchall()
            if by_graph and len(rows) < k:  # a search of the graph stops early if few are allowed
                self._set_plan(k, by_graph=False)
                rows = table.db.execute(query, parameters).fetchall()
                self._set_plan(k, by_graph=True)
            hits.append(rows)
        return hits

    def _set_plan(self, k: int, *, by_graph: bool) -> None:
        """Let the planner use the graph, or have it score every item."""
        self._table.db.execute(
            "select set_config('enable_indexscan', %s, true), "
            "set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true)",
            ("on" if by_graph else "off", str(min(max(self._effort, k), MAX_EFFORT))),
        )

    def _refuse_unknown_fields(self, fields: tuple[str, ...]) -> None:
        for name in fields:
            query = "select exists (select from {table} where fields ? %s::text)"
            if not self._table.value(query, name):
                known = "select distinct jsonb_object_keys(fields) from {table}"
                raise unknown_field(name, [row[0] for row in self._table.fetch(known)])

    def error_bounds(self, folded: np.ndarray) -> np.ndarray:
        n_terms = folded.shape[1] + 2
        if self.plan.metric == "cosine":
            return rounding_bound(np.ones(len(folded)), 1.0, n_terms, np.float32)
        column = self._table.searched_column
        query = f"select coalesce(max(vector_norm({column})), 0) from {{table}}"
        return rounding_bound(
            np.sqrt(squared_lengths(folded)),
            float(self._table.value(query)),
            n_terms,
            np.float32,
            is_distance=self.plan.metric == "euclidean",
        )
