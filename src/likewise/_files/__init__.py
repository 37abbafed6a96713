"""Model files, and atomic writing of files."""

from likewise._files import _fields as fields
from likewise._files._models import from_bytes, load, save, to_bytes
from likewise._files._place import check_place, whole_file, write_npy

__all__ = [
    "check_place",
    "fields",
    "from_bytes",
    "load",
    "save",
    "to_bytes",
    "whole_file",
    "write_npy",
]
