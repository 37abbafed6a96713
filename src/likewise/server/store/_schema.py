"""The tables of a store, and the migration of a store with an earlier schema."""

import json
from collections.abc import Callable

from likewise.server.store._journal import Journal
from likewise.server.store._versions import Versions

SCHEMA = 4
_FIRST_SCHEMA = 1  # has no note of its number, and stores triplets instead of pages
_VECTORS_IN_BODIES = 2  # stores the vector of a query once for each page
# Schema 3 has pages without the version that ranked them, which is as it was.
_TABLES = """
create table if not exists note (name text primary key, value text not null);
create table if not exists counter (name text primary key, value {whole} not null);
insert into counter values ('item', 0), ('entry', 0), ('position', 0), ('version', 0), ('query', 0)
    on conflict do nothing;
create table if not exists item (
    revision {whole} primary key, id text not null, shown text not null,
    vector {vector} not null, cells text not null, retired {whole}
);
create unique index if not exists item_id on item (id) where retired is null;
create index if not exists item_retired on item (retired) where retired is not null;
create table if not exists entry (
    number {whole} primary key, key text not null unique, digest text not null,
    first {whole} not null, size {whole} not null, body text not null, undoes {whole},
    at {real} not null, person text
);
create index if not exists entry_end on entry ((first + size));
create unique index if not exists entry_undoes on entry (undoes) where undoes is not null;
create table if not exists query (
    number {whole} primary key, digest text not null unique, vector {binary} not null
);
create table if not exists entry_query (
    entry {whole} not null, query {whole} not null, primary key (entry, query)
);
create index if not exists entry_query_query on entry_query (query);
create table if not exists saved_state (
    entry {whole} primary key, state {binary} not null, twin {binary} not null
);
create table if not exists checkpoint (
    name text primary key, entry {whole} not null, position {whole} not null,
    asked {whole} not null, foretold {whole} not null, state {binary} not null,
    twin {binary}
);
create table if not exists served (
    live {whole} not null, version {whole} not null, searches {whole} not null,
    primary key (live, version)
);
create table if not exists progress (
    position {whole} primary key, asked {whole}, foretold {whole}
);
create table if not exists version (
    number {whole} primary key, origin text not null, position {whole} not null,
    created {real} not null, promoted {real}, held integer not null, verdict text,
    similarity {binary}, recipe text, offsets {binary}, twin {binary}
)
"""
_ADDED_COLUMNS = {
    "entry": [("person", "text")],
    "checkpoint": [("twin", "{binary}")],
    "version": [("recipe", "text"), ("offsets", "{binary}"), ("twin", "{binary}")],
}
_INDEXES = "create index if not exists entry_person on entry (person) where person is not null"
_BATCH_SIZE = 500


class Schema(Journal, Versions):
    """Creates and migrates the tables, in the transaction that opens a store."""

    def _create_tables(self, types: dict[str, str]) -> None:
        """Create missing tables, and migrate a store of an earlier schema; reject a later one.

        In schema 1 triplets become pages of two. The learner restarts from the journal, and the
        live version stays live. In schema 2 the vectors of queries move to a table of their own.

        Parameters
        ----------
        types : dict
            The database's names of the types `whole`, `real`, `binary` and `vector`.
        """
        for statement in _TABLES.format(**types).split(";"):
            self._execute(statement)
        schema = int(self._note("schema") or _FIRST_SCHEMA)
        if schema > SCHEMA:
            raise ValueError(
                f"the store was written by a later version of likewise (its schema is {schema}, "
                f"and this version supports {SCHEMA}): use that version, or another --store."
            )
        if schema <= _VECTORS_IN_BODIES:
            self._migrate(schema, types)
        self._set_note("schema", str(SCHEMA))

    def _migrate(self, schema: int, types: dict[str, str]) -> None:
        for table, columns in _ADDED_COLUMNS.items():
            existing = self._columns(table)
            for name, kind in columns:
                if name not in existing:
                    self._execute(f"alter table {table} add column {name} {kind.format(**types)}")
        self._execute(_INDEXES)
        if schema < _VECTORS_IN_BODIES:
            self._convert_triplets()
            ((position,),) = self._execute(
                "select coalesce(max(position), 0) from version "
                "where origin = 'learned' and promoted is not null"
            )
            self._set_note("judged_from", str(position))
            self._reset_learner()
        self._convert_bodies(lambda number, body: self._with_numbers(number, json.loads(body)))
        ((last,),) = self._execute("select coalesce(max(entry), 0) from checkpoint")
        self._erase_undone(last)

    def _convert_triplets(self) -> None:
        self._convert_bodies(
            lambda _, body: json.dumps(
                [(q, (closer, farther), (closer,)) for q, closer, farther, *_ in json.loads(body)]
            )
        )

    def _convert_bodies(self, convert: Callable[[int, str], str]) -> None:
        last = 0
        while rows := self._execute(
            "select number, body from entry where number > ? order by number limit ?",
            [last, _BATCH_SIZE],
        ):
            last = rows[-1][0]
            self._execute_many(
                "update entry set body = ? where number = ?",
                [(convert(number, body), number) for number, body in rows],
            )
