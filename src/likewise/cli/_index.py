"""``likewise index``: build an index, search it, tune it, check it."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from likewise.cli._console import Console, UsageError, with_console

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Store items, and find those most similar to a query.",
)

Index = Annotated[str, typer.Argument(help="An index file.")]
Model = Annotated[
    str | None, typer.Option(help="The model file, for queries that are rows of a table or text.")
]
Queries = Annotated[str | None, typer.Option(help="A table of queries.")]


@app.command()
@with_console
def build(
    console: Console,
    read_options: dict[str, Any],
    model: Annotated[str, typer.Argument(help="A model file.")],
    items: Annotated[str, typer.Option(help="The table of the items.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The index file to write.")] = Path(
        "items.index"
    ),
    engine: Annotated[str, typer.Option(help="auto, exact, faiss, usearch or pgvector.")] = "auto",
    fold: Annotated[str, typer.Option(help="auto, query, both or rerank.")] = "auto",
    url: Annotated[str | None, typer.Option(help="For pgvector: postgresql://...")] = None,
    table: Annotated[str | None, typer.Option(help="For pgvector: the table's name.")] = None,
    field: Annotated[
        list[str], typer.Option(help="Keep a column beside the items, for --where (repeatable).")
    ] = [],  # noqa: B006 (typer reads the default from here)
) -> None:
    """Build an index from a table of items."""
    from likewise import Index as IndexOfItems
    from likewise import show_progress
    from likewise._validation import check_choice
    from likewise.cli._inputs import (
        check_paths,
        ids_of,
        offsets_of,
        open_model,
        open_table,
        unknown_column,
    )
    from likewise.cli._options import check_option
    from likewise.index import ENGINE_NAMES, FOLDS

    check_option(check_choice, engine, "--engine", ENGINE_NAMES)
    check_option(check_choice, fold, "--fold", FOLDS)
    check_paths(output=output)
    source = open_table(console, items, read_options)
    opened = open_model(model, source.rows)
    columns = list(getattr(source.rows, "column_names", []))
    for name in field:
        if name not in columns:
            raise unknown_column("--field", name, items, columns)
    index = IndexOfItems(
        opened.similarity_,
        engine,
        url=url,
        table=table,
        fold=fold,
        offsets=offsets_of(opened),
    )
    with show_progress(not console.quiet):
        index.add(
            ids_of(source, opened.columns.id_),
            opened.transform(source.rows),
            {name: source.rows.column(name).to_pylist() for name in field},
        )
    exists = output.exists()
    index.save(output)
    if exists:
        console.message(f"overwritten: {output}")
    summary = _summary(index)
    console.result({**summary, "index": str(output)}, *_lines(summary), f"written to {output}")


@app.command()
@with_console
def search(
    console: Console,
    read_options: dict[str, Any],
    index: Index,
    query: Annotated[
        str,
        typer.Option(
            help="A stored id, a JSON list of numbers; with --model also a JSON object or text; "
            'with --queries "row 17".'
        ),
    ],
    model: Model = None,
    queries: Queries = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of items to find.")] = 10,
    where: Annotated[
        list[str], typer.Option(help="Only items with field=value (repeatable).")
    ] = [],  # noqa: B006
) -> None:
    """Find the items most similar to a query."""
    from likewise.evaluation import Table

    opened = _open(index)
    matches = opened.search(
        _query(console, opened, query, model, queries, read_options), k, _conditions(where)
    ).row(0)
    console.result(
        {"query": query, "matches": [{"id": i, "score": score} for i, score in matches]},
        Table(("id", "score"), [(str(i), f"{score:.4f}") for i, score in matches]),
    )


@app.command()
@with_console
def tune(
    console: Console,
    read_options: dict[str, Any],
    index: Index,
    recall: Annotated[float, typer.Option(help="The share of the best items to find.")] = 0.95,
    model: Model = None,
    queries: Queries = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of best items.")] = 10,
) -> None:
    """Set the minimum effort that reaches a recall, in the file."""
    opened = _open(index)
    tuning = opened.tune(recall, _query_rows(console, model, queries, read_options), k)
    opened.save(index)
    console.result(
        {
            "target": tuning.target,
            "recall": tuning.recall,
            "effort": tuning.effort,
            "steps": [vars(step) for step in tuning.steps],
        },
        str(tuning),
    )


@app.command()
@with_console
def check(
    console: Console,
    read_options: dict[str, Any],
    index: Index,
    model: Model = None,
    queries: Queries = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of best items.")] = 10,
) -> None:
    """Show the contents of an index, and the share of the best items that it finds."""
    opened = _open(index)
    summary = _summary(opened)
    if len(opened):
        summary["served_recall"] = opened.served_recall(
            _query_rows(console, model, queries, read_options), k
        )
    console.result(summary, *_lines(summary))


def _open(path: str) -> Any:
    from likewise import Index as IndexOfItems
    from likewise import load

    opened = load(path)
    if not isinstance(opened, IndexOfItems):
        raise UsageError(f"{path} holds a {type(opened).__name__}, not an index.")
    return opened


def _summary(index: Any) -> dict[str, Any]:
    return {
        "items": len(index),
        "engine": index.engine,
        "reason": index.reason,
        "exact": index.is_exact,
        "effort": index.effort,
        "similarity": repr(index.similarity),
    }


def _lines(summary: dict[str, Any]) -> list[str]:
    lines = [
        f"{summary['items']} items, by {summary['similarity']}",
        f"engine {summary['engine']}: {summary['reason']}",
        "every search is exact" if summary["exact"] else f"approximate, effort {summary['effort']}",
    ]
    if "served_recall" in summary:
        lines.append(f"served recall: {summary['served_recall']:.4f}")
    return lines


def _query(
    console: Console,
    index: Any,
    text: str,
    model: str | None,
    queries: str | None,
    read_options: dict[str, Any],
) -> Any:
    """Return the query: a stored id, numbers, or a row for the model to read."""
    from likewise.cli._inputs import find_row, open_model, row_of, typed_row

    if queries is not None:
        opened, table = _queries_of(console, model, queries, read_options)
        columns = opened.query_columns or opened.columns
        return opened.transform_queries(row_of(table, find_row(table, columns.id_, text)))
    if text.lstrip().startswith("["):
        try:
            return [json.loads(text)]
        except ValueError as error:
            raise UsageError(f"--query is not a JSON list: {error}.") from error
    name = text.removeprefix("id ")
    stored = [i for i in (name, int(name) if name.isdecimal() else name) if i in index]
    if stored or model is None:
        return stored[0] if stored else name
    opened = open_model(model)
    typed = typed_row(opened.query_columns or opened.columns, text)
    return name if typed is None else opened.transform_queries(typed)


def _query_rows(
    console: Console, model: str | None, queries: str | None, read_options: dict[str, Any]
) -> Any:
    if queries is None:
        return None
    opened, table = _queries_of(console, model, queries, read_options)
    return opened.transform_queries(table.rows)


def _queries_of(
    console: Console, model: str | None, queries: str, read_options: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the model, and the table of queries that it reads."""
    from likewise.cli._inputs import open_model, open_table

    if model is None:
        raise UsageError("--queries needs --model, which reads the table.")
    table = open_table(console, queries, read_options)
    return open_model(model, table.rows), table


def _conditions(where: list[str]) -> dict[str, Any] | None:
    conditions: dict[str, Any] = {}
    for condition in where:
        name, equals, value = condition.partition("=")
        if not equals:
            raise UsageError(f"--where must be field=value, but {condition!r} was given.")
        conditions.setdefault(name, []).extend(_possible_values(value))
    return conditions or None


def _possible_values(value: str) -> list[Any]:
    """Return the text of a value, and the number or boolean that it may stand for."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return [value]
    return [value, parsed] if isinstance(parsed, int | float | bool) else [value]
