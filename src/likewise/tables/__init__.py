"""Tables: files, columns of any kind, and models that take tables."""

from likewise.tables._columns import Columns
from likewise.tables._duplicates import row_digests, row_groups
from likewise.tables._frame import as_frame
from likewise.tables._model import TableModel
from likewise.tables._read import Table, check_source, read_table
from likewise.tables._target import TASKS, infer_task, target_values
from likewise.tables._write import check_written, write_table

__all__ = [
    "TASKS",
    "Columns",
    "Table",
    "TableModel",
    "as_frame",
    "check_source",
    "check_written",
    "infer_task",
    "read_table",
    "row_digests",
    "row_groups",
    "target_values",
    "write_table",
]
