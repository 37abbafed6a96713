"""First use: CPU seconds of compilation with an empty cache, and of imports with a warm one."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._frame import ROOT, THREAD_VARIABLES, Result, tree_of
from likewise.evaluation import Table

_COMMAND = "from likewise.cli import main; import sys; sys.argv[1:] = '{}'.split(); main()"
_BASE = (
    "import likewise as lw, numpy as np; X = np.random.default_rng(0).random((100, 10)); "
    "[lw.as_similarity(name).neighbors(X, X, 5) for name in ('euclidean', 'cosine', 'dot')]"
)
COMPILED = {  # statement, and the largest acceptable number of seconds
    "fit wine": (_COMMAND.format("fit wine --budget 600s"), 10.0),
    "LMNN with neighbors": (
        "import likewise as lw; data = lw.datasets.load('wine'); "
        "lw.LMNN().fit(data.X, data.y).similarity_.neighbors(data.X, data.X, 5)",
        3.0,
    ),
    "base similarities, small data": (_BASE, 1.0),
    "warmup": (_COMMAND.format("warmup"), None),
}
IMPORTED = {
    "python": "pass",
    "numpy": "import numpy",
    "sklearn.base": "import sklearn.base",
    "import likewise": "import likewise",
    "likewise --help": _COMMAND.format("--help"),
    "lw.Bilinear": "import likewise; likewise.Bilinear",
    "first neighbors": _BASE,
    "tiny classifier": (
        "import likewise as lw, numpy as np; X, y = np.eye(4), np.arange(4) % 2; "
        "lw.SimilarityClassifier(n_neighbors=1).fit(X, y).predict(X)"
    ),
}
# numba reports the start and the end of each compilation, nested for the functions it calls.
_LISTEN = """
import atexit, json, os, threading, time
from numba.core import event

class Listener(event.Listener):
    seconds, count, local = 0.0, 0, threading.local()

    def on_start(self, event):
        self.local.starts = [*getattr(self.local, "starts", []), time.thread_time()]

    def on_end(self, event):
        start = self.local.starts.pop()
        if not self.local.starts:
            self.seconds += time.thread_time() - start
            self.count += 1

listener = Listener()
event.register("numba:compile", listener)
atexit.register(lambda: open(os.environ["COLD_FIGURES"], "w").write(
    json.dumps([listener.count, listener.seconds])))
"""
_FRESH_CACHES, _REPEATS = 3, 5


def main(folder: Path, base: str | None = None) -> None:
    """Measure, print and write cold.json and cold.md.

    With `base`, statements that have a limit are also measured at that git revision, and others are
    left out.
    """
    sources = {"CPU seconds": ROOT / "src"}
    if base is not None:
        sources[f"CPU seconds, {base}"] = tree_of(base, folder) / "src"
    figures = {
        name: _figures(statement, sources)
        for name, (statement, limit) in COMPILED.items()
        if base is None or limit is not None
    }
    rows = [
        (
            name,
            str(of_trees[0][0]),
            *(f"{seconds:.1f}" for _, seconds in of_trees),
            "" if COMPILED[name][1] is None else f"{COMPILED[name][1]:.0f}",
        )
        for name, of_trees in figures.items()
    ]
    table = Table(("compilation, empty cache", "kernels", *sources, "at most"), rows)
    imported = _imports()
    imports = Table(
        ("start, warm cache", "CPU seconds"),
        [(name, f"{seconds:.2f}") for name, seconds in imported.items()],
    )
    print(f"\n{table}\n\n{imports}")
    compiled = {name: of_trees[0] for name, of_trees in figures.items()}
    found = [
        *(_entry({"compilation of": name, "kernels": n}, s) for name, (n, s) in compiled.items()),
        *(_entry({"start of": name}, seconds) for name, seconds in imported.items()),
    ]
    (folder / "cold.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf8")
    text = f"# cold\n\n{table.to_markdown()}\n\n{imports.to_markdown()}\n"
    (folder / "cold.md").write_text(text, encoding="utf8")


def _entry(case: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return a figure in the form of other benchmarks, for the summary."""
    result = Result("likewise", [{"seconds": seconds, "peak_mb": 0.0}], None)
    return {"case": case, "results": [result._asdict()]}


def _figures(statement: str, sources: dict[str, Path]) -> list[tuple[int, float]]:
    """Return the number of compilations in a fresh cache, and their CPU seconds, of each tree.

    The best of several runs, in turn.
    """
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in sources}
    for _ in range(_FRESH_CACHES):
        for name, source in sources.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "figures.json")
                _run(_LISTEN + statement, folder, source, COLD_FIGURES=str(file))
                n, seconds = json.loads(file.read_text())
                found[name].append((seconds, n))
    return [(n, seconds) for seconds, n in map(min, found.values())]


def _imports() -> dict[str, float]:
    """Return the CPU seconds of a process for each statement, the best of several."""
    best = dict.fromkeys(IMPORTED, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_REPEATS + 1):  # the first run fills the cache
            for name, statement in IMPORTED.items():
                best[name] = min(best[name], _run(statement, folder))
    return best


def _run(statement: str, folder: str, source: Path = ROOT / "src", **variables: str) -> float:
    """Run a statement in a new process and return its CPU seconds."""
    environment = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, "1"),
        "NUMBA_CACHE_DIR": str(Path(folder, "cache")),
        "PYTHONPATH": str(source),
        **variables,
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", statement],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
