"""Input files and output paths of commands, checked before any work."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likewise._validation import check_choice, did_you_mean
from likewise.cli._console import Console, UsageError
from likewise.cli._options import check_option

_LISTED = 10
_MAX_SHOWN = 4  # columns of a row
_MAX_LETTERS = 40


def unknown_column(option: str, name: str, table: str, columns: Any) -> UsageError:
    """Return the error for an unknown column, with the nearest name."""
    columns = list(columns)
    hint = did_you_mean(name, columns, cutoff=0.5)
    return UsageError(
        f"{option} names {name!r}, but {table} has no such column.{hint} "
        f"It has: {_listed(columns) or 'none'}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" ..." if len(names) > _LISTED else "")


def open_table(console: Console, source: str, options: Any, n_features: int | None = None) -> Any:
    """Read a table and print its format."""
    from likewise.exceptions import FormatError
    from likewise.tables import read_table

    try:
        table = read_table(source, n_features=n_features, **options)
    except FormatError as error:  # begins with the name of the option
        raise UsageError(f"--{error}") from error
    for sentence in table.reading:
        console.message(sentence)
    return table


def labeled_table(
    console: Console,
    source: str,
    target: str | None,
    options: Any,
    n_features: int | None = None,
    default_target: str | None = None,
    task: str = "auto",
) -> Any:
    """Read a table with its labels; `default_target` is used where the table has it."""
    table = open_table(console, source, options, n_features)
    columns = list(getattr(table.rows, "column_names", []))
    if target is None and default_target in columns:
        target = default_target
    if target is None:
        if table.labels is None:
            raise UsageError(
                "--target is needed, the column of the labels. "
                f"The columns are: {_listed(columns)}."
            )
        target = table.target
    if target not in columns and target != table.target:
        raise unknown_column("--target", target, source, columns)
    return table.with_target(target, task)


def check_task(task: str) -> None:
    """Refuse an unknown task before a table is read."""
    from likewise.tables import TASKS

    check_option(check_choice, task, "--task", TASKS)


def read_triplets(
    console: Console, source: str, options: Any, option: str = "--triplets"
) -> tuple[Any, Any]:
    """Return triplets and their weights, from a table or an array of three columns."""
    import numpy as np

    table = open_table(console, source, options)
    names = list(getattr(table.rows, "column_names", []))
    wanted = ["x0", "x1", "x2"] if names == ["x0", "x1", "x2"] else ["query", "closer", "farther"]
    for name in wanted:
        if name not in names:
            raise unknown_column(option, name, source, names)
    numbers = [table.rows.column(name).to_numpy() for name in wanted]
    weights = table.rows.column("weight").to_numpy() if "weight" in names else None
    return np.stack(numbers, axis=1), weights


def check_paths(**paths: Path | None) -> None:
    """Refuse paths that cannot be written."""
    from likewise._files import check_place

    for option, path in paths.items():
        try:
            if path is not None:
                check_place(path)
        except OSError as error:
            raise UsageError(f"--{option} is {path}, which cannot be written: {error}") from error


def open_model(path: str, items: Any = None) -> Any:
    """Open a model; one without columns takes the numbers of `items`, not scaled."""
    from likewise import load
    from likewise.tables import Columns, TableModel

    model = load(path)
    if isinstance(model, TableModel):
        return model
    if items is None:
        raise UsageError(f"{path} holds a {type(model).__name__}, not a model of likewise fit.")
    return TableModel(Columns(scale="none").fit(items), model)


def offsets_of(model: Any) -> Any:
    """Return the offsets of judged items that a model has learned, or None."""
    return getattr(model.estimator, "offsets_", None)


def ids_of(table: Any, id_column: str | None) -> list[Any]:
    """Return the ids of a table's rows from its id column, or row numbers."""
    import numbers

    names = getattr(table.rows, "column_names", [])
    name = id_column if id_column is not None else "id"
    if name not in names:
        return list(range(len(table)))
    ids = table.rows.column(name).to_pylist()
    return [i if isinstance(i, str | numbers.Integral) else str(i) for i in ids]


