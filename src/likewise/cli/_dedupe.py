"""``likewise dedupe``: find the records of one table that mean the same thing."""

from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    match_options: dict[str, Any],
    file: Annotated[str, typer.Argument(help="A table.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Path of the table with clusters: .csv, .parquet ..."),
    ] = Path("clusters.csv"),
    one_to_one: Annotated[bool, typer.Option("--one-to-one", hidden=True)] = False,
    link: Annotated[
        str, typer.Option(help="Clusters join by the average of their pairs, or a single one.")
    ] = "average",
) -> None:
    """Find the records of one table that mean the same thing; write it with their clusters."""
    from likewise.cli._matching import matching

    if one_to_one:
        raise UsageError("--one-to-one is for two tables: use likewise match.")
    work = matching(console, [file], read_options, match_options, output, link=link)
    clusters = work.report.clusters
    rows = work.tables[0].rows
    for name in ("cluster_id", "probability"):
        if name in rows.column_names:
            raise UsageError(f"{file} has a column {name!r} already: rename it or --ignore it.")
        rows = rows.append_column(name, clusters.column(name))
    work.write(rows)
