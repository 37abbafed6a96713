"""Rows that do not fit into the memory of a worker: a folder of Parquet files, 64 numbers a row.

Two workers have 600 MB each, of which their libraries take half. "MB above data" is what the client
takes, "worker MB" the most that a worker has taken: neither may grow with the rows, but for what is
returned, a number or two for each. The folder of 4,000,000 rows, 1.0 GB, and the features of its
rows are written into the folder for temporary files. `--repeats 1` takes 8 minutes on two cores.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._cluster import started
from benchmarks._contender import Contender

_FEATURES = 64
_CLASSES = 10
_ROWS_IN_FILE = 200_000
_SOME = 3000  # rows to learn from
_MEMORY = "600MB"

CASES = [{"rows": rows, "threads": 1} for rows in (1_000_000, 4_000_000)]


def data(case: dict[str, Any]) -> Any:
    """Return a folder of rows around ten centers, and some such rows in memory, with labels."""
    folder = Path(tempfile.gettempdir()) / f"likewise-bench-rows-{case['rows']}"
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(_CLASSES, _FEATURES)).astype(np.float32)
    folder.mkdir(exist_ok=True)
    for number in range(case["rows"] // _ROWS_IN_FILE):
        if not (file := folder / f"{number:03}.parquet").exists():
            _write(file, _rows(centers, _ROWS_IN_FILE, np.random.default_rng(number))[0])
    return folder, *_rows(centers, _SOME, rng)


def _rows(centers: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, _CLASSES, n)
    return centers[y] + rng.normal(size=(n, _FEATURES)).astype(np.float32), y


def _write(file: Path, rows: np.ndarray) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({f"f{j}": column for j, column in enumerate(rows.T)})
    unfinished = file.with_suffix(f".{os.getpid()}")  # others may create it as well
    parquet.write_table(table, unfinished, row_group_size=50_000)
    os.replace(unfinished, file)


def _on_workers(work: Callable[..., Any]) -> Any:
    def prepare(case: dict[str, Any], data: Any) -> Any:
        import likewise

        client = started(2, memory_limit=_MEMORY)
        folder, X, y = data
        run = work(X, y)

        def on_cluster() -> tuple[Any, float]:
            with likewise.distributed.run_on(client, rounds=2, shard_size=5000):
                return run(likewise.distributed.read_parquet(folder)), _most(client)

        return on_cluster

    return prepare


def _predict(X: np.ndarray, y: np.ndarray) -> Any:
    import likewise

    classifier = likewise.SimilarityClassifier(similarity="euclidean")
    return classifier.fit(X, y).predict


def _neighbors(X: np.ndarray, y: np.ndarray) -> Any:
    import likewise

    euclidean = likewise.as_similarity("euclidean")
    return lambda rows: euclidean.neighbors(X[:200], rows, 10)


def _features(X: np.ndarray, y: np.ndarray) -> Any:
    import likewise

    file = Path(tempfile.gettempdir()) / "likewise-bench-features.npy"
    landmarks = likewise.LandmarkFeatures("euclidean", n_landmarks=20)
    landmarks.fit(X)
    return lambda rows: landmarks.transform(rows, out=file)


def _aroma(X: np.ndarray, y: np.ndarray) -> Any:
    import likewise

    learner = likewise.AROMA()

    def fit(rows: Any) -> Any:
        triplets = np.random.default_rng(0).integers(0, rows.shape[0], (20_000, 3))
        return learner.fit_triplets(triplets, rows)

    return fit


CONTENDERS = [
    Contender("predict", _on_workers(_predict), slow=True),
    Contender("neighbors", _on_workers(_neighbors), slow=True),
    Contender("features", _on_workers(_features), slow=True),
    Contender("AROMA, 20,000 triplets", _on_workers(_aroma), slow=True),
]


def _most(client: Any) -> float:
    from benchmarks._worker import memory

    return max(client.run(memory, "VmHWM").values())


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the maximum memory of a worker, in MB."""
    return {"worker MB": result[1]}
