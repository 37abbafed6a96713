"""The folder that ``LIKEWISE_DATA`` names: finding files in it and reading them without pickle."""

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

# Whatever zipfile, gzip, json and NumPy raise on bytes that are not what they should be.
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


def find(file: str) -> Path | None:
    """Return the path of `file` in the folder, or None."""
    folder = _folder()
    if folder is None or not (folder / file).is_file():
        return None
    return folder / file


def where_looked(files: Iterable[str]) -> str:
    """Say, as part of a sentence, why none of `files` was found."""
    folder = _folder()
    if folder is None:
        return f"the environment variable {VARIABLE} is not set"
    if not folder.is_dir():
        return f"{VARIABLE} names {folder}, which is not a folder"
    absent = [file for file in files if not (folder / file).is_file()]
    return f"the folder {folder} that {VARIABLE} names holds no {' and no '.join(absent)}"


def _folder() -> Path | None:
    value = os.environ.get(VARIABLE)
    return Path(value).expanduser() if value else None


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of an ``.npz`` file; pickled ones are refused."""
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
                lacking = [field for field in fields if field not in record]
                if lacking:
                    raise ValueError(f"line {number} has no {lacking[0]!r}")
            return records
        except _DAMAGE as error:
            raise _unreadable(path, "a gzipped file of JSON lines", error) from error


def _unreadable(path: Path, wanted: str, error: BaseException) -> ValueError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return ValueError(f"{path} cannot be read as {wanted}: {reason}.")
