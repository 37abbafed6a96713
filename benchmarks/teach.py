"""The number of answers that teaching needs: the most informative questions beside random ones.

A simulated person is asked, by the code of the Teach page, which of two digits is more like
a third; where both or neither are the same digit they skip. What was learned is held to digits that
were never shown. Where there are no USPS digits, scikit-learn's are taken.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._contender import Contender

CASES = [{"items": 1_000, "answers": 200}]
_AFTER = (25, 50, 100, 200)


def data(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and labels of the items, and of others for evaluation."""
    import likewise as lw

    try:
        digits: Any = lw.datasets.load("usps")
        parts = digits.X, digits.y, digits.X_test, digits.y_test
    except OSError:
        digits = lw.datasets.load("digits")
        parts = digits.X[:1_200], digits.y[:1_200], digits.X[1_200:], digits.y[1_200:]
    rng = np.random.default_rng(0)
    items = rng.permutation(len(parts[1]))[: case["items"]]
    others = rng.permutation(len(parts[3]))[:600]
    X, X_test = (np.asarray(part, dtype=np.float32) for part in (parts[0], parts[2]))
    return X[items], parts[1][items], X_test[others], parts[3][others]


def _taught(strategy: str, case: dict[str, Any], data: Any) -> Callable[[], dict[str, float]]:
    import likewise as lw
    from likewise._files import from_bytes, to_bytes
    from likewise.server._model import initialize_learner, open_model
    from likewise.server._settings import Settings
    from likewise.server._snapshot import Catalog, Snapshot, Version
    from likewise.server.learning._learner import Learner
    from likewise.server.learning._questions import QuestionSelector
    from likewise.server.store import Page, open_store

    X, y, X_test, y_test = data
    seeds = iter(range(1_000))

    def run() -> dict[str, float]:
        folder, seed = Path(tempfile.mkdtemp()), next(seeds)
        lw.save(lw.Bilinear(1.0, "cosine"), folder / "model.safetensors")
        model = open_model(folder / "model.safetensors", r=Settings(folder).r)
        store = open_store(str(folder / "store.sqlite"), durable=False)
        initial = initialize_learner(model.learner, X.shape[1], X.shape[1])
        store.initialize({"model": "digits"}, to_bytes(model.similarity), to_bytes(initial))
        store.put_items([(row, vector, {}) for row, vector in enumerate(X)])
        added, _, change = store.items_since(0)
        version = Version(1, model.similarity, None)
        snapshot = Snapshot(model, version, Catalog().updated(added, set(), change))
        questions, learner = QuestionSelector(store, seed), Learner(store)
        found = {"mAP at the start": _precision(model.similarity, X_test, y_test)}
        n_answers = n_skipped = 0
        while n_answers < case["answers"]:
            (query, left, right), _ = questions.select(snapshot, strategy)
            alike = y[left] == y[query], y[right] == y[query]
            if alike[0] == alike[1]:
                n_skipped += 1
                continue
            closer, farther = (left, right) if alike[0] else (right, left)
            page = Page.from_triplet(query + 1, closer + 1, farther + 1)
            store.append(str(n_answers), "", [page])
            learner.step()
            learner.save()
            n_answers += 1
            if n_answers in _AFTER:
                learned = lw.Bilinear(from_bytes(store.checkpoint().state).W, "cosine")
                found[f"mAP after {n_answers:>3}"] = _precision(learned, X_test, y_test)
        store.close()
        return {**found, "skipped": n_skipped}

    return run


def _precision(similarity: Any, X: np.ndarray, y: np.ndarray) -> float:
    from likewise.learners.validation._held_out import average_precisions

    return float(average_precisions(similarity.score, X, y).mean())


def quality(case: dict[str, Any], data: Any, result: dict[str, float]) -> dict[str, float]:
    """Return the figures."""
    return result


CONTENDERS = [
    Contender("likewise", partial(_taught, "informative")),
    Contender("any questions", partial(_taught, "random")),
]
