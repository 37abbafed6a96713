"""Model files: one safetensors file, arrays beside a JSON header. Data, never code.

The header's entries (all strings, as the format wants it):

``format``, ``format_version``
    ``"likewise"`` and the version of this format.
``class``
    The name of the class, looked up in a fixed table.
``written_by``
    Package and version that wrote the file.
``parameters``, ``fitted``
    JSON objects: the constructor's parameters and, for estimators, the fitted attributes, such as
    ``classes_``.

In that JSON an object whose key begins with ``$`` encodes a value that JSON does not have: see
`Writer` and `Reader`, which mirror each other.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from likewise._files._mapped import MappedArrays, identity
from likewise._files._place import check_place, whole_file
from likewise._files._reader import Reader
from likewise._files._writer import Writer
from likewise.exceptions import ModelFileError

_FORMAT_VERSION = 1
# Classes whose arrays may be larger than memory: they are memory-mapped.
_MAPPED = {"Index"}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a similarity or a fitted estimator to a file.

    The file is written atomically: an interrupted save leaves an existing file unchanged.

    Parameters
    ----------
    model : a similarity, or an estimator of likewise
    path : str or path-like

    Examples
    --------
    >>> import likewise as lw, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "shoes.safetensors")
    >>> lw.save(lw.Bilinear([[1.0, 0.5], [0.0, 1.0]], norm="cosine"), path)
    >>> lw.load(path)
    Bilinear(W=2×2 float64, norm='cosine')
    """
    from safetensors.numpy import save_file

    target = check_place(path)
    header, tensors = _parts_of_file(model)
    with whole_file(target) as unfinished:
        save_file(tensors, unfinished, metadata=header)
        with unfinished.open("r+b") as file:
            size = int.from_bytes(file.read(8), "little")
            ordered = _in_order(file.read(size))
            file.seek(8)
            file.write(ordered)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a file written by `save`, without running any code from it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    A similarity or a fitted estimator.
    """
    from safetensors import SafetensorError, safe_open

    source = Path(path)
    if source.is_dir():
        raise IsADirectoryError(f"{source} is a folder, but a model file is needed.")
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        while True:
            before = identity(source)
            with safe_open(source, framework="numpy") as file:
                header = file.metadata() or {}
                _check_origin(header)
                arrays: Any = file.get_tensor
                if header.get("class") in _MAPPED:
                    arrays = MappedArrays(source)
                    if arrays.identity != before:
                        continue  # it was replaced before it was mapped
                return Reader(set(file.keys()), arrays).model_of(header)
    except ModelFileError as error:
        raise ModelFileError(f"{source} is not a readable model: {error}") from error.__cause__
    except PermissionError:
        raise
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"{source} is not a readable model: it is damaged or of another kind ({error})."
        ) from error


def to_bytes(model: Any) -> bytes:
    """Return the contents of the file that `save` would write."""
    from safetensors.numpy import save as to_safetensors

    header, tensors = _parts_of_file(model)
    data = to_safetensors(tensors, metadata=header)
    start = 8 + int.from_bytes(data[:8], "little")
    return data[:8] + _in_order(data[8:start]) + data[start:]


def from_bytes(data: bytes) -> Any:
    """Load a model from the bytes returned by `to_bytes`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        tensors = from_safetensors(data)
        # `from_safetensors` checks the format but returns only the arrays. The length of the JSON
        # header is in the first eight bytes.
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        header = header.get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(f"the bytes are not a readable model: {error}") from error
    _check_origin(header)
    return Reader(set(tensors), tensors.__getitem__).model_of(header)


def _parts_of_file(model: Any) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the header and the arrays of a model's file."""
    writer = Writer()
    header = {
        "format": "likewise",
        "format_version": str(_FORMAT_VERSION),
        "written_by": f"likewise {_package_version()}",
        **writer.header_of(model),
    }
    return header, writer.tensors


def _in_order(header: bytes) -> bytes:
    """Return a safetensors header with sorted metadata, which safetensors writes in any order.

    The same model then has the same bytes. The length stays the same.
    """
    parts = json.loads(header)
    parts["__metadata__"] = dict(sorted(parts["__metadata__"].items()))
    ordered = json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()
    return ordered.ljust(len(header)) if len(ordered) <= len(header) else header


def _check_origin(header: dict[str, str]) -> None:
    if header.get("format") != "likewise":
        raise ModelFileError("it was not written by likewise.")
    version = header.get("format_version", "")
    if not version.isdecimal() or len(version) > 9:
        raise ModelFileError(f"its format version is {version[:20]!r}, but must be a number.")
    if int(version) > _FORMAT_VERSION:
        raise ModelFileError(
            f"it has format version {version} (written by {header.get('written_by')}), but this "
            f"likewise reads up to {_FORMAT_VERSION}: upgrade likewise."
        )


@cache
def _package_version() -> str:
    from importlib.metadata import version

    return version("likewise")
