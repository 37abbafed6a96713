"""Tables as files: CSV, Parquet or JSON lines, by the ending."""

import json
import os
from pathlib import Path
from typing import Any

from likewise._files import check_place, whole_file
from likewise.exceptions import require_extra

_WRITTEN = (".csv", ".parquet", ".jsonl")


def check_written(path: str | os.PathLike[str]) -> Path:
    """Return the path of a table to write; an unknown ending, or no folder, is refused."""
    target = check_place(path)
    if target.suffix.lower() not in _WRITTEN:
        ending = target.suffix or "nothing"
        raise ValueError(f"{path} ends in {ending!r}; one of {', '.join(_WRITTEN)} is needed.")
    return target


def write_table(rows: Any, path: str | os.PathLike[str]) -> None:
    """Write a table, completely or not at all.

    Parameters
    ----------
    rows : pyarrow.Table
    path : str or path-like
        Ends in .csv, .parquet or .jsonl.
    """
    require_extra("pyarrow", "cli", "writing a table")
    from pyarrow import csv, parquet

    target = check_written(path)
    with whole_file(target) as unfinished:
        if target.suffix.lower() == ".csv":
            csv.write_csv(rows, unfinished)
        elif target.suffix.lower() == ".parquet":
            parquet.write_table(rows, unfinished)
        else:
            lines = (json.dumps(row, default=str) + "\n" for row in rows.to_pylist())
            with unfinished.open("w", encoding="utf8") as file:
                file.writelines(lines)
