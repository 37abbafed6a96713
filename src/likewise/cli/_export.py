"""``likewise export``: write a model for another search engine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console


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
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that no export has written.")
    ] = False,
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
    before = {path for path in output.glob("*") if path.is_file()}
    try:
        written = export(
            opened.similarity_,
            output,
            to,
            ids,
            numbers,
            offsets_of(opened),
            columns=_query_columns(opened),
            overwrite=force,
        )
    except FileExistsError as error:
        raise UsageError(f"{error} Give --force, or another --output.") from error
    replaced = [path for path in written if path in before]
    removed = sorted(path for path in before if not path.exists())
    for done, paths in (("overwritten", replaced), ("removed, of an earlier export", removed)):
        if paths:
            console.message(f"{done}: {', '.join(path.name for path in paths)}")
    console.result(
        {
            "to": to,
            "files": [str(path) for path in written],
            "overwritten": [str(path) for path in replaced],
            "removed": [str(path) for path in removed],
        },
        *(str(path) for path in written),
        f"{output / 'README.md'} shows how to search with them.",
    )


def _query_columns(opened: Any) -> Any:
    """Return the encoding of queries; None if the file of a similarity does not define it."""
    columns = opened.query_columns or opened.columns
    similarity = opened.similarity_
    width = getattr(similarity, "n_query_features", getattr(similarity, "n_features", None))
    return columns if width in (None, len(columns.feature_names_)) else None
