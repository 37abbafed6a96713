"""Neighbor search beside scikit-learn's brute force, faiss's flat index, and the matrix product."""

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


def _scikit_learn(case: dict[str, Any], data: Any) -> Any:
    from sklearn.neighbors import NearestNeighbors

    items, queries = data
    index = NearestNeighbors(n_neighbors=case["k"], algorithm="brute").fit(items)
    return lambda: index.kneighbors(queries, return_distance=False)


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
    Contender("scikit-learn", _scikit_learn),
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
