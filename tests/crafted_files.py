"""Valid files with wrong arrays, made from the files of earlier editions, and used.

``python -m tests.crafted_files STEP NAME...`` crafts files from those of the given names, loads and
uses every STEP-th, and prints what was changed before it does: if the process crashes, the last
line says by which file.
"""

import contextlib
import copy
import json
import struct
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from tests.data.write_edition import FOLDER, answers

from likewise._files import from_bytes
from likewise.exceptions import ModelFileError

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I32": "<i4", "U32": "<u4", "I64": "<i8", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}

Arrays = dict[str, np.ndarray]


def read(content: bytes) -> tuple[dict[str, str], Arrays]:
    """Return the header and the arrays of a safetensors file."""
    (size,) = struct.unpack("<Q", content[:8])
    described = json.loads(content[8 : 8 + size])
    header = described.pop("__metadata__")
    arrays = {}
    for name, entry in described.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(content[begin:end], dtype=_DTYPES[entry["dtype"]])
        arrays[name] = flat.reshape(entry["shape"])
    return header, arrays


def write(header: dict[str, str], arrays: Arrays) -> bytes:
    """Return the bytes of a safetensors file."""
    from safetensors.numpy import save

    return save({name: np.asarray(a, order="C") for name, a in arrays.items()}, metadata=header)


def wrong(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays of another dtype, another shape, or with values out of range."""
    for dtype in ("?", "<i8", "<f8", "<f4", "u1", "<i4"):
        if array.dtype != np.dtype(dtype):
            with np.errstate(all="ignore"):
                yield f"as {dtype}", array.astype(dtype)
    yield "with another dimension", array[None]
    yield "flat", array.ravel()
    yield "empty", array[:0] if array.ndim else array.reshape(1)[:0]
    if array.ndim:
        yield "halved", array[: len(array) // 2]
        yield "doubled", np.concatenate([array, array])
        yield "cut in columns", array[..., : array.shape[-1] // 2]
        yield "doubled in columns", np.concatenate([array, array], axis=-1)
        yield "turned", array.T
    extremes = (2**40, -1, -(2**40), 255) if array.dtype.kind in "iu" else (np.nan, np.inf, 1e300)
    for value in extremes if array.dtype.kind in "iuf" and array.size else ():
        with np.errstate(all="ignore"):
            changed = array.copy()
            changed.flat[0] = np.array(value).astype(array.dtype)
            yield f"with {value}", changed
            yield f"full of {value}", np.full_like(array, changed.flat[0])


def crafted(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield files with one wrong array each, or with two arrays exchanged."""
    header, arrays = read(content)
    for name, array in arrays.items():
        for what, changed in wrong(array):
            yield f"{name} {what}", write(header, {**arrays, name: changed})
        for other in arrays:
            if other > name:
                swapped = {**arrays, name: arrays[other], other: array}
                yield f"{name} exchanged for {other}", write(header, swapped)
    for part in ("parameters", "fitted"):
        values = json.loads(header.get(part, "{}"))
        for name, value in values.items():
            if isinstance(value, dict) or part == "fitted":
                for replacement in (None, 3, "text", 2**70, {"$list": []}, {"$float": "nan"}):
                    changed_header = copy.deepcopy(values) | {name: replacement}
                    yield (
                        f"{part}.{name} is {replacement}",
                        write({**header, part: json.dumps(changed_header)}, arrays),
                    )
        if part == "fitted":
            for name in values:
                rest = {key: value for key, value in values.items() if key != name}
                yield f"without {name}", write({**header, part: json.dumps(rest)}, arrays)


def use(name: str, model: Any) -> None:
    """Ask a model whatever a model of this name answers; a sentence is an answer."""
    with contextlib.suppress(ValueError, TypeError):
        answers(name, model)
        if hasattr(model, "partial_fit") and hasattr(model, "classes_"):
            rng = np.random.default_rng(0)
            model.partial_fit(rng.random((12, 4)), np.resize(model.classes_, 12))
        if hasattr(model, "kneighbors"):
            model.kneighbors()


def main(step: int, names: list[str]) -> None:
    """Craft, load and use files."""
    warnings.simplefilter("ignore")
    faults = []
    for name in names:
        content = (FOLDER / f"{name}.safetensors").read_bytes()
        use(name, from_bytes(content))
        for what, changed in islice(crafted(content), 0, None, step):
            print(f"{name}: {what}", flush=True)  # noqa: T201
            try:
                use(name, from_bytes(changed))
            except ModelFileError:
                continue
            except Exception as error:
                faults.append(f"{name}: {what}: {error!r}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
