"""Conversion of JSON values and arrays to objects, without running any code from them."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise._files._classes import FITTED_NAME, builder
from likewise._files._fields import check_fitted
from likewise.exceptions import ModelFileError

_MAX_DEPTH = 20  # levels of nesting in the header's JSON
_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


class Reader:
    """Converts JSON values to objects; refuses whatever `Writer` does not produce."""

    def __init__(self, names: set[str], array: Callable[[str], np.ndarray]) -> None:
        self._names, self._read_array = names, array
        self._decoders: dict[str, Callable[[Any], Any]] = {
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
        """Return the model described by a header."""
        parts: dict[str, Any] = {"class": header.get("class")}
        for key in ("parameters", "fitted"):
            if key in header:
                try:
                    parts[key] = json.loads(header[key])
                except (ValueError, RecursionError) as error:
                    raise ModelFileError(f"its {key} are not JSON.") from error
        try:
            return self._object(parts)
        except ModelFileError:
            raise
        except _ERRORS as error:  # of values that no writer of ours would write
            raise ModelFileError(f"it does not fit together ({error!r:.100}).") from error

    def _object(self, parts: Any) -> Any:
        if not isinstance(parts, dict):
            raise ModelFileError("an object in it has no parts.")
        build = builder(parts.get("class"))
        parameters = self._mapping(parts.get("parameters"))
        try:
            model = build(parameters)
        except (TypeError, ValueError, KeyError) as error:
            raise ModelFileError(f"its {parts['class']} cannot be built: {error}") from error
        if "fitted" in parts:
            self._fit(model, self._mapping(parts["fitted"]))
        return model

    def _fit(self, model: Any, fitted: dict[str, Any]) -> None:
        if dataclasses.is_dataclass(model):
            raise ModelFileError(
                f"it has fitted parts of a {type(model).__name__}, which has none."
            )
        for name in fitted:
            # Only attributes set by `fit`: no methods, and no special names.
            if not FITTED_NAME.fullmatch(name) or hasattr(type(model), name):
                raise ModelFileError(f"it sets {name[:40]!r}, which is not for a file to set.")
        try:
            check_fitted(model, fitted)
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"its {type(model).__name__} cannot be used: {error}") from error
        for name, value in fitted.items():
            setattr(model, name, value)

    def _value(self, part: Any) -> Any:
        if part is None or isinstance(part, bool | int | float | str):
            return part
        keys = part if isinstance(part, dict) else ()
        kind = next((key for key in keys if key in self._decoders), None)
        if kind is None:
            raise ModelFileError("its header has a value of unknown kind.")
        if self._depth >= _MAX_DEPTH:
            raise ModelFileError("its header is nested too deeply.")
        self._depth += 1
        try:
            value = self._decoders[kind](part[kind])
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
            raise ModelFileError("its header has a number of unknown kind.")
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
            raise ModelFileError("its header has an entry that must be a list.")
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
