"""The time of an undo with ``--learner aroma``, by the age of the entry, at 100,000 entries."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

N_ENTRIES = 100_000
AGES = (10, 100, 1_000, 10_000, 99_000)
_ITEMS, _FEATURES = 300, 64


def main(folder: Path) -> None:
    """Print the CPU seconds and the replayed entries of undos, and write them to ``undo.md``."""
    from likewise.evaluation import Table

    with tempfile.TemporaryDirectory() as place:
        rows = list(measured(Path(place) / "store.sqlite"))
    table = Table(("undone", "entries replayed", "CPU seconds", "states kept"), rows)
    print(table)
    (folder / "undo.md").write_text(f"# undo\n\n{table.to_markdown()}\n", encoding="utf8")


def measured(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the age, the replayed entries, the time and the number of states of each undo."""
    from likewise.server.learning._learner import Learner

    store = filled_store(path)
    learn(Learner(store))
    for age in AGES:
        yield (f"{age} entries ago", *undo(store, [N_ENTRIES - age]))
    yield ("60 at once, 100 entries ago", *undo(store, range(N_ENTRIES - 199, N_ENTRIES - 139)))
    store.close()


def undo(store: Any, numbers: Any) -> tuple[str, ...]:
    """Undo entries; a new learner resumes from the store and learns again."""
    from likewise.server.learning._aroma import AromaMethod
    from likewise.server.learning._learner import Learner

    learner, replayed, learn_entry = Learner(store), 0, AromaMethod._learn

    def count(method: Any, *args: Any) -> None:
        nonlocal replayed
        replayed += 1
        learn_entry(method, *args)

    for number in numbers:
        store.undo(str(number))
    AromaMethod._learn = count  # type: ignore[method-assign]
    try:
        started = process_time()
        learn(learner)
        seconds = process_time() - started
    finally:
        AromaMethod._learn = learn_entry  # type: ignore[method-assign]
    with store._transaction(read_only=True):
        ((n_states,),) = store._execute("select count(*) from saved_state")
    return f"{replayed:,}", f"{seconds:.2f}", str(n_states)


def learn(learner: Any) -> None:
    """Consume the whole journal."""
    while learner.step():
        pass
    learner.save()


def filled_store(path: Path) -> Any:
    """Return a store with one triplet in each entry."""
    from likewise import AROMA, Bilinear
    from likewise._files import to_bytes
    from likewise.server._model import initialize_learner
    from likewise.server.store import Page, open_store

    rng = np.random.default_rng(0)
    store = open_store(str(path), durable=False)
    start = initialize_learner(AROMA(init=Bilinear(1.0, "cosine"), r=10.0), _FEATURES, _FEATURES)
    store.initialize({"model": "m"}, to_bytes(start.similarity_), to_bytes(start))
    store.set_learner("aroma")
    rows = rng.normal(size=(_ITEMS, _FEATURES)).astype(np.float32)
    store.put_items([(number, row, {}) for number, row in enumerate(rows)])
    for number in range(N_ENTRIES):
        triplet = (rng.choice(_ITEMS, 3, replace=False) + 1).tolist()
        store.append(str(number), "x", [Page.from_triplet(*triplet)])
    return store
