"""``likewise export``: write a model for another search engine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, with_console


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    model: Annotated[str, typer.Argument(help="A model file.")],
    to: Annotated[str, typer.Option(help="numpy, faiss, usearch or pgvector.")],
    items: Annotated[
        str | None,
        typer.Option(help="The table of the items, to be written as well."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path(
        "export"
    ),
) -> None:
    """Write the files that another program needs to search by a model, with instructions."""
    from likewise._validation import check_choice
    from likewise.cli._inputs import ids_of, offsets_of, open_model, open_table
    from likewise.cli._options import check_option
    from likewise.index import EXPORTS, export

    check_option(check_choice, to, "--to", EXPORTS)
    table = None if items is None else open_table(console, items, read_options)
    opened = open_model(model, None if table is None else table.rows)
    numbers = None if table is None else opened.transform(table.rows)
    ids = None if table is None else ids_of(table, opened.columns.id_)
    written = export(opened.similarity_, output, to, ids, numbers, offsets_of(opened))
    console.result(
        {"to": to, "files": [str(path) for path in written]},
        *(str(path) for path in written),
        f"{output / 'README.md'} shows how to search with them.",
    )
