"""Model files: one safetensors file, arrays beside a JSON header. Data, never code.

The header's entries (all strings, as the format wants it):

``format``, ``format_version``
    ``"likewise"`` and the version of what is described here.
``class``
    Which of our classes this is; looked up in a fixed table.
``written_by``
    Package and version that wrote the file.
``parameters``, ``fitted``
    JSON objects: what the class was made with and, for estimators, what `fit` left
    (``feature_names_in_`` and ``classes_`` among it).

In that JSON a plain value stands for itself, and an object with one key that begins with ``$`` for
what JSON does not have: see `_Writer` and `_Reader`, which mirror each other.
"""

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from likewise._validation import is_sparse
from likewise.exceptions import ModelFileError

__all__ = ["check_place", "from_bytes", "load", "save", "to_bytes", "whole_file"]

_FORMAT_VERSION = 1
_DEEPEST = 20  # levels of nesting in the header's JSON
_FITTED_NAME = re.compile(r"[a-z][a-z0-9_]*_")

# The only classes that a file can name. Each lives in the room given here.
_HOMES = {
    "AROMA": "learners",
    "AlignmentDistance": "distances",
    "BalancedWinnow": "classifiers",
    "Bilinear": "similarities",
    "Columns": "tables",
    "DBoost": "classifiers",
    "DiagonalState": "learners",
    "DissimilaritySpace": "features",
    "FactoredState": "learners",
    "FromDissimilarity": "similarities",
    "ImageDistance": "distances",
    "Index": "index",
    "LMNN": "learners",
    "LandmarkFeatures": "features",
    "Mahalanobis": "similarities",
    "MatrixDistance": "distances",
    "MedianBinarizer": "features",
    "Naive": "similarities",
    "OASIS": "learners",
    "OasisState": "learners",
    "Precomputed": "similarities",
    "QuantizedDistance": "distances",
    "Ranked": "similarities",
    "RankedDistance": "distances",
    "SeriesDistance": "distances",
    "SiLA": "learners",
    "SimilarityClassifier": "classifiers",
    "SimilarityFeatureClassifier": "classifiers",
    "StringDistance": "distances",
    "TableModel": "tables",
    "TangentDistance": "distances",
    "TransportDistance": "distances",
    "VectorDistance": "distances",
}

# Classes whose arrays may be larger than memory: they are mapped, and read when they are needed.
_MAPPED = {"Index"}
_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a similarity or a fitted estimator to a file.

    The file is whole or not there: an interrupted save leaves what was there before.

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


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote. Nothing in a file can run.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    A similarity or a fitted estimator.
    """
    from safetensors import SafetensorError, safe_open

    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no file {source}.")
    try:
        while True:
            before = _identity(source)
            with safe_open(source, framework="numpy") as file:
                header = file.metadata() or {}
                _check_origin(header)
                arrays: Any = file.get_tensor
                if header.get("class") in _MAPPED:
                    arrays = MappedArrays(source)
                    if arrays.identity != before:
                        continue  # it was replaced between being looked at and being mapped
                return _Reader(set(file.keys()), arrays).model_of(header)
    except ModelFileError as error:
        raise ModelFileError(f"{source} is not a readable model: {error}") from error.__cause__
    except PermissionError:
        raise
    except (SafetensorError, OSError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"{source} is not a readable model: it is damaged or of another kind ({error})."
        ) from error


def to_bytes(model: Any) -> bytes:
    """Return what `save` writes, for a place that is no file."""
    from safetensors.numpy import save as to_safetensors

    header, tensors = _parts_of_file(model)
    return to_safetensors(tensors, metadata=header)


def from_bytes(data: bytes) -> Any:
    """Read what `to_bytes` gave; as with `load`, nothing in it can run."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as from_safetensors

    try:
        tensors = from_safetensors(data)
        # Eight bytes say how long the JSON is that follows: the format, as `from_safetensors`
        # has just checked it. It gives the arrays alone.
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        header = header.get("__metadata__", {})
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(f"the bytes are not a readable model: {error}") from error
    _check_origin(header)
    return _Reader(set(tensors), tensors.__getitem__).model_of(header)


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the file that `path` names, or refuse a place where none can be written."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file, but {target} is a folder.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path lies in {target.parent}, and there is no such folder.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"path lies in {target.parent}, where nothing may be written.")
    return target


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Yield a file to write into, which takes the place of `target` if all goes well."""
    unfinished = target.with_name(f".{token_hex(8)}.unfinished")
    try:
        unfinished.touch(exist_ok=False)
        mode = (target if target.exists() else unfinished).stat().st_mode
        yield unfinished
        unfinished.chmod(mode)  # safetensors leaves a file that only its owner can read
        _sync(unfinished)
        os.replace(unfinished, target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _parts_of_file(model: Any) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Return the header and the arrays that hold a model."""
    writer = _Writer()
    header = {
        "format": "likewise",
        "format_version": str(_FORMAT_VERSION),
        "written_by": f"likewise {_package_version()}",
        **writer.header_of(model),
    }
    return header, writer.tensors


