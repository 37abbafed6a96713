"""Conversion of objects to JSON values and arrays; `_reader` converts them back."""

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from likewise._files._classes import FITTED_NAME, HOMES, class_named
from likewise._files._fields import fields_of
from likewise._validation import is_sparse


class Writer:
    """Converts objects to JSON values; arrays are collected in `tensors`."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def header_of(self, model: Any) -> dict[str, str]:
        """Return the entries of a header that describe a model."""
        parts = self._parts(model, "model")
        name = parts.pop("class")
        return {"class": name, **{key: json.dumps(part) for key, part in parts.items()}}

    def _parts(self, model: Any, where: str) -> dict[str, Any]:
        own = getattr(model, "_state_for_file", None)
        model = model if own is None else own()
        name = type(model).__name__
        if name not in HOMES or type(model) is not class_named(name):
            raise TypeError(
                f"{where} is a {type(model).__module__}.{name}, which a model file cannot hold; "
                f"it can hold {', '.join(sorted(HOMES))}."
            )
        parts: dict[str, Any] = {}
        if hasattr(model, "_parts_for_file"):
            parts["parameters"] = model._parts_for_file()
        elif hasattr(model, "get_params"):
            parts["parameters"] = model.get_params(deep=False)
            parts["fitted"] = {k: v for k, v in vars(model).items() if FITTED_NAME.fullmatch(k)}
            undeclared = parts["fitted"].keys() - fields_of(type(model)).keys()
            if undeclared:
                raise TypeError(
                    f"{where} has {min(undeclared)}, which {name}._file_fields does not declare."
                )
        else:
            parts["parameters"] = {f.name: getattr(model, f.name) for f in fields(model)}  # type: ignore[arg-type]
        return {"class": name, **{key: self._mapping(part, "") for key, part in parts.items()}}

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
        if type(value).__name__ in HOMES:
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
