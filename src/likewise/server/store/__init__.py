"""The server's database: items, the feedback journal, checkpoints and versions."""

from likewise.server.store._records import (
    AlreadyExists,
    Candidate,
    Checkpoint,
    Entry,
    Evaluation,
    InvalidRequest,
    ItemId,
    NotFound,
    NotSupported,
    Page,
    Recipe,
    StoredItem,
    StoreStatus,
    StoreUnavailable,
    Verdict,
    VersionFiles,
    VersionInfo,
)
from likewise.server.store._store import Store, open_store

__all__ = [
    "AlreadyExists",
    "Candidate",
    "Checkpoint",
    "Entry",
    "Evaluation",
    "InvalidRequest",
    "ItemId",
    "NotFound",
    "NotSupported",
    "Page",
    "Recipe",
    "Store",
    "StoreStatus",
    "StoreUnavailable",
    "StoredItem",
    "Verdict",
    "VersionFiles",
    "VersionInfo",
    "open_store",
]
