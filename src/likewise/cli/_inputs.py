"""Files that commands take and places they write to, checked before any work."""

import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from likewise.cli._show import WrongUse

_LISTED = 10


def no_column(option: str, name: str, table: str, columns: Any) -> WrongUse:
    """Return the error for a column that is not there: suggest the nearest."""
    columns = list(columns)
    near = get_close_matches(name, columns, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(columns[:_LISTED]) + (" ..." if len(columns) > _LISTED else "")
    return WrongUse(
        f"{option} names {name!r}, but {table} has no such column.{hint} "
        f"It has: {listed or 'none'}."
    )


def labelled_table(source: str, target: str | None, n_features: int | None = None) -> Any:
    """Read a table with its labels."""
    from likewise.tables import read_table

    table = read_table(source, n_features=n_features)
    columns = list(getattr(table.rows, "column_names", []))
    if target is None:
        if table.labels is None:
            listed = ", ".join(columns[:_LISTED]) + (" ..." if len(columns) > _LISTED else "")
            raise WrongUse(
                f"--target is needed: which column is to be learned? There are: {listed}."
            )
        return table
    if target not in columns and target != table.target:
        raise no_column("--target", target, source, columns)
    return table.with_target(target)


def comparisons_of(source: str, option: str = "--triplets") -> tuple[Any, Any]:
    """Return triplets and their weights, from a table or an array of three columns."""
    import numpy as np

    from likewise.tables import read_table

    table = read_table(source)
    names = list(getattr(table.rows, "column_names", []))
    wanted = ["x0", "x1", "x2"] if names == ["x0", "x1", "x2"] else ["query", "closer", "farther"]
    for name in wanted:
        if name not in names:
            raise no_column(option, name, source, names)
    numbers = [table.rows.column(name).to_numpy() for name in wanted]
    weights = table.rows.column("weight").to_numpy() if "weight" in names else None
    return np.stack(numbers, axis=1), weights


def check_places(**places: Path | None) -> None:
    """Refuse, before any work, a place that cannot be written to."""
    from likewise._files import check_place

    for option, path in places.items():
        try:
            if path is not None:
                check_place(path)
        except OSError as error:
            raise WrongUse(f"--{option} is {path}, which cannot be written: {error}") from error


def open_model(path: str, items: Any = None) -> Any:
    """Open a model; one that knows nothing of columns takes the numbers of `items` as they are."""
    from likewise import load
    from likewise.tables import Columns, TableModel

    model = load(path)
    if isinstance(model, TableModel):
        return model
    if items is None:
        raise WrongUse(f"{path} holds a {type(model).__name__}, not what likewise fit writes.")
    return TableModel(Columns(scale="none").fit(items), model)


def offsets_of(model: Any) -> Any:
    """Return the offsets of judged items that a model has learned; None where it has none."""
    return getattr(model.estimator, "offsets_", None)


def ids_of(table: Any, id_column: str | None) -> list[Any]:
    """Return the ids of a table's rows: of its id column, or else their numbers."""
    import numbers

    names = getattr(table.rows, "column_names", [])
    name = id_column if id_column is not None else "id"
    if name not in names:
        return list(range(len(table)))
    ids = table.rows.column(name).to_pylist()
    return [i if isinstance(i, str | numbers.Integral) else str(i) for i in ids]


def find_row(table: Any, id_column: str | None, said: str) -> int:
    """Return the row number that "row 17", "id A12" or "17" means."""
    word, _, rest = said.partition(" ")
    ids = None
    if id_column is not None and id_column in table.rows.column_names:
        ids = [str(value) for value in table.rows.column(id_column).to_pylist()]
    if word == "id" or (ids is not None and said in ids):
        name = rest if word == "id" else said
        if ids is None:
            raise WrongUse(f"{said!r} is an id, but {table.name} has no id column.")
        if name not in ids:
            near = get_close_matches(name, ids, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise WrongUse(f"{table.name} has no row with id {name!r}.{hint}")
        return ids.index(name)
    number = rest if word == "row" else said
    if not re.fullmatch(r"\d+", number):
        raise WrongUse(f'{said!r} names no row: write "row 17", "id A12" or a number.')
    if int(number) >= len(table):
        raise WrongUse(f"there is no row {number}: {table.name} has {len(table)} rows, from 0.")
    return int(number)


def row_of(table: Any, row: int) -> Any:
    """Return a table of one row."""
    return table.rows.slice(row, 1) if hasattr(table.rows, "slice") else table.rows[row : row + 1]


def typed_row(columns: Any, said: str) -> Any:
    """Return a table of one row that was typed: as JSON, or as text for the one text column."""
    import pyarrow

    if said.lstrip().startswith("{"):
        try:
            return pyarrow.table({key: [value] for key, value in json.loads(said).items()})
        except (ValueError, AttributeError) as error:
            raise WrongUse(f"--query is not a JSON object: {error}.") from error
    texts = [block["columns"][0] for block in columns.blocks_ if block["kind"] == "text"]
    if columns.columns_ == texts and len(texts) == 1:
        return pyarrow.table({texts[0]: [said]})
    return None
