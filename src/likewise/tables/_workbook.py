"""Workbooks of Excel: the first sheet, its first row the names of the columns."""

import zipfile
from pathlib import Path
from typing import Any

from likewise.exceptions import require_extra
from likewise.tables._values import typed_columns


def read_workbook(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Read the first sheet of a workbook.

    Parameters
    ----------
    path : Path

    Returns
    -------
    rows : pyarrow.Table
    reading : tuple of str
        The sheet, in sentences.
    """
    import pyarrow

    openpyxl = require_extra("openpyxl", "excel", f"reading {path}")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as .xlsx: {error}") from error
    try:
        sheet = book.worksheets[0]
        lines = [list(line) for line in sheet.iter_rows(values_only=True)]
        n_sheets, title = len(book.worksheets), sheet.title
    finally:
        book.close()
    lines = [line for line in lines if any(value is not None for value in line)]
    if not lines:
        raise ValueError(f"{path}: sheet {title!r} is empty.")
    names = ["" if name is None else str(name) for name in lines[0]]
    width = max((place + 1 for place, name in enumerate(names) if name), default=0)
    repeated = [name for name in names[:width] if names[:width].count(name) > 1]
    if repeated:
        raise ValueError(f"{path}: two columns are named {repeated[0]!r}; names must differ.")
    values = {
        name: [line[place] if place < len(line) else None for line in lines[1:]]
        for place, name in enumerate(names[:width])
    }
    texts = {name: column for name, column in values.items() if _is_text(column)}
    typed, _, sentences = typed_columns(
        pyarrow.table(
            {
                name: pyarrow.array([_text(value) for value in column], pyarrow.string())
                for name, column in texts.items()
            }
        ),
        None,
        comma_likely=False,
    )
    rows = pyarrow.table(
        {
            name: typed.column(name) if name in texts else pyarrow.array(column)
            for name, column in values.items()
        }
    )
    more = f", the first of {n_sheets}" if n_sheets > 1 else ""
    return rows, (f"{path.name}: sheet {title!r}{more}.", *sentences)


def _is_text(column: list[Any]) -> bool:
    """Tell whether some cell is a text, or cells are of several kinds."""
    kinds = {type(value) for value in column if value is not None}
    return str in kinds or not (len(kinds) == 1 or kinds <= {int, float})


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)
