"""Memory-mapped arrays."""

import json
import os
from pathlib import Path

import numpy as np

_DTYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


def identity(file: Path | int) -> tuple[int, ...]:
    """Return values that differ once a file is replaced by another."""
    status = os.stat(file)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class MappedArrays:
    """The arrays of a valid safetensors file, mapped into memory."""

    def __init__(self, source: Path) -> None:
        with source.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self._entries = json.loads(file.read(size))
            self._bytes = np.memmap(file, dtype=np.uint8, mode="r", offset=0)
            self.identity = identity(file.fileno())
        self._start = 8 + size

    def __call__(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        begin, end = (self._start + offset for offset in entry["data_offsets"])
        flat = self._bytes[begin:end].view(_DTYPES[entry["dtype"]])
        return flat.reshape(entry["shape"])
