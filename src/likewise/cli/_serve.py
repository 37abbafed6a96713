"""``likewise serve``: search, learn and explain over HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli._show import Show, WrongUse, reported


@reported
def command(
    show: Show,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    items: Annotated[
        str | None,
        typer.Option(help="The table of the items: a column id, the rest as the model knows it."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="A file or postgresql://...; by default a file beside the model."),
    ] = None,
    schema: Annotated[str, typer.Option(help="Of a PostgreSQL store, one a model.")] = "likewise",
    host: Annotated[str, typer.Option(help="Where to listen; elsewhere a token is needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(envvar="LIKEWISE_TOKEN", help="What every request must bring."),
    ] = None,
    engine: Annotated[str, typer.Option(help="What searches: auto, exact, faiss, usearch.")] = (
        "auto"
    ),
    image_shape: Annotated[
        str | None, typer.Option(help="Height and width, such as 8x8, if the numbers are pixels.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A column that is shown, and not compared.")
    ] = None,
    learner: Annotated[
        str, typer.Option(help="What learns from feedback: ridge or aroma.")
    ] = "ridge",
    r: Annotated[
        float, typer.Option(help="Of aroma: noise of a comparison; more learns more slowly.")
    ] = 10.0,
    feedback_rate: Annotated[
        float, typer.Option(help="Requests with feedback a second that a client may send.")
    ] = 200.0,
) -> None:
    """Search, learn from feedback and show what was learned, over HTTP."""
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
            feedback_rate=feedback_rate,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from error
    serve(settings, lambda address: show.result({"address": address}, f"serving at {address}"))
