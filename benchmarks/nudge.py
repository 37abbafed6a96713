"""RidgeSimilarity with item offsets beside NUDGE, which moves judged items only.

NUDGE (nudge-ft) runs in an environment of its own, on the same splits and vectors, and validates on
a fifth of the training queries. Seconds are processor time of learning, validation included, on one
thread each.
"""

import os
import subprocess
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks._frame import ROOT, THREAD_VARIABLES, python_of

_COLLECTIONS = {"SciFact": ("scifact_minilm", 5), "Cranfield": ("cranfield", 8)}
_VALIDATION_SHARE = 0.2


def main(folder: Path) -> None:
    """Print nDCG@10 over all, seen and new documents, and write it to ``nudge.md``."""
    from reproduce._texts import load_texts

    from likewise.evaluation import Table

    tables = []
    for title, (name, n_splits) in _COLLECTIONS.items():
        splits = [load_texts(name, seed, graded=False) for seed in range(n_splits)]
        found = {"cosine": [(texts.ndcg("cosine"), None) for texts in splits]}
        found |= by_nudge(splits)
        found["likewise"] = [by_ridge(texts, seed) for seed, texts in enumerate(splits)]
        table = Table(("", "overall", "seen", "new", "CPU seconds", "× likewise"), _rows(found))
        text = f"{title}, nDCG@10, mean ± standard deviation over {n_splits} splits"
        print(f"\n{text}\n{table}")
        tables.append(f"## {text}\n\n{table.to_markdown()}\n")
    (folder / "nudge.md").write_text("\n".join(["# nudge\n", *tables]), encoding="utf8")


def by_ridge(texts: Any, seed: int) -> tuple[np.ndarray, float]:
    """Return nDCG@10 by kind of what RidgeSimilarity learns, and its seconds."""
    from likewise import RidgeSimilarity

    ridge = RidgeSimilarity(random_state=seed)
    lesson = texts.relevance[texts.train], texts.queries[texts.train], texts.documents
    started = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the start is kept, the figures show it
        ridge.fit_relevance(*lesson)
    seconds = process_time() - started
    return texts.ndcg(ridge.similarity_, ridge.offsets_), seconds


def by_nudge(splits: list[Any]) -> dict[str, list[Any]]:
    """Return nDCG@10 by kind and seconds of NUDGE-M and NUDGE-N on every split."""
    from likewise import Bilinear

    found: dict[str, list[Any]] = {"NUDGE-M": [], "NUDGE-N": []}
    with tempfile.TemporaryDirectory() as folder:
        for number, texts in enumerate(splits):
            _write(Path(folder) / f"{number}.npz", texts, number)
        subprocess.run(
            [python_of("nudge"), "-m", "benchmarks._nudge", folder],
            cwd=ROOT,
            env=os.environ | dict.fromkeys(THREAD_VARIABLES, "1"),
            check=True,
        )
        for number, texts in enumerate(splits):
            with np.load(Path(folder) / f"{number}-nudge.npz") as answer:
                for method in found:
                    moved = replace(texts, documents=answer[method[-1]])
                    value = moved.ndcg(Bilinear(1.0, norm="none"))
                    found[method].append((value, float(answer[f"{method[-1]}_seconds"])))
    return found


def _write(path: Path, texts: Any, seed: int) -> None:
    relevance = texts.relevance[texts.train]
    n_queries = relevance.shape[0]
    order = np.random.default_rng(seed).permutation(n_queries)
    np.savez(
        path,
        documents=texts.documents,
        queries=texts.queries[texts.train],
        starts=relevance.indptr,
        items=relevance.indices,
        validates=order < _VALIDATION_SHARE * n_queries,
    )


def _rows(found: dict[str, list[Any]]) -> list[tuple[str, ...]]:
    ours = np.mean([seconds for _, seconds in found["likewise"]])
    rows = []
    for method, of_splits in found.items():
        values = np.array([value for value, _ in of_splits])
        cells = [
            f"{mean:.3f} ± {deviation:.3f}"
            for mean, deviation in zip(values.mean(axis=0), values.std(axis=0), strict=True)
        ]
        if of_splits[0][1] is None:
            rows.append((method, *cells, "", ""))
            continue
        seconds = np.mean([seconds for _, seconds in of_splits])
        rows.append((method, *cells, f"{seconds:.2f}", f"{seconds / ours:.2f}"))
    return rows
