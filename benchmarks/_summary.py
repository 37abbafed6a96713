"""The time of likewise beside the fastest peer and the floor, over all benchmarks that were run."""

import json
from pathlib import Path
from typing import Any

from benchmarks._frame import Result, case_title, floors_of, peers_of
from likewise.evaluation import Table

_INTRODUCTION = """# Performance

Seconds of the fastest run, in a process of its own, beside the fastest other library on the same
case and beside the floor: a measured lower bound, such as the matrix product or the memory
traffic that the work cannot do without. A ratio below 1 means that likewise is faster. In `dask`
the peer is likewise itself on two workers, and in `serve` it is a search without HTTP. Equal runs
differ by up to a third where other processes run beside them. `python -m benchmarks NAME` measures
a benchmark and writes every contender, with memory and quality, to `results/bench`; from there
`python -m benchmarks --summary` writes this page. Benchmarks that are not in the table were not run
for it.
"""


def write_summary(folder: Path, page: Path) -> None:
    """Write the page from the results in `folder`."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        for entry in json.loads(file.read_text(encoding="utf8")):
            if isinstance(entry, dict) and "results" in entry:
                row = _row(file.stem, entry)
                rows += [row] if row else []
    if not rows:
        raise SystemExit(f"{folder} has no results; run python -m benchmarks first.")
    header = ("benchmark", "case", "seconds", "× fastest peer", "peer", "× floor", "floor")
    page.write_text(f"{_INTRODUCTION}\n{Table(header, rows).to_markdown()}\n", encoding="utf8")
    print(f"written to {page}")


def _row(name: str, entry: dict[str, Any]) -> tuple[str, ...] | None:
    ran = [result for r in entry["results"] if (result := Result(**r)).answers]
    ours = next((result for result in ran if result.name == "likewise"), None)
    if ours is None:
        return None
    cells = []
    for others in (peers_of(ran), floors_of(ran)):
        best = min(others, key=lambda result: result.full_seconds, default=None)
        if best is None:
            cells += ["", ""]
        else:
            ratio = f"{ours.full_seconds / best.full_seconds:.2f}"
            cells += [ratio, best.name.removeprefix("floor: ")]
    return name, case_title(entry["case"]), f"{ours.full_seconds:.3g}", *cells
