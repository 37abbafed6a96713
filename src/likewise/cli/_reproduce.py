"""``likewise reproduce``: the papers' tables with ours beside."""

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli._show import Show, WrongUse, reported


@reported
def command(
    show: Show,
    name: Annotated[str | None, typer.Argument(help="The paper; without it, a list.")] = None,
    folder: Annotated[Path, typer.Option(help="Where table and figures go.")] = Path(
        "results/reproduce"
    ),
    only: Annotated[
        str | None, typer.Option(help="Measure settings whose name has this in it.")
    ] = None,
) -> None:
    """Measure a paper's table and show it beside the published one."""
    from dataclasses import asdict

    from likewise._validation import unknown_name
    from likewise.reproduce import known, reproduce, table

    if name is None:
        show.result({"papers": known()}, *known())
        return
    if name not in known():
        raise WrongUse(str(unknown_name(name, "NAME", known())))
    rows = reproduce(name, folder, only=only, verbose=not show.quiet)
    show.result({"rows": [asdict(row) for row in rows]}, table(rows))
    show.remark(f"written to {folder}")
