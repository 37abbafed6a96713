"""NUDGE in an environment of its own: ``python -m benchmarks._nudge FOLDER``.

Every ``NAME.npz`` of the folder holds a split; ``NAME-nudge.npz`` gets what NUDGE makes of its
documents, and in how many seconds.
"""

import contextlib
import io
import sys
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np


def main() -> None:
    """Fine-tune the documents of every split by both algorithms."""
    import torch
    from nudge import NUDGEM, NUDGEN

    torch.set_num_threads(1)
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        with np.load(path) as split:
            documents, validates = split["documents"], split["validates"]
            parts = [_part(split, np.flatnonzero(which)) for which in (~validates, validates)]
        found: dict[str, Any] = {}
        for name, algorithm in (("M", NUDGEM), ("N", NUDGEN)):
            with contextlib.redirect_stdout(io.StringIO()):
                algorithm().finetune_embeddings(documents[:100], *_small(parts))  # warms up
                started = process_time()
                found[name] = algorithm().finetune_embeddings(documents, *parts)
                found[f"{name}_seconds"] = process_time() - started
        np.savez(path.with_name(f"{path.stem}-nudge"), **found)


def _part(split: Any, queries: np.ndarray) -> dict[str, Any]:
    starts, items = split["starts"], split["items"]
    relevant = [items[starts[query] : starts[query + 1]].tolist() for query in queries]
    return {"q_embs": split["queries"][queries], "q_ans_indx": relevant}


def _small(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ten queries of each part, each with one of the first documents."""
    return [
        {
            "q_embs": part["q_embs"][:10],
            "q_ans_indx": [[n] for n in range(len(part["q_embs"][:10]))],
        }
        for part in parts
    ]


if __name__ == "__main__":
    main()
