"""The tables of a store, in the words of any database."""

_TABLES = """
create table if not exists note (name text primary key, value text not null);
create table if not exists counter (name text primary key, value {whole} not null);
insert into counter values ('item', 0), ('entry', 0), ('position', 0), ('version', 0)
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
    at {real} not null
);
create index if not exists entry_end on entry ((first + size));
create unique index if not exists entry_undoes on entry (undoes) where undoes is not null;
create table if not exists checkpoint (
    name text primary key, entry {whole} not null, position {whole} not null,
    asked {whole} not null, foretold {whole} not null, state {binary} not null,
    twin {binary}
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


def table_statements(*, whole: str, real: str, binary: str, vector: str) -> list[str]:
    """Return what makes the tables where they are missing, by a database's names of types."""
    tables = _TABLES.format(whole=whole, real=real, binary=binary, vector=vector)
    return tables.split(";")
