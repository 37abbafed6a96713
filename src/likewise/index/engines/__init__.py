"""Engines that search vectors in this process: exact, faiss and usearch."""

from likewise.index.engines._base import (
    MAX_ITEMS_EXACT,
    NO_SLOT,
    Engine,
    EngineKind,
    Hits,
    as_float32,
    best_unseen_value,
    squared_lengths,
)
from likewise.index.engines._choice import ALL_METRICS, ENGINES, EngineOptions, choose_engine
from likewise.index.engines._usearch import USEARCH_METRICS

__all__ = [
    "ALL_METRICS",
    "ENGINES",
    "MAX_ITEMS_EXACT",
    "NO_SLOT",
    "USEARCH_METRICS",
    "Engine",
    "EngineKind",
    "EngineOptions",
    "Hits",
    "as_float32",
    "best_unseen_value",
    "choose_engine",
    "squared_lengths",
]