def _check_origin(header: dict[str, str]) -> None:
    if header.get("format") != "likewise":
        raise ModelFileError("it was not written by likewise.")
    version = header.get("format_version", "")
    if not version.isdecimal() or len(version) > 9:
        raise ModelFileError(f"its format version is {version[:20]!r}.")
    if int(version) > _FORMAT_VERSION:
        raise ModelFileError(
            f"it has format version {version} (written by {header.get('written_by')}), and this "
            f"likewise knows up to {_FORMAT_VERSION}: upgrade likewise."
        )


@cache
def _package_version() -> str:
    from importlib.metadata import version

    return version("likewise")


def _sync(path: Path) -> None:
    """Make sure that a file, or a folder's entries, are on disk."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _class_named(name: Any) -> type:
    if name not in _HOMES:
        raise ModelFileError(f"it holds a {str(name)[:40]!r}, which this likewise does not know.")
    found: type = getattr(import_module(f"likewise.{_HOMES[name]}"), name)
    return found


class _Writer:
    """Turns objects into JSON values; arrays are put aside in `tensors`."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def header_of(self, model: Any) -> dict[str, str]:
        parts = self._parts(model, "model")
        name = parts.pop("class")
        return {"class": name, **{key: json.dumps(part) for key, part in parts.items()}}

    def _parts(self, model: Any, where: str) -> dict[str, Any]:
        own = getattr(model, "_state_for_file", None)
        model = model if own is None else own()
        name = type(model).__name__
        if name not in _HOMES or type(model) is not _class_named(name):
            raise TypeError(
                f"{where} is a {type(model).__module__}.{name}, which a model file cannot hold; "
                f"it can hold {', '.join(sorted(_HOMES))}."
            )
        if hasattr(model, "_parts_for_file"):
            return {"class": name, "parameters": self._mapping(model._parts_for_file(), "")}
        if dataclasses.is_dataclass(model):
            parameters = {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}
            return {"class": name, "parameters": self._mapping(parameters, "")}
        parameters, fitted = _state_of_estimator(model)
        return {
            "class": name,
            "parameters": self._mapping(parameters, ""),
            "fitted": self._mapping(fitted, ""),
        }

    def _mapping(self, values: dict[str, Any], where: str) -> dict[str, Any]:
        return {key: self._value(value, f"{where}{key}") for key, value in values.items()}

    def _value(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
            return self._value(value.item(), where)
        if is_sparse(value):
            return {
                "$csr": [
                    self._array(part, where)
                    for part in (value.data, value.indices, value.indptr, np.array(value.shape))
                ]
            }
        if isinstance(value, list | tuple):
            kind = "$list" if isinstance(value, list) else "$tuple"
            return {kind: [self._value(v, f"{where}[{i}]") for i, v in enumerate(value)]}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"$dict": self._mapping(value, f"{where}.")}
        if type(value).__name__ in _HOMES:
            return {"$object": self._parts(value, where)}
        raise TypeError(
            f"{where} is a {type(value).__module__}.{type(value).__name__}, which cannot be stored "
            "as data; a model file holds numbers, text, arrays and likewise's own objects."
        )

    def _array(self, array: np.ndarray, where: str) -> Any:
        if array.dtype.kind == "U":
            return {"$text": array.ravel().tolist(), "$shape": list(array.shape)}
        if array.dtype.kind == "O":
            entries = [self._value(v, f"{where}[{i}]") for i, v in enumerate(array.ravel())]
            return {"$objects": entries, "$shape": list(array.shape)}
        if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
            raise TypeError(f"{where} is an array of {array.dtype}, which a file cannot hold.")
        name = f"{where or 'array'}#{len(self.tensors)}"
        self.tensors[name] = np.asarray(array, order="C")
        return {"$array": name}


