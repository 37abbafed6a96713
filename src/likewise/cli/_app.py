"""All commands, by name."""

from typing import Annotated

import typer

from likewise.cli import (
    _compare,
    _datasets,
    _dedupe,
    _evaluate,
    _explain,
    _export,
    _fit,
    _index,
    _learners,
    _match,
    _search,
    _serve,
    _warmup,
)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn what similar means: from a table to a model, a comparison and a report.",
)
for module in (
    _compare,
    _fit,
    _evaluate,
    _search,
    _explain,
    _export,
    _serve,
    _match,
    _dedupe,
    _datasets,
    _learners,
    _warmup,
):
    app.command(name=module.__name__.rpartition("_")[2])(module.command)
app.add_typer(_index.app, name="index")


def _version(requested: bool) -> None:
    if requested:
        from likewise import __version__

        typer.echo(f"likewise {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle options that belong to no command."""
