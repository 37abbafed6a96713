"""``likewise search``: find the items that are most similar to a query."""

from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    model: Annotated[str, typer.Argument(help="A model file.")],
    items: Annotated[str, typer.Option(help="The table to search in.")],
    query: Annotated[
        str,
        typer.Option(help='"row 17", "id A12", a JSON object of columns, or a text to search for.'),
    ],
    queries: Annotated[
        str | None, typer.Option(help="The table of the row or id; the items by default.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of items to find.")] = 10,
) -> None:
    """Find the items that are most similar to a query."""
    from likewise.cli._inputs import (
        fields_of,
        find_row,
        imputed_columns,
        names_row,
        open_model,
        open_table,
        row_of,
        shown_columns,
        text_hint,
        typed_row,
    )

    table = open_table(console, items, read_options)
    opened = open_model(model, table.rows)
    source = table if queries is None else open_table(console, queries, read_options)
    columns = opened.query_columns or opened.columns
    query_row = own_row = None
    if not names_row(source, columns.id_, query):
        query_row = typed_row(columns, query, opened.target)
    if query_row is None:
        row = find_row(source, columns.id_, query, text_hint(columns, query))
        query_row = row_of(source, row)
        if queries is None:
            if opened.query_columns is not None:
                raise UsageError("queries of this model are not items: --queries is needed.")
            own_row = row
    encoded = opened.transform_queries(query_row, absent="impute")
    imputed = imputed_columns(console, columns, query_row, "the query")
    matches = opened.similarity_.neighbors(
        encoded,
        _stored(opened, table),
        min(k + (own_row is not None), len(table)),
    )
    best = [(row, score) for row, score in matches.row(0) if row != own_row][:k]
    shown = shown_columns(opened, table)
    listed = [
        {
            **_named(opened, table, row),
            "score": score,
            "fields": fields_of(table, row, shown),
        }
        for row, score in best
    ]
    console.result({"query": query, "imputed": imputed, "matches": listed}, _table(listed, shown))


def _stored(opened: Any, table: Any) -> Any:
    """Return the items as an index stores them, with the offsets of the model."""
    from likewise.cli._inputs import ids_of, offsets_of

    items, offsets = opened.transform(table.rows), offsets_of(opened)
    return items if offsets is None else offsets.apply(ids_of(table, opened.columns.id_), items)


def _named(opened: Any, table: Any, row: int) -> dict[str, Any]:
    name = opened.columns.id_
    if name is None or name not in table.rows.column_names:
        return {"row": row}
    return {"row": row, "id": table.rows.column(name)[row].as_py()}


def _table(listed: list[dict[str, Any]], shown: list[str]) -> Any:
    from likewise.cli._inputs import short_text
    from likewise.evaluation import Table

    return Table(
        ("row", "score", *shown),
        [
            (
                str(match["row"]),
                f"{match['score']:.4f}",
                *(short_text(match["fields"][name]) for name in shown),
            )
            for match in listed
        ],
    )
