"""Neighbor search beside the exact searches of other libraries.

The floor is the measured time of the matrix product alone, in blocks of 256 queries: 2 n m d
operations at the speed of BLAS, without looking for the smallest distances.
"""

from typing import Any

import numpy as np

from benchmarks._contender import Contender

_SIZE = {"items": 60_000, "queries": 10_000, "features": 164, "dtype": "float32"}
CASES = [{**_SIZE, "k": 3}, {**_SIZE, "k": 100}, {**_SIZE, "k": 3, "threads": 1}]


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return items and queries: clusters, so that distances differ as in real data."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(300, case["features"]))
    parts = []
    for n_rows in (case["items"], case["queries"]):
        rows = centers[rng.integers(300, size=n_rows)]
        parts.append((rows + rng.normal(size=rows.shape)).astype(case["dtype"]))
    return parts[0], parts[1]


def _likewise(case: dict[str, Any], data: Any) -> Any:
    import likewise

    items, queries = data
    similarity = likewise.as_similarity("euclidean")
    return lambda: similarity.neighbors(queries, items, case["k"]).ids


def _prepared(case: dict[str, Any], data: Any) -> Any:
    import likewise

    items, queries = data
    similarity = likewise.as_similarity("euclidean")
    prepared = similarity.prepare_items(items)
    return lambda: similarity.neighbors(queries, prepared, case["k"]).ids


def _scikit_learn(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NearestNeighbors

    items, queries = data
    index = NearestNeighbors(n_neighbors=case["k"], algorithm="brute").fit(items)
    return lambda: index.kneighbors(queries, return_distance=False)


def _intelex(case: dict[str, Any], data: Any) -> Any:
    from daal4py import daalinit
    from sklearnex.neighbors import NearestNeighbors

    items, queries = data
    if "threads" in case:
        daalinit(case["threads"])
    index = NearestNeighbors(n_neighbors=case["k"], algorithm="brute").fit(items)
    return lambda: index.kneighbors(queries, return_distance=False)


def _usearch(case: dict[str, Any], data: Any) -> Any:
    from usearch.index import MetricKind, search

    items, queries = data
    threads = case.get("threads", 0)  # 0 for all
    return lambda: search(
        items, queries, case["k"], MetricKind.L2sq, exact=True, threads=threads
    ).keys.astype(np.int64)


def _faiss(case: dict[str, Any], data: Any) -> Any:
    import faiss

    items, queries = data
    if "threads" in case:
        faiss.omp_set_num_threads(case["threads"])
    index = faiss.IndexFlatL2(items.shape[1])
    index.add(items)
    return lambda: index.search(queries, case["k"])[1]


def _floor(case: dict[str, Any], data: Any) -> Any:
    items, queries = data

    def multiply() -> None:
        for start in range(0, len(queries), 256):
            np.matmul(queries[start : start + 256], items.T, out=block[: len(queries) - start])

    block = np.empty((256, len(items)), dtype=items.dtype)
    return multiply


CONTENDERS = [
    Contender("likewise", _likewise),
    Contender("likewise, prepared items", _prepared),
    Contender("scikit-learn", _scikit_learn),
    Contender("scikit-learn-intelex", _intelex, environment="intelex"),
    Contender("usearch, exact", _usearch, environment="usearch"),
    Contender("faiss flat", _faiss, environment="faiss"),
    Contender("floor: the matrix product alone", _floor),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the share of true neighbors, in double precision, for some of the queries."""
    if result is None:
        return {}
    items, queries = (rows.astype(np.float64) for rows in data)
    some = np.arange(0, len(queries), 500)
    right = 0
    for query in some:
        distances = ((items - queries[query]) ** 2).sum(axis=1)
        true = np.argsort(distances, kind="stable")[: case["k"]]
        right += len(np.intersect1d(true, result[query]))
    return {"recall": right / (len(some) * case["k"])}
