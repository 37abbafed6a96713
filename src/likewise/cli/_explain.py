"""``likewise explain``: explain the score of two rows."""

from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    model: Annotated[str, typer.Argument(help="A model file.")],
    items: Annotated[str, typer.Option(help="The table of both rows.")],
    first: Annotated[str, typer.Argument(help='"17", "row 17" or "id A12"')],
    second: Annotated[str, typer.Argument(help="The other row, in the same form.")],
    queries: Annotated[
        str | None, typer.Option(help="The table of the first row; the items by default.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of terms to print.")] = 10,
) -> None:
    """Print the contributions of features to the score of two rows."""
    from likewise.cli._inputs import (
        fields_of,
        find_row,
        imputed_columns,
        open_model,
        open_table,
        row_of,
        shown_columns,
    )

    table = open_table(console, items, read_options)
    opened = open_model(model, table.rows)
    if queries is None and opened.query_columns is not None:
        raise UsageError("queries of this model are not items: --queries is needed.")
    source = table if queries is None else open_table(console, queries, read_options)
    columns = opened.query_columns or opened.columns
    pair = find_row(source, columns.id_, first), find_row(table, opened.columns.id_, second)
    rows = row_of(source, pair[0]), row_of(table, pair[1])
    why = opened.explain(*rows, top)
    for place, (encoding, row) in enumerate(zip((columns, opened.columns), rows, strict=True)):
        imputed_columns(console, encoding, row, f"row {pair[place]}")
    fields = [
        fields_of(of, row, shown_columns(opened, of))
        for of, row in zip((source, table), pair, strict=True)
    ]
    console.result(
        {
            "rows": list(pair),
            "fields": fields,
            "score": why.score,
            "terms": [term._asdict() for term in why],
            "rest": why.rest,
        },
        *(_line(row, values) for row, values in zip(pair, fields, strict=True)),
        why,
    )


def _line(row: int, fields: dict[str, Any]) -> str:
    from likewise.cli._inputs import short_text

    cells = ", ".join(f"{name} {short_text(value)}" for name, value in fields.items())
    return f"row {row}: {cells}" if cells else f"row {row}"
