"""The engines that can be chosen by name, and which one "auto" is."""

from likewise.index.engines._engine import MOST_ITEMS_EXACT, Kind
from likewise.index.engines._exact import ExactEngine
from likewise.index.engines._faiss import FaissEngine
from likewise.index.engines._usearch import UsearchEngine
from likewise.similarities import Metric

ALL_METRICS: tuple[Metric, ...] = ("inner_product", "cosine", "euclidean")

KINDS = {
    kind.name: kind
    for kind in (
        Kind("exact", ALL_METRICS, ExactEngine),
        Kind("faiss", ("inner_product", "euclidean"), FaissEngine, package="faiss"),
        Kind("usearch", ALL_METRICS, UsearchEngine, package="usearch"),
    )
}


def chosen_kind(engine: str, n_items: int, *, can_fold: bool) -> tuple[Kind, str]:
    """Return the engine for so many items, and why it is that."""
    if engine != "auto":
        return KINDS[engine], "it was asked for"
    if not can_fold:
        return KINDS["exact"], "what is compared cannot be put into another engine"
    if n_items <= MOST_ITEMS_EXACT:
        return KINDS["exact"], f"{n_items:,} items are few enough to look at every one"
    for name in ("faiss", "usearch"):
        if KINDS[name].is_installed:
            return KINDS[name], f"{n_items:,} items are many, and {name} is installed"
    return KINDS["exact"], (
        f"neither faiss nor usearch is installed; for {n_items:,} items they would be faster: "
        "pip install 'likewise[faiss]'"
    )
