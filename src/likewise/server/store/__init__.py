"""Items, journal, checkpoints and versions in a database: what all databases have in common."""

from likewise.server.store._learned import Files
from likewise.server.store._schema import table_statements
from likewise.server.store._store import Store

__all__ = ["Files", "Store", "table_statements"]
