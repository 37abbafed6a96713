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
    from likewise.cli._inputs import find_row, open_model, open_table, row_of

    table = open_table(console, items, read_options)
    opened = open_model(model, table.rows)
    if queries is None and opened.query_columns is not None:
        raise UsageError("queries of this model are not items: --queries is needed.")
    source = table if queries is None else open_table(console, queries, read_options)
    query_id = (opened.query_columns or opened.columns).id_
    pair = find_row(source, query_id, first), find_row(table, opened.columns.id_, second)
    why = opened.explain(row_of(source, pair[0]), row_of(table, pair[1]), top)
    console.result(
        {
            "rows": list(pair),
            "score": why.score,
            "terms": [term._asdict() for term in why],
            "rest": why.rest,
        },
        why,
    )
