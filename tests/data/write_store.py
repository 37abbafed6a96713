"""Write a server's store and its answers: ``python -m tests.data.write_store``.

`tests/server/test_stored.py` opens the stores that earlier editions wrote and expects the same
answers. Files that exist are kept: a store that was written once must stay readable.
"""

import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.server.running import Running

import likewise as lw

FOLDER = Path(__file__).parent / "editions" / "server"
MODEL = FOLDER / "model.safetensors"
N_PAGES = {"ridge": 70, "aroma": 140}  # AROMA is judged by a fifth of the queries
N_ITEMS, WIDTH = 40, 4


def items() -> np.ndarray:
    """Return the vectors of the items."""
    return np.random.default_rng(0).normal(size=(N_ITEMS, WIDTH)).round(2)


def pages(n: int) -> list[tuple[Any, list[str], str]]:
    """Return clicks by a person who looks at the first two features alone."""
    rng = np.random.default_rng(1)
    rows, found = items(), []
    for number in range(n):
        by_id = number % 3 == 0
        query = int(rng.integers(N_ITEMS))
        vector = rows[query] if by_id else rng.normal(size=WIDTH).round(2)
        shown = rng.choice(np.delete(np.arange(N_ITEMS), query), 4, replace=False)
        best = shown[np.argmax(rows[shown][:, :2] @ vector[:2])]
        asked = f"item-{query}" if by_id else vector.tolist()
        found.append((asked, [f"item-{row}" for row in shown], f"item-{best}"))
    return found


def requests() -> dict[str, tuple[str, str, Any]]:
    """Return requests whose answers are compared: method, path and body of each."""
    search = {"id": "item-3", "k": 8}
    return {
        "search": ("POST", "/v1/search", search),
        "search of the model file": ("POST", "/v1/search", search | {"version": 1}),
        "search by a vector": ("POST", "/v1/search", {"vector": [1.0, -0.5, 0.2, 0.0], "k": 5}),
        "models": ("GET", "/v1/models", None),
        "feedback": ("GET", "/v1/feedback", None),
        "export": ("GET", "/v1/feedback/export?format=jsonl", None),
        "items": ("GET", "/v1/items?limit=100", None),
        "neighbors": ("GET", "/v1/explore/neighbours/item-3", None),
    }


def answers(client: Any) -> dict[str, Any]:
    """Return the answers of a server as JSON; a client has a method `request`."""
    found = {}
    for name, (method, path, body) in requests().items():
        text = client.request(method, path, json=body).text
        found[name] = text.splitlines() if name == "export" else json.loads(text)
    # A replaced item keeps its place until the server starts again.
    found["items"]["items"].sort(key=lambda item: str(item["id"]))
    return found


def write(learner: str, folder: Path) -> None:
    """Serve, teach, change items and versions, and keep the store."""
    table = folder / "items.csv"
    lines = [f"item-{row},{','.join(map(str, values))}" for row, values in enumerate(items())]
    table.write_text("\n".join(["id,a,b,c,d", *lines]) + "\n")
    store = FOLDER / f"{learner}.sqlite"
    options = ("--items", table, "--store", store, "--learner", learner)
    with Running(MODEL, *options) as server, server.client(timeout=60) as client:
        for number, page in enumerate(pages(N_PAGES[learner])):
            client.feedback(clicks=[page], key=f"page-{number}")
            if number % 10 == 9:
                client.wait(60)
        client.feedback([("item-1", "item-2", "item-3")], key="triplet")
        client.undo("page-7")
        client.add_items([{"id": 41, "row": {"a": 1, "b": 0, "c": 0, "d": 0.5}}])
        client.replace_items([{"id": "item-5", "row": {"a": 1, "b": 0.5, "c": 0, "d": 0}}])
        client.remove_item("item-6")
        client.wait(60)
        newest = client.models().models[0].version
        assert newest > 1, "no version was learned"
        client.promote(newest)
        client.rollback(1)
        client.promote(newest)
        (FOLDER / f"{learner}.json").write_text(json.dumps(answers(client._http)))
    with sqlite3.connect(store) as connection:
        connection.execute("pragma journal_mode = delete")
        connection.execute("vacuum")
    store.with_name(f"{store.name}-learner").unlink()


def main() -> None:
    """Write the missing files."""
    FOLDER.mkdir(exist_ok=True)
    if not MODEL.exists():
        lw.save(lw.Bilinear(np.eye(WIDTH), norm="cosine"), MODEL)
    for learner in N_PAGES:
        if not (FOLDER / f"{learner}.json").exists():
            with tempfile.TemporaryDirectory() as folder:
                write(learner, Path(folder))


if __name__ == "__main__":
    main()
