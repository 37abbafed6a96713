"""The time of likewise beside the fastest peer and the floor, over all benchmarks that were run."""

import json
from pathlib import Path
from typing import Any

from benchmarks._frame import Result, case_title, fastest_peer, highest_floor
from likewise.evaluation import Table

_INTRODUCTION = """# Performance

Seconds of the fastest run, in a process of its own, beside the fastest other library on the same
case and beside the floor: a measured lower bound, such as the matrix product or the memory traffic
that the work cannot do without, and of several the largest. A ratio below 1 means that likewise is
faster. In `dask` the peer is likewise itself on two workers, and in `serve` it is a search without
HTTP. Equal runs differ by up to a third where other processes run beside them. `python -m
benchmarks NAME` measures a benchmark and writes every contender, with memory and quality, to
`results/bench`; from there `python -m benchmarks --summary` writes this page, on which benchmarks
that were not run again keep their rows. In `cold` the seconds are CPU seconds of the compiler with
an empty cache, and of a process with a warm one.
"""
_HEADER = ("benchmark", "case", "seconds", "× fastest peer", "peer", "× floor", "floor")


def write_summary(folder: Path, page: Path) -> None:
    """Write the page from the results in `folder`; other benchmarks keep their rows of the page."""
    measured = {file.stem: _rows(file) for file in sorted(folder.glob("*.json"))}
    measured = {name: rows for name, rows in measured.items() if rows}
    if not measured:
        raise SystemExit(f"{folder} has no results; run python -m benchmarks first.")
    kept = [row for row in _rows_of_page(page) if row[0] not in measured]
    rows = sorted([*kept, *(row for rows in measured.values() for row in rows)], key=lambda r: r[0])
    page.write_text(f"{_INTRODUCTION}\n{Table(_HEADER, rows).to_markdown()}\n", encoding="utf8")
    print(f"written to {page}")


def _rows(file: Path) -> list[tuple[str, ...]]:
    entries = json.loads(file.read_text(encoding="utf8"))
    found = (_row(file.stem, e) for e in entries if isinstance(e, dict) and "results" in e)
    return [row for row in found if row is not None]


def _rows_of_page(page: Path) -> list[tuple[str, ...]]:
    if not page.exists():
        return []
    lines = [line for line in page.read_text(encoding="utf8").splitlines() if line.startswith("| ")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[2:]]


def _row(name: str, entry: dict[str, Any]) -> tuple[str, ...] | None:
    ran = [result for r in entry["results"] if (result := Result(**r)).answers]
    ours = next((result for result in ran if result.name == "likewise"), None)
    if ours is None:
        return None
    cells = []
    for other in (fastest_peer(ran), highest_floor(ran)):
        if other is None:
            cells += ["", ""]
        else:
            ratio = f"{ours.full_seconds / other.full_seconds:.2f}"
            cells += [ratio, other.name.removeprefix("floor: ")]
    return name, case_title(entry["case"]), f"{ours.full_seconds:.3g}", *cells
