"""The cost of a fit as rows and columns double: CPU seconds, memory, and the exponents.

The rows are clusters in ten classes. For a learner from relevance, half of the rows are queries and
half are items. An exponent is the slope of the logarithm of the seconds: 1 is linear, 2 quadratic.
"""

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import nca
from benchmarks._contender import Contender
from benchmarks._frame import Result, run_case
from likewise.evaluation import Table

ROWS, COLUMNS = (1_000, 2_000, 4_000, 8_000), (16, 32, 64, 128)
_MIDDLE_ROWS, _MIDDLE_COLUMNS, _REPEATS = 2_000, 32, 3
_SIZES = sorted({*((n, _MIDDLE_COLUMNS) for n in ROWS), *((_MIDDLE_ROWS, d) for d in COLUMNS)})
CASES = [
    {"set": "clusters", "rows": rows, "features": features, "threads": 1}
    for rows, features in _SIZES
]


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in double precision, of unit deviation, and their labels."""
    X, y, *_ = nca.data(case)
    return X / X.std(axis=0, dtype=np.float64), y


def _fit(name: str, **parameters: Any) -> Contender:
    """Return a contender that fits a learner from labels."""

    def prepare(case: dict[str, Any], data: Any) -> Callable[[], float]:
        import likewise

        learner = getattr(likewise, name)(**parameters)
        return _timed(lambda: learner.fit(*data))

    return Contender(name, prepare)


def _ridge(case: dict[str, Any], data: Any) -> Callable[[], float]:
    from scipy.sparse import csr_array

    import likewise

    X, y = data
    half = len(X) // 2
    queries, items, wanted = X[:half], X[half:], y[half:]
    first = [np.flatnonzero(wanted == label)[:20] for label in range(10)]
    relevant = np.array([first[label][n % 20] for n, label in enumerate(y[:half])])
    relevance = csr_array((np.ones(half), (np.arange(half), relevant)), (half, len(items)))
    learner = likewise.RidgeSimilarity(random_state=0)
    return _timed(lambda: learner.fit_relevance(relevance, queries, items))


def _landmarks(case: dict[str, Any], data: Any) -> Callable[[], float]:
    import likewise

    features = likewise.LandmarkFeatures(random_state=0)
    return _timed(lambda: features.fit(data[0]).transform(data[0]))


def _timed(work: Callable[[], Any]) -> Callable[[], float]:
    def seconds() -> float:
        started = process_time()
        work()
        return process_time() - started

    return seconds


CONTENDERS = [
    _fit("LMNN"),
    _fit("NCA", random_state=0),
    _fit("RCA"),
    _fit("SiLA"),
    _fit("AROMA", n_triplets=100_000, random_state=0),
    _fit("OASIS", n_triplets=100_000, random_state=0),
    Contender("RidgeSimilarity", _ridge),
    _fit("DBoost", n_rounds=100, random_state=0),
    Contender("LandmarkFeatures", _landmarks),
]


def quality(case: dict[str, Any], data: Any, result: float) -> dict[str, float]:
    """Return the CPU seconds of the fit."""
    return {"cpu s": result}


def main(folder: Path) -> None:
    """Measure, print and write growth.json and growth.md."""
    results = [run_case("growth", CONTENDERS, case, _REPEATS) for case in CASES]
    stored = [
        {"case": case, "results": [result._asdict() for result in found]}
        for case, found in zip(CASES, results, strict=True)
    ]
    (folder / "growth.json").write_text(json.dumps(stored, indent=2) + "\n", encoding="utf8")
    tables = [
        _table("rows", [(rows, _MIDDLE_COLUMNS) for rows in ROWS], results),
        _table("columns", [(_MIDDLE_ROWS, columns) for columns in COLUMNS], results),
    ]
    print(*tables, sep="\n\n")
    text = "\n\n".join(table.to_markdown() for table in tables)
    (folder / "growth.md").write_text(f"# growth\n\n{text}\n", encoding="utf8")


def _table(what: str, sizes: list[tuple[int, int]], results: list[list[Result]]) -> Table:
    """Return a row for each learner: CPU seconds and MB above the data by size, the exponent."""
    header = ("CPU s, MB", *(f"{rows:,} × {columns}" for rows, columns in sizes), "exponent")
    measured = [results[_SIZES.index(size)] for size in sizes]
    varied = [size[what == "columns"] for size in sizes]
    rows = []
    for n, contender in enumerate(CONTENDERS):
        found = [_figures(each[n]) for each in measured]
        cells = [f"{seconds:.2g}, {peak:.0f}" for seconds, peak in found]
        slope = exponent(varied, [seconds for seconds, _ in found])
        rows.append((contender.name, *cells, f"{slope:.1f}"))
    return Table(header, rows)


def _figures(result: Result) -> tuple[float, float]:
    if result.failure is not None:
        raise SystemExit(f"{result.name}: {result.failure}")
    answers = result.answers
    return min(each["cpu s"] for each in answers), max(each["peak_mb"] for each in answers)


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log seconds over log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
