"""Items under ids, searched by a learned similarity: in this process or in PostgreSQL."""

from likewise.index._export import EXPORTS, export
from likewise.index._fold_plan import FOLDS, balanced_factors
from likewise.index._index import ENGINE_NAMES, Index
from likewise.index._pgvector import PGVECTOR_OPERATORS
from likewise.index._snapshot import Snapshot
from likewise.index._tuning import Step, Tuning
from likewise.index._where import SQL

__all__ = [
    "ENGINE_NAMES",
    "EXPORTS",
    "FOLDS",
    "PGVECTOR_OPERATORS",
    "SQL",
    "Index",
    "Snapshot",
    "Step",
    "Tuning",
    "balanced_factors",
    "export",
]
