"""``likewise search``: find the items that are most alike to a query."""

from typing import Annotated, Any

import typer

from likewise.cli._show import Show, WrongUse, reported

_SHOWN_COLUMNS = 4
_SHOWN_LETTERS = 40


@reported
def command(
    show: Show,
    model: Annotated[str, typer.Argument(help="A model file.")],
    items: Annotated[str, typer.Option(help="The table to search in.")],
    query: Annotated[
        str,
        typer.Option(help='"row 17", "id A12", a JSON object of columns, or the text to look for.'),
    ],
    queries: Annotated[
        str | None, typer.Option(help="The table that the row or id is of; the items by default.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to find.")] = 10,
) -> None:
    """Find the items most alike to a query."""
    from likewise.cli._inputs import find_row, open_model, row_of, typed_row
    from likewise.tables import read_table

    table = read_table(items)
    opened = open_model(model, table.rows)
    source = table if queries is None else read_table(queries)
    asked, itself = typed_row(opened.query_columns or opened.columns, query), None
    if asked is None:
        row = find_row(source, (opened.query_columns or opened.columns).id_, query)
        asked = row_of(source, row)
        if queries is None:
            if opened.query_columns is not None:
                raise WrongUse("queries of this model are not items: --queries is needed.")
            itself = row
    matches = opened.similarity_.neighbors(
        opened.transform_queries(asked),
        _stored(opened, table),
        min(k + (itself is not None), len(table)),
    )
    found = [(row, score) for row, score in matches.row(0) if row != itself][:k]
    listed = [{**_named(opened, table, row), "score": score} for row, score in found]
    show.result({"query": query, "matches": listed}, _table(table, listed))


def _stored(opened: Any, table: Any) -> Any:
    """Return the items as an index would store them: moved by the model's offsets."""
    from likewise.cli._inputs import ids_of, offsets_of

    items, offsets = opened.transform(table.rows), offsets_of(opened)
    return items if offsets is None else offsets.apply(ids_of(table, opened.columns.id_), items)


def _named(opened: Any, table: Any, row: int) -> dict[str, Any]:
    name = opened.columns.id_
    if name is None or name not in table.rows.column_names:
        return {"row": row}
    return {"row": row, "id": table.rows.column(name)[row].as_py()}


def _table(table: Any, listed: list[dict[str, Any]]) -> Any:
    from likewise.evaluation import Table

    names = list(getattr(table.rows, "column_names", []))[:_SHOWN_COLUMNS]
    return Table(
        ("row", "score", *names),
        [
            (
                str(match["row"]),
                f"{match['score']:.4f}",
                *(_short(table.rows.column(name)[match["row"]].as_py()) for name in names),
            )
            for match in listed
        ],
    )


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[: _SHOWN_LETTERS - 1]}…"
