"""The engines that can be chosen by name, and the choice that "auto" makes."""

from dataclasses import dataclass

from likewise._installation import install_hint
from likewise.index.engines._base import MAX_ITEMS_EXACT, EngineKind
from likewise.index.engines._exact import ExactEngine
from likewise.index.engines._faiss import FaissEngine
from likewise.index.engines._usearch import UsearchEngine
from likewise.similarities import Metric

ALL_METRICS: tuple[Metric, ...] = ("inner_product", "cosine", "euclidean")

ENGINES = {
    kind.name: kind
    for kind in (
        EngineKind("exact", ALL_METRICS, ExactEngine),
        EngineKind("faiss", ("inner_product", "euclidean"), FaissEngine, package="faiss"),
        EngineKind("usearch", ALL_METRICS, UsearchEngine, package="usearch"),
    )
}


@dataclass(frozen=True)
class EngineOptions:
    """The options of an index that an engine is chosen by, now and after later changes."""

    engine: str
    fold: str
    metric: str | None


def choose_engine(engine: str, n_items: int, *, can_fold: bool) -> tuple[EngineKind, str]:
    """Return the engine for a number of items, and the reason for the choice."""
    if engine != "auto":
        return ENGINES[engine], "the engine was given"
    if not can_fold:
        return ENGINES["exact"], "the items cannot be folded into another engine"
    if n_items <= MAX_ITEMS_EXACT:
        return ENGINES["exact"], f"{n_items:,} items are few enough to score each of them"
    for name in ("faiss", "usearch"):
        if ENGINES[name].is_installed:
            return ENGINES[name], f"{n_items:,} items are many, and {name} is installed"
    return ENGINES["exact"], (
        f"neither faiss nor usearch is installed; for {n_items:,} items they would be faster: "
        f"{install_hint('faiss')}"
    )
