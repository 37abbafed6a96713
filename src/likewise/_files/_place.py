"""Atomic writing of files."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.lib.format import header_data_from_array_1_0, write_array_header_1_0

from likewise._validation import is_sparse


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the resolved path, or raise an error if no file can be written there."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, but {target} is a folder.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path is in {target.parent}, but there is no such folder.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"path is in {target.parent}, which is not writable.")
    return target


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a temporary file to write, which replaces `target` unless an error occurs."""
    unfinished = target.with_name(f".{token_hex(8)}.unfinished")
    try:
        unfinished.touch(exist_ok=False)
        mode = (target if target.exists() else unfinished).stat().st_mode
        yield unfinished
        unfinished.chmod(mode)  # safetensors writes files that only the owner can read
        _sync(unfinished)
        os.replace(unfinished, target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def write_npy(path: str | os.PathLike[str], blocks: Iterable[Any], n_rows: int) -> None:
    """Write blocks of rows, dense or sparse, into one NPY file, completely or not at all."""
    with whole_file(check_place(path)) as unfinished, unfinished.open("wb") as file:
        for number, block in enumerate(blocks):
            dense = np.ascontiguousarray(block.toarray() if is_sparse(block) else block)
            if number == 0:
                header = header_data_from_array_1_0(dense)
                write_array_header_1_0(file, header | {"shape": (n_rows, dense.shape[1])})
            dense.tofile(file)


def _sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
