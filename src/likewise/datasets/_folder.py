"""The folder that ``LIKEWISE_DATA`` names: its files, read without pickle."""

import gzip
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "LIKEWISE_DATA"

# Errors that zipfile, gzip, json and NumPy raise on damaged files.
_DAMAGE = (
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    OSError,
    MemoryError,  # a damaged header can ask for more than any machine has
    RuntimeError,  # encryption and unknown compression
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)


def files(*endings: str) -> list[str]:
    """Return the names of the files in the folder that have one of the endings."""
    folder = _folder()
    if folder is None or not folder.is_dir():
        return []
    return [path.name for path in folder.iterdir() if path.name.endswith(endings)]


def path_of(file: str) -> Path:
    """Return the path of a file in the folder."""
    return (_folder() or Path()) / file


def where_looked(files: Iterable[str]) -> str:
    """Return, as part of a sentence, why `files` were not found."""
    folder = _folder()
    if folder is None:
        return f"the environment variable {VARIABLE} is not set"
    if not folder.is_dir():
        return f"{VARIABLE} names {folder}, which is not a folder"
    missing = [file for file in files if not (folder / file).is_file()]
    return f"the folder {folder} that {VARIABLE} names holds no {' and no '.join(missing)}"


def _folder() -> Path | None:
    value = os.environ.get(VARIABLE)
    return Path(value).expanduser() if value else None


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of an ``.npz`` file; pickled arrays are refused."""
    # Opened here, because np.load leaves a damaged file open.
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it is a single array")
            return {name: archive[name] for name in archive.files}
        except _DAMAGE as error:
            raise _unreadable(path, "an .npz file of plain arrays", error) from error


def read_json_lines(path: Path, *fields: str) -> list[dict[str, Any]]:
    """Return the records of a gzipped file of JSON lines, each of which has `fields`."""
    with path.open("rb") as file:
        try:
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                records = [json.loads(line) for line in lines]
            for number, record in enumerate(records, start=1):
                missing = [field for field in fields if field not in record]
                if missing:
                    raise ValueError(f"line {number} has no {missing[0]!r}")
            return records
        except _DAMAGE as error:
            raise _unreadable(path, "a gzipped file of JSON lines", error) from error


def _unreadable(path: Path, wanted: str, error: BaseException) -> ValueError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return ValueError(f"{path} cannot be read as {wanted}: {reason}.")
