"""Tables as people have them: files, columns of every kind, and a model that remembers both."""

from likewise.tables._columns import Columns
from likewise.tables._model import TableModel
from likewise.tables._read import Table, read_table

__all__ = ["Columns", "Table", "TableModel", "read_table"]
