"""The pgvector engine: items in a table of PostgreSQL, which several processes may share.

The table has the columns ``slot`` (a running number), ``id`` (text or bigint), ``embedding`` (the
items as they were given), ``fields`` (jsonb) and, where items are mapped by what was learned,
``folded``. What they were mapped by is noted in the table ``likewise_indexes``.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.index._connections import Connections
from likewise.index._engine import NO_SLOT, Found, most_off
from likewise.index._serving import Serving
from likewise.index._table import Table
from likewise.index._where import SQL, Where
from likewise.similarities import Metric

_OPERATORS: dict[Metric, str] = {"inner_product": "<#>", "cosine": "<=>", "euclidean": "<->"}
_ROWS_IN_BLOCK = 8_192
_FIRST_EFFORT = 100
_MOST_EFFORT = 1000  # pgvector's own limit
_UNKNOWN = 2**31  # counting a large table at every search would cost more than the search


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
    """

    def __init__(self, url: str, name: str, serving: Serving) -> None:
        require_extra("psycopg", "pgvector", "the engine 'pgvector'")
        require_extra("pgvector", "pgvector", "the engine 'pgvector'")
        self._connections = Connections(url)
        self._table = Table(name)
        self._serving = serving
        self._effort = _FIRST_EFFORT
        self._longest: float | None = None
        with self._connections.transaction() as db:
            self._table.open(db, serving)

    @property
    def url_without_password(self) -> str:
        """The database, as a file may name it."""
        return self._connections.url_without_password

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    # what is stored

    def __len__(self) -> int:
        return self._table.exists and int(self._value("select count(*) from {table}"))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to find."""
        return not self._table.exists or not self._value("select exists (select from {table})")

    @property
    def ids(self) -> list[Any]:
        """The ids of all items, in the order in which they came."""
        if not self._table.exists:
            return []
        return [row[0] for row in self._rows("select id from {table} order by slot")]

    def known(self, ids: list[Any]) -> set[Any]:
        """Return those ids that are stored."""
        fitting = self._table.fitting(ids)
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
        """Return the items in some slots, as they were given."""
        query = "select slot, embedding from {table} where slot = any(%s)"
        found = {slot: _array(vector) for slot, vector in self._rows(query, slots.tolist())}
        return np.stack([found[slot] for slot in slots.tolist()])

    def fields(self, slots: np.ndarray) -> dict[str, list[Any]]:
        """Return the fields of the items in some slots."""
        query = "select slot, fields from {table} where slot = any(%s)"
        found = dict(self._rows(query, slots.tolist()))
        names = sorted({name for fields in found.values() for name in fields})
        return {name: [found[slot].get(name) for slot in slots.tolist()] for name in names}

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the slots and rows of all items as they are now, a block at a time."""
        with self._connections.another() as db, db.cursor(name="likewise_blocks") as cursor:
            cursor.execute(self._table.sql("select slot, embedding from {table} order by slot"))
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
    ) -> None:
        """Store items under unique ids, in one transaction."""
        from psycopg.errors import UniqueViolation
        from psycopg.types.json import Jsonb

        documents = [
            Jsonb({name: values[at] for name, values in fields.items()}) for at in range(len(ids))
        ]
        try:
            with self._connections.transaction() as db:
                self._table.make(db, self._serving, ids, items.shape[1], folded.shape[1])
                self._table.put(db, self._serving, (ids, items, folded, documents), new=new)
                self._table.build_graph(db, self._serving)
        except UniqueViolation as error:
            self._table.forget()
            raise ValueError("ids must be new, but another process has just stored one.") from error
        except BaseException:
            self._table.forget()  # what was made in the transaction is gone with it
            raise
        finally:
            self._longest = None
            if not self._table.exists:
                with self._connections.transaction() as db:
                    self._table.open(db, self._serving)

    def remove(self, ids: list[Any]) -> None:
        """Delete items."""
        with self._connections.transaction() as db:
            db.execute(self._table.sql("delete from {table} where id = any(%s)"), (ids,))

    def serve(self, serving: Serving) -> None:
        """Serve another similarity: where items are mapped, they are mapped again."""
        with self._connections.transaction() as db:
            if self._table.exists:
                self._table.remap(db, self._serving, serving)
        self._serving = serving
        self._longest = None

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

    def allowed(self, where: Where) -> Any:
        """Return a condition in SQL; None for no limit."""
        if where is None:
            return None
        if isinstance(where, SQL):
            return where.condition, list(where.parameters)
        if isinstance(where, Mapping):
            conditions, parameters = ["true"], []
            for name, wanted in where.items():
                among = wanted if isinstance(wanted, list) else [wanted]
                listed = [json.dumps(value) for value in among]
                missing = " or not fields ? %s::text" if None in among else ""
                conditions.append(f"(fields->%s::text = any(%s::jsonb[]){missing})")
                parameters += [name, listed, *([name] if missing else [])]
            return " and ".join(conditions), parameters
        return "id = any(%s)", [self._table.fitting(list(where))]

    def n_allowed(self, allowed: Any) -> int:
        """Return an upper bound."""
        return _UNKNOWN

    def search(self, folded: np.ndarray, k: int, allowed: Any) -> Found:
        """Find the `k` best slots of each folded query, all in one state of the table."""
        column = self._table.column(self._serving)
        operator = _OPERATORS[self._serving.metric]
        condition, parameters = allowed or ("true", [])
        query = self._table.sql(
            f"select slot, id, {column} {operator} %s as value from {{table}} "
            f"where {condition} order by {column} {operator} %s limit %s"
        )
        slots = np.full((len(folded), k), NO_SLOT)
        values = np.full((len(folded), k), np.inf)
        names: dict[int, Any] = {}
        with self._searching(filtered=allowed is not None) as db:
            for at, vector in enumerate(folded.astype(np.float32)):
                found = db.execute(query, (vector, *parameters, vector, k)).fetchall()
                for place, (slot, identifier, value) in enumerate(found):
                    slots[at, place], values[at, place] = slot, value
                    names[slot] = identifier
        self._connections.local.names = names
        if self._serving.metric == "inner_product":
            values = -values
        elif self._serving.metric == "cosine":
            values = 1 - values  # NaN for a zero vector, whose cosine is taken as 0
            values[np.isnan(values)] = 0
        return Found(*_cut(slots, values))

    @contextmanager
    def _searching(self, *, filtered: bool) -> Iterator[Any]:
        with self._connections.transaction(read_only=True) as db:
            self._table.check_folded(db, self._serving)
            settings = {"hnsw.ef_search": str(self._effort), "enable_indexscan": "on"}
            if self.is_exact:
                settings["enable_indexscan"] = "off"  # also if another process built a graph
            if filtered:
                settings["hnsw.iterative_scan"] = "strict_order"
            for name, value in settings.items():
                db.execute("select set_config(%s, %s, true)", (name, value))
            yield db

    def most_off(self, folded: np.ndarray) -> np.ndarray:
        """Return by how much rounding may have moved the values of each folded query."""
        if self._serving.metric == "cosine":
            reach, longest = np.ones(len(folded)), 1.0
        else:
            reach = np.sqrt(np.einsum("ij,ij->i", folded, folded, dtype=np.float64))
            if self._longest is None:
                column = self._table.column(self._serving)
                query = f"select coalesce(max(vector_norm({column})), 0) from {{table}}"
                self._longest = float(self._value(query))
            longest = self._longest
        return most_off(self._serving.metric, reach, longest, folded.shape[1], np.float32)

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._connections.transaction() as db:
            return list(db.execute(self._table.sql(query), parameters).fetchall())

    def _value(self, query: str) -> Any:
        return self._rows(query)[0][0]


def _array(vector: Any) -> np.ndarray:
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, np.float32)


def _cut(slots: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave away the columns in which nothing was found for any query."""
    n_found = max(int((slots != NO_SLOT).sum(axis=1).max()), 1)
    return slots[:, :n_found], values[:, :n_found]
