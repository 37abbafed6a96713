"""The report that ``likewise fit`` writes beside the model."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise.cli._console import Console


def report_on(
    console: Console,
    selection: Any,
    places: tuple[Path, Path | None],
    model: Any,
    table: Any,
    files: Sequence[str],
    *,
    queries: Any = None,
) -> str | None:
    """Write the report, unless it is not wanted or the model has no similarity; return its path.

    Parameters
    ----------
    console : Console
    selection : Selection or TripletSelection
    places : paths of the model and of the report
    model : TableModel
    table : Table
        Labeled rows, or items.
    files : the file of the table, and that of the queries
    queries : Table, optional
        Where they have other columns than the items.
    """
    model_path, path = places
    if path is None:
        return None
    from likewise import as_similarity
    from likewise.cli._inputs import offsets_of
    from likewise.report import write_report

    try:
        after = model.similarity_
    except ValueError as error:
        console.message(f"no report: {error}")
        return None
    X = items = model.transform(table.rows)
    columns, sentences, before = model.columns, model.columns.sentences_, None
    if queries is not None:
        columns = model.query_columns
        sentences = [*columns.sentences_, *sentences]
        X = columns.transform(queries.rows)
    if X.shape[1] == items.shape[1]:
        before = as_similarity("euclidean" if after.has_distance else "cosine")
    notes, moves_items = list(table.notes), offsets_of(model) is not None
    if moves_items:
        notes.append("Neighbors and maps below ignore the offsets of judged items.")
    try:
        write_report(
            selection,
            path,
            model=model,
            title=table.name,
            X=X,
            y=table.labels if queries is None else None,
            before=before,
            encoding=columns,
            table=(queries or table).rows,
            items=None if queries is None else items,
            item_names=None if queries is None else model.columns.feature_names_,
            columns=sentences,
            model_path=model_path,
            notes=notes,
            snippets=_snippets(str(model_path), table, files, queries, moves_items),
            verbose=not console.quiet,
        )
    except KeyboardInterrupt:
        console.message(f"interrupted: no report, but the model is kept in {model_path}.")
        return None
    return str(path)


def _snippets(
    model: str, table: Any, files: Sequence[str], queries: Any, moves_items: bool
) -> list[tuple[str, str]]:
    """Return the code to use a model that takes tables, with the names of its files."""
    quoted, searched_with = shlex.quote(model), "items" if queries is None else "queries"
    python = [
        "import likewise as lw",
        "",
        f"model = lw.load({_python_text(model)})",
        f"items = lw.tables.read_table({_python_text(files[0])}).rows  # or any data frame",
    ]
    if queries is not None:
        python.append(f"queries = lw.tables.read_table({_python_text(files[1])}).rows")
    python += [
        f"model.score({searched_with}, items)",
        f"model.neighbors({searched_with}, items, k=10).ids",
    ]
    items = f"--items {shlex.quote(files[0])}"
    search = f"likewise search {quoted} {items} --query 'row 17' -k 10"
    shell = [search + ("" if queries is None else f" --queries {shlex.quote(files[1])}")]
    if table.labels is not None:
        python.append("model.predict(items)")
        shell.append(f"likewise explain {quoted} {items} 17 42")
        target = shlex.quote(table.target)
        shell.append(f"likewise evaluate {quoted} new_rows.csv --target {target}")
    numbers = "model.transform(items)"
    if moves_items:
        numbers = f"model.estimator.offsets_.apply(ids, {numbers})"
    database = [
        "s = model.similarity_",
        f"stored = s.fold_items({numbers})  # the vectors to store in the database",
        f"sent = s.fold_queries(model.transform_queries({searched_with}))  # to search with",
        "s.folded_metric  # the metric of its index",
    ]
    parts = {"Python": python, "Command line": shell, "Vector database": database}
    return [(heading, "\n".join(lines)) for heading, lines in parts.items()]


def _python_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
