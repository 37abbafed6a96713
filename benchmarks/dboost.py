"""Rounds of DBoost by histogram, by sorting and in NumPy, beside reading the columns alone.

With a precomputed matrix, the whole fit of the first rounds is timed, with its checks. The floor is
the measured time of reading the two columns of every pair once, as contiguous rows of an array.
"""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._contender import Contender

_PAIRS = 50
CASES = [
    {"rows": 1_000, "classes": 2, "rounds": 300, "threads": 1},
    {"rows": 1_000, "classes": 10, "rounds": 300, "threads": 1},
    {"rows": 10_000, "classes": 2, "rounds": 60, "threads": 1},
    {"rows": 10_000, "classes": 10, "rounds": 60, "threads": 1},
    {"rows": 10_000, "classes": 2, "rounds": 100, "matrix": "float64", "threads": 1},
    {"rows": 10_000, "classes": 2, "rounds": 100, "matrix": "float32", "threads": 1},
]


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of overlapping blobs, or their distances, and their classes."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        case["rows"], 20, n_informative=15, n_classes=case["classes"], random_state=0
    )
    if "matrix" in case:
        from scipy.spatial.distance import cdist

        X = cdist(X, X).astype(case["matrix"])
    return X, y.astype(np.int64)


def _likewise(case: dict[str, Any], data: Any) -> Any:
    if "matrix" not in case:
        return _boosting("histogram")(case, data)
    import likewise

    X, y = data
    options = {"n_pairs": _PAIRS, "n_rounds": case["rounds"], "n_jobs": 1, "random_state": 0}

    def run() -> Any:
        likewise.DBoost("precomputed", **options).fit(X, y)
        return None, None, case["rounds"]

    return run


def _boosting(search: str, share: float = 1.0) -> Any:
    """Time the rounds alone, with distances computed beforehand."""

    def prepare(case: dict[str, Any], data: Any) -> Any:
        from likewise._progress import LongWork
        from likewise._threads import limit_threads
        from likewise.classifiers._boosting import BoostingOptions, boost
        from likewise.similarities import DissimilarityColumns, from_distance

        X, y = data
        rows = np.arange(len(y))
        columns = DissimilarityColumns(from_distance("euclidean"), X)
        columns.positions(rows)
        options = BoostingOptions(_PAIRS, None, "free", search, 1)
        n_rounds = max(1, int(share * case["rounds"]))

        def run() -> Any:
            rng = np.random.default_rng(0)
            with limit_threads(1), LongWork("boosting") as work:
                found = boost(columns, rows, y, np.ones(len(y)), n_rounds, options, rng, work)
            return found, columns, n_rounds

        return run

    return prepare


def _twin(case: dict[str, Any], data: Any) -> Any:
    """Run rounds in plain NumPy: 128 bins by bincount, Z by cumulative sums."""
    from scipy.spatial.distance import cdist

    X, y = data
    columns = np.ascontiguousarray(cdist(X, X).T)
    n, n_labels = len(y), 1 if case["classes"] == 2 else case["classes"]
    Y = (y[:, None] == (1 if n_labels == 1 else np.arange(n_labels))).astype(float)
    n_rounds = max(1, case["rounds"] // 30)

    def run() -> Any:
        rng = np.random.default_rng(0)
        w = np.full((n, n_labels), 1 / (n * n_labels))
        for _ in range(n_rounds):
            p = w.sum(axis=1)
            firsts = rng.choice(n, _PAIRS, p=p / p.sum())
            best = (np.inf, 0, 0, 0.0)
            for first in firsts:
                other = np.where(y != y[first], p, 0)
                second = rng.choice(n, p=other / other.sum())
                f = columns[first] - columns[second]
                edges = np.linspace(f.min(), f.max(), 129)
                bins = np.clip(np.searchsorted(edges, f, side="right") - 1, 0, 127)
                z = 0.0
                for label in range(n_labels):
                    positive = np.cumsum(np.bincount(bins, w[:, label] * Y[:, label], 128))
                    total = np.cumsum(np.bincount(bins, w[:, label], 128))
                    rest_positive, rest = positive[-1] - positive, total[-1] - total
                    z = z + np.sqrt(np.maximum(0, positive * (total - positive)))
                    z = z + np.sqrt(np.maximum(0, rest_positive * (rest - rest_positive)))
                at = int(z[:-1].argmin())
                best = min(best, (float(z[at]), int(first), int(second), float(edges[at + 1])))
            _, first, second, v = best
            right = columns[first] - columns[second] > v
            for side in (right, ~right):
                positive = (w * Y)[side].sum(axis=0)
                h = (
                    np.log((positive + 1 / w.size) / (w[side].sum(axis=0) - positive + 1 / w.size))
                    / 2
                )
                w[side] *= np.exp(-(2 * Y[side] - 1) * h)
            w /= w.sum()
        return None, None, n_rounds

    return run


def _floor(case: dict[str, Any], data: Any) -> Any:
    """Read the two columns of every pair once, without further work."""
    columns = np.random.default_rng(0).random((len(data[1]), len(data[1])))
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(columns), size=(case["rounds"], _PAIRS, 2))

    def run() -> Any:
        total = 0.0
        for candidates in pairs:
            for first, second in candidates:
                total += float((columns[first] - columns[second]).max())
        return None, None, case["rounds"]

    return run


def _timed(prepare: Any) -> Any:
    """Add the seconds of a run to its result."""

    def prepare_timed(case: dict[str, Any], data: Any) -> Any:
        run = prepare(case, data)

        def timed() -> Any:
            started = perf_counter()
            result = run()
            return *result, perf_counter() - started

        return timed

    return prepare_timed


def _has_matrix(case: dict[str, Any]) -> str | None:
    return "measured above" if "matrix" in case else None


CONTENDERS = [
    Contender("likewise", _timed(_likewise)),
    Contender(
        "likewise, exact, a fifth of the rounds",
        _timed(_boosting("exact", share=0.2)),
        share=0.2,
        left_out=_has_matrix,
    ),
    Contender(
        "NumPy twin, a thirtieth of the rounds",
        _timed(_twin),
        slow=True,
        share=1 / 30,
        left_out=_has_matrix,
    ),
    Contender("floor: read two columns a pair", _timed(_floor)),
]


def quality(case: dict[str, Any], data: Any, result: Any) -> dict[str, float]:
    """Return the rounds; for ours also training error and prediction in µs per row."""
    found, columns, n_rounds, run_seconds = result
    rounds = {"rounds": n_rounds, "rounds/s": n_rounds / run_seconds}
    if found is None:
        return rounds
    from likewise import kernels

    distances = np.ascontiguousarray(columns.values[columns.positions(found.prototypes)].T)
    scores = np.empty((len(distances), found.outputs.shape[2]))
    trees = found.firsts, found.seconds, found.thresholds, found.outputs
    repeats = max(1, 500 // n_rounds)
    kernels.sum_trees(distances[:5], *trees, scores[:5])
    started = perf_counter()
    for _ in range(repeats):
        kernels.sum_trees(distances, *trees, scores)
    seconds = (perf_counter() - started) / (repeats * len(distances))
    return {
        **rounds,
        "training error %": 100 * found.history[-1]["training_error"],
        "µs a row and 500 rounds": 1e6 * seconds * 500 / n_rounds,
    }
