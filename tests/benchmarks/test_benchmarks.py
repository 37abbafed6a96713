"""The benchmarks run by one command from the project's root."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.growth import exponent

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_benchmark_writes_its_figures_table_and_plot(tmp_path):
    found = run("imports", "--repeats", "1", "--folder", str(tmp_path))
    assert found.returncode == 0, found.stderr
    assert "likewise" in json.dumps(json.loads((tmp_path / "imports.json").read_text()))
    table = (tmp_path / "imports.md").read_text(encoding="utf8")
    seconds = {
        cells[1].strip(): float(cells[2])
        for cells in (line.split("|") for line in table.splitlines() if line.startswith("| "))
        if cells[2].strip().replace(".", "").isdigit()
    }
    assert {"likewise", "scikit-learn"} < set(seconds)
    assert all(value > 0 for value in seconds.values())
    assert (tmp_path / "imports.png").read_bytes().startswith(b"\x89PNG")


def test_the_summary_has_the_ratios_of_every_benchmark_that_was_run(tmp_path):
    page = tmp_path / "performance.md"
    found = run("--folder", str(tmp_path), "--summary", str(page))
    assert found.returncode == 1
    assert "has no results" in found.stderr
    run_once = {"answers": [{"seconds": 2.0, "peak_mb": 1}], "failure": None, "share": 1.0}
    results = [
        {"name": "likewise", **run_once},
        {"name": "other", **run_once, "share": 0.25},
        *(
            {"name": f"floor: {name}", **run_once, "answers": [{"seconds": s, "peak_mb": 1}]}
            for name, s in (("reads", 0.1), ("product", 0.5), ("writes", 0.2))
        ),
    ]
    written = json.dumps([{"case": {"rows": 7}, "results": results}])
    (tmp_path / "example.json").write_text(written, encoding="utf8")
    assert run("--folder", str(tmp_path), "--summary", str(page)).returncode == 0
    (row,) = [line for line in page.read_text(encoding="utf8").splitlines() if "example" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["example", "rows 7", "2", "0.25", "other", "4.00", "product"]
    (tmp_path / "example.json").rename(tmp_path / "another.json")
    assert run("--folder", str(tmp_path), "--summary", str(page)).returncode == 0
    lines = page.read_text(encoding="utf8").splitlines()
    assert row in lines  # of a benchmark that was not run again
    assert row.replace("example", "another") in lines


def test_a_benchmark_compares_with_an_earlier_revision(tmp_path):
    found = run("imports", "--repeats", "1", "--folder", str(tmp_path), "--base", "HEAD")
    assert found.returncode == 0, found.stderr
    (case,) = json.loads((tmp_path / "imports.json").read_text())
    ours, base = case["results"]
    assert ours["name"] == "likewise"
    assert base["name"].startswith("likewise, base-")
    assert ours["answers"]
    assert base["answers"]


def test_an_unknown_revision_is_refused_with_a_sentence(tmp_path):
    found = run("imports", "--folder", str(tmp_path), "--base", "no-such-revision")
    assert found.returncode == 1
    assert found.stderr.strip() == (
        "--base must be a git revision, but 'no-such-revision' was given."
    )


def test_an_unknown_benchmark_is_refused_with_a_sentence(tmp_path):
    found = run("neighbours", "--folder", str(tmp_path / "out"))
    assert found.returncode == 2
    assert "imports" in found.stderr
    assert "neighbours" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_soak_compares_every_minute_with_the_first():
    import numpy as np
    from benchmarks.soak import Minute, verdict

    def minutes(*figures):
        return [Minute(n, np.full(9, p99), mb, 0.0, 0, 0, 0) for n, (p99, mb) in enumerate(figures)]

    assert verdict(minutes((5.0, 300), (4.0, 400), (9.9, 439)))[0]
    slow, sentence = verdict(minutes((5.0, 300), (4.0, 400), (10.1, 400), (3.0, 400)))
    assert not slow
    assert "2.02 times that of the first" in sentence
    large, sentence = verdict(minutes((5.0, 300), (4.0, 400), (5.0, 448)))
    assert not large
    assert "grew by 12.0%" in sentence


def test_the_exponent_of_growth_is_the_slope_in_logarithms():
    sizes = [10, 20, 40, 80]
    assert exponent(sizes, [3.0 * n**2 for n in sizes]) == pytest.approx(2)
    assert exponent(sizes, [5.0] * 4) == pytest.approx(0)