def _state_of_estimator(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    fitted = {name: value for name, value in vars(model).items() if _FITTED_NAME.fullmatch(name)}
    return model.get_params(deep=False), fitted


def _identity(file: Path | int) -> tuple[int, ...]:
    """Return what tells a file from another one that took its place."""
    found = os.stat(file)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class MappedArrays:
    """The arrays of a file that safetensors has found to be whole, mapped into memory."""

    def __init__(self, source: Path) -> None:
        with source.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._entries = json.loads(file.read(size))
            self._bytes = np.memmap(file, dtype=np.uint8, mode="r", offset=0)
            self.identity = _identity(file.fileno())
        self._start = 8 + size

    def __call__(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        begin, end = (self._start + offset for offset in entry["data_offsets"])
        flat = self._bytes[begin:end].view(_DTYPES[entry["dtype"]])
        return flat.reshape(entry["shape"])


class _Reader:
    """Turns JSON values back into objects; whatever is not as `_Writer` makes it is refused."""

    def __init__(self, names: set[str], array: Callable[[str], np.ndarray]) -> None:
        self._names, self._read_array = names, array
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "$float": self._float,
            "$array": self._array,
            "$text": self._text,
            "$objects": self._objects,
            "$csr": self._csr,
            "$list": self._list,
            "$tuple": lambda part: tuple(self._list(part)),
            "$dict": self._mapping,
            "$object": self._object,
        }
        self._depth = 0

    def model_of(self, header: dict[str, str]) -> Any:
        parts: dict[str, Any] = {"class": header.get("class")}
        for key in ("parameters", "fitted"):
            if key in header:
                try:
                    parts[key] = json.loads(header[key])
                except (ValueError, RecursionError) as error:
                    raise ModelFileError(f"its {key} are not JSON.") from error
        return self._object(parts)

    def _object(self, parts: Any) -> Any:
        if not isinstance(parts, dict):
            raise ModelFileError("an object in it has no parts.")
        kind = _class_named(parts.get("class"))
        parameters = self._mapping(parts.get("parameters"))
        try:
            model = getattr(kind, "_from_file", kind)(**parameters)
        except (TypeError, ValueError, KeyError) as error:
            raise ModelFileError(f"its {kind.__name__} cannot be made: {error}") from error
        if "fitted" in parts:
            self._fit(model, self._mapping(parts["fitted"]))
        return model

    def _fit(self, model: Any, fitted: dict[str, Any]) -> None:
        if dataclasses.is_dataclass(model):
            raise ModelFileError(
                f"it has fitted parts of a {type(model).__name__}, which has none."
            )
        for name, value in fitted.items():
            # Only what `fit` leaves: never a method, nor anything Python itself looks at.
            if not _FITTED_NAME.fullmatch(name) or hasattr(type(model), name):
                raise ModelFileError(f"it sets {name[:40]!r}, which is not for a file to set.")
            setattr(model, name, value)

    def _value(self, part: Any) -> Any:
        if part is None or isinstance(part, bool | int | float | str):
            return part
        if not isinstance(part, dict):
            raise ModelFileError("its header has a value of no known kind.")
        kind = next((key for key in part if key in self._kinds), None)
        if kind is None:
            raise ModelFileError("its header has a value of no known kind.")
        if self._depth >= _DEEPEST:
            raise ModelFileError("its header is nested too deeply.")
        self._depth += 1
        try:
            value = self._kinds[kind](part[kind])
            if "$shape" in part:
                value = np.reshape(value, _list_of(int, part["$shape"]))
        except (TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"its header has a {kind} that does not fit: {error}") from error
        finally:
            self._depth -= 1
        return value

    def _mapping(self, part: Any) -> dict[str, Any]:
        if not isinstance(part, dict):
            raise ModelFileError("its header lacks a part.")
        return {key: self._value(value) for key, value in part.items()}

    def _float(self, part: Any) -> float:
        if part not in ("nan", "inf", "-inf"):
            raise ModelFileError("its header has a number of no known kind.")
        return float(part)

    def _array(self, name: Any) -> np.ndarray:
        if name not in self._names:
            raise ModelFileError("its header names an array that is not there.")
        return np.asarray(self._read_array(name))

    def _text(self, part: Any) -> np.ndarray:
        return np.array(_list_of(str, part), dtype=np.str_)

    def _objects(self, part: Any) -> np.ndarray:
        entries = self._list(part)
        array = np.empty(len(entries), dtype=object)
        array[:] = entries
        return array

    def _list(self, part: Any) -> list[Any]:
        if not isinstance(part, list):
            raise ModelFileError("its header has a list that is none.")
        return [self._value(value) for value in part]

    def _csr(self, part: Any) -> Any:
        from scipy.sparse import csr_array

        data, indices, indptr, shape = self._list(part)
        if any(np.asarray(part).dtype.kind not in "iu" for part in (indices, indptr, shape)):
            raise ModelFileError("it has a sparse matrix whose indices are not whole numbers.")
        rows = csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))
        rows.check_format(full_check=True)
        return rows


def _list_of(kind: type, part: Any) -> list[Any]:
    if not isinstance(part, list) or not all(type(value) is kind for value in part):
        raise ModelFileError(f"its header has a list of something else than {kind.__name__}.")
    return part