def find_row(table: Any, id_column: str | None, text: str, hint: str = "") -> int:
    """Return the row number of "row 17", "id A12" or "17"; other text is refused with the hint."""
    word, _, rest = text.partition(" ")
    ids = _id_texts(table, id_column)
    if word == "id" or (ids is not None and text in ids):
        name = rest if word == "id" else text
        if ids is None:
            raise UsageError(f"{text!r} is an id, but {table.name} has no id column.")
        if name not in ids:
            raise UsageError(f"{table.name} has no row with id {name!r}.{did_you_mean(name, ids)}")
        if (n := ids.count(name)) > 1:
            raise UsageError(
                f"{n} rows of {table.name} have the id {name!r}: name one by its number, such as "
                f'"row {ids.index(name)}".'
            )
        return ids.index(name)
    number = rest if word == "row" else text
    if not re.fullmatch(r"\d+", number):
        raise UsageError(f'{text!r} is not a row: write "row 17", "id A12" or a number.{hint}')
    if int(number) >= len(table):
        raise UsageError(f"there is no row {number}: {table.name} has {len(table)} rows, from 0.")
    return int(number)


def names_row(table: Any, id_column: str | None, text: str) -> bool:
    """Return whether a text is "row 17" or an id of the table."""
    ids = _id_texts(table, id_column) or []
    return bool(re.fullmatch(r"row \d+", text)) or text in ids or text.removeprefix("id ") in ids


def _id_texts(table: Any, id_column: str | None) -> list[str] | None:
    if id_column is None or id_column not in getattr(table.rows, "column_names", []):
        return None
    return [str(value) for value in table.rows.column(id_column).to_pylist()]


def shown_columns(opened: Any, table: Any) -> list[str]:
    """Return the columns to show: the ids, the labels and the first of the model."""
    names = list(getattr(table.rows, "column_names", []))
    first = [opened.columns.id_, opened.target, *opened.columns.columns_]
    known = [name for name in dict.fromkeys(first) if name in names]
    return [name for name in names if name in known[:_MAX_SHOWN]]


def fields_of(table: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
    """Return some cells of a row."""
    return {name: table.rows.column(name)[row].as_py() for name in names}


def short_text(value: Any) -> str:
    """Return a cell as short text."""
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"


def row_of(table: Any, row: int) -> Any:
    """Return a table of one row."""
    return table.rows.slice(row, 1) if hasattr(table.rows, "slice") else table.rows[row : row + 1]


def typed_row(columns: Any, text: str, target: str | None = None) -> Any:
    """Return a table of one row from JSON, or from text for a single text column.

    Columns of the JSON that the model does not know are refused; the id and the target are known.
    """
    import pyarrow

    if text.lstrip().startswith("{"):
        try:
            values = json.loads(text)
            row = pyarrow.table({key: [value] for key, value in values.items()})
        except (ValueError, AttributeError) as error:
            raise UsageError(f"--query is not a JSON object: {error}.") from error
        for key in values:
            if key not in (*columns.columns_, columns.id_, target):
                hint = did_you_mean(key, columns.columns_)
                raise UsageError(
                    f"--query has {key!r}, which is not a column of the model.{hint} "
                    f"Its columns are: {_listed(columns.columns_)}."
                )
        return row
    name = columns.text_column
    return None if name is None else pyarrow.table({name: [text]})


def text_hint(columns: Any, text: str) -> str:
    """Return a sentence on how a text is searched for; empty for a model without text columns."""
    name = next((name for name, kind in columns.sources() if kind == "text"), None)
    if name is None:
        return ""
    return (
        f" To search for a text, name its column: '{json.dumps({name: text}, ensure_ascii=False)}'."
    )


def repeated_ids(table: Any, id_column: str | None) -> list[str]:
    """Return a warning if several rows have the same id."""
    counts = Counter(_id_texts(table, id_column) or [])
    repeated = {name: n for name, n in counts.items() if n > 1}
    if not repeated:
        return []
    name, n = next(iter(repeated.items()))
    if len(repeated) == 1:
        what = f"{n} rows have the id {name!r}"
    else:
        what = f"{len(repeated)} ids occur in several rows, such as {name!r} in {n}"
    return [f"Warning: {what}; search and explain need row numbers for them."]


def imputed_columns(console: Console, columns: Any, row: Any, what: str) -> list[str]:
    """Return the columns of a row that are imputed, and print them."""
    names: list[str] = columns.missing_columns(row)
    if names:
        console.message(f"{what} has no {_listed(names)}: imputed as in fitting.")
    return names
