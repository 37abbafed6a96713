"""``likewise serve``: search, learn from feedback and explain over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli._console import Console, UsageError, with_console


@with_console
def command(
    console: Console,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    items: Annotated[
        str | None,
        typer.Option(help="Table of the items: a column id, and the columns of the model."),
    ] = None,
    left: Annotated[
        Path | None,
        typer.Option(help="A table of a matcher: ask whether two records are the same."),
    ] = None,
    right: Annotated[
        Path | None, typer.Option(help="The other table; without it, ask about duplicates.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labeled pairs that the matcher begins with.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="LIKEWISE_STORE",
            help="A file, or postgresql://...; by default a file beside the model.",
        ),
    ] = None,
    schema: Annotated[str, typer.Option(help="Schema of a PostgreSQL store.")] = "likewise",
    host: Annotated[str, typer.Option(help="Address to listen on; a public one needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="LIKEWISE_TOKEN", help="Token that every request must send."),
    ] = None,
    engine: Annotated[str, typer.Option(help="Search engine: auto, exact, faiss or usearch.")] = (
        "auto"
    ),
    image_shape: Annotated[
        str | None, typer.Option(help="Height and width of items that are images, such as 8x8.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A column that is shown and not compared.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="package.module:function that turns a list of texts into vectors."),
    ] = None,
    text_column: Annotated[
        str, typer.Option(help="Column of the items with texts, for --encoder and --hybrid.")
    ] = "text",
    hybrid: Annotated[
        float | None,
        typer.Option(help="Initial weight of a lexical score (BM25), such as 0.3; learned on."),
    ] = None,
    learner: Annotated[str, typer.Option(help="Learner of feedback: ridge or aroma.")] = "ridge",
    r: Annotated[float, typer.Option(help="AROMA's r: larger values learn more slowly.")] = 10.0,
    canary: Annotated[
        float, typer.Option(help="Share of searches that the newest candidate answers.")
    ] = 0.0,
    workers: Annotated[int, typer.Option(help="Number of processes that answer requests.")] = 1,
    feedback_rate: Annotated[
        float,
        typer.Option(help="Limit of a client's feedback requests per second, in each worker."),
    ] = 200.0,
    root_path: Annotated[
        str, typer.Option(help="Path under which a proxy serves it, such as /sim.")
    ] = "",
    forwarded_allow_ips: Annotated[
        str,
        typer.Option(help="Proxies whose X-Forwarded-Prefix is trusted: addresses and networks."),
    ] = "",
) -> None:
    """Serve a model over HTTP: search, learn from feedback, explain."""
    from likewise.cli._options import shape
    from likewise.server import Settings, serve

    if not model.is_file():
        raise FileNotFoundError(f"there is no file {model}.")
    try:
        settings = Settings(
            model=model,
            items=None if items is None else Path(items),
            store=store,
            schema=schema,
            host=host,
            port=port,
            token=token,
            engine=engine,
            learner=learner,
            r=r,
            image_shape=shape(image_shape),
            label=label,
            encoder=encoder,
            text_column=text_column,
            hybrid=hybrid,
            canary=canary,
            workers=workers,
            feedback_rate=feedback_rate,
            root_path=root_path,
            forwarded_allow_ips=forwarded_allow_ips,
            left=left,
            right=right,
            labels=labels,
        )
    except ValueError as error:  # begins with the name of a setting
        name, _, rest = str(error).partition(" ")
        raise UsageError(f"--{name.replace('_', '-')} {rest}") from error
    serve(
        settings,
        lambda address: console.result({"address": address}, f"serving at {address}"),
        console.message,
    )
