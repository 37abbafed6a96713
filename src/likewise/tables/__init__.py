"""Tables: files, columns of any kind, and models that take tables."""

from likewise.tables._columns import Columns
from likewise.tables._frame import as_frame
from likewise.tables._model import TableModel
from likewise.tables._read import Table, read_table

__all__ = ["Columns", "Table", "TableModel", "as_frame", "read_table"]
