"""``likewise match``: find the records of two tables that mean the same thing."""

from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, with_console


@with_console
def command(
    console: Console,
    read_options: dict[str, Any],
    match_options: dict[str, Any],
    left: Annotated[str, typer.Argument(help="A table.")],
    right: Annotated[str, typer.Argument(help="Another table, with columns of the same names.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Path of the matches: .csv, .parquet or .jsonl.")
    ] = Path("matches.csv"),
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one", help="Let a record match one record at most.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Write all candidates, not the matches alone.")
    ] = False,
    wide: Annotated[
        bool, typer.Option("--wide", help="Write both records beside each pair.")
    ] = False,
) -> None:
    """Find the records of two tables that mean the same thing, from no labels or a few."""
    from likewise.cli._matching import matching, side_by_side

    work = matching(console, [left, right], read_options, match_options, output, one_to_one)
    report = work.report
    pairs = report.pairs if every else report.pairs.filter(report.pairs["decided"])
    work.write(side_by_side(pairs, work.tables, work.id_column) if wide else pairs)
