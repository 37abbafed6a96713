"""The effect of clicks on a server: nDCG@10 of queries without clicks, for each version.

A real server on a text collection, asked over HTTP. Training queries are shown ten documents by the
version that is live, and choose those that are relevant, or one at random; after each promotion the
other queries are searched. Seen documents were chosen on a page, new ones were not.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from reproduce._texts import Texts, load_texts

N_SHOWN, N_QUERIES, N_ROUNDS = 10, 150, 4
_FOUND = 100  # ranks; fewer items are left out of a ranking
_PAGES_BETWEEN_LOOKS = 10
_RUNS = [
    ("cranfield", "ridge", "relevant"),
    ("cranfield", "aroma", "relevant"),
    ("cranfield", "ridge", "random"),
    ("cranfield", "aroma", "random"),
    ("scifact", "ridge", "relevant"),
    ("scifact", "aroma", "relevant"),
]


class Measured(NamedTuple):
    """nDCG@10 of the test queries under a version, and the number of pages it learned from."""

    version: int
    n_pages: int
    setting: str
    overall: float
    seen: float
    new: float


def main(folder: Path) -> None:
    """Run all simulations, and write their tables to ``clicks.md``."""
    from likewise.evaluation import Table

    texts, told = {}, ["# clicks\n"]
    for name, learner, clicks in _RUNS:
        if name not in texts:
            texts[name] = load_texts(name)
        found = simulate(texts[name], learner, clicks)
        rows = [
            (
                "start" if one.version == 1 else f"version {one.version}, {one.setting}",
                str(one.n_pages),
                *(f"{value:.3f}" for value in one[3:]),
            )
            for one in found
        ]
        table = Table((f"{name}, {learner}, {clicks}", "pages", "overall", "seen", "new"), rows)
        print(f"\n{table}", flush=True)
        told.append(f"{table.to_markdown()}\n")
    (folder / "clicks.md").write_text("\n".join(told), encoding="utf8")


def simulate(
    texts: Texts,
    learner: str,
    clicks: str = "relevant",
    *,
    n_queries: int = N_QUERIES,
    n_rounds: int = N_ROUNDS,
    seed: int = 0,
) -> list[Measured]:
    """Return the figures of every live version, with the start first and, with all clicks, last.

    Parameters
    ----------
    texts : Texts
    learner : {"ridge", "aroma"}
    clicks : {"relevant", "random"}
    n_queries, n_rounds : int
        Training queries, and how often each is asked.
    seed : int
    """
    rng = np.random.default_rng(seed)
    chosen_once = np.zeros(len(texts.documents), dtype=bool)
    asked = texts.train[:n_queries]
    judgements = texts.relevance[texts.test]
    live, found = 1, []
    with _serving(texts, learner) as client:
        rankings = {1: (0, "", _ranks(client, texts))}
        n_pages = 0
        for turn in range(n_rounds * len(asked)):
            if turn % len(asked) == 0:
                asked = rng.permutation(asked)
            query = asked[turn % len(asked)]
            row = texts.queries[query].tolist()
            shown = [match.id for match in client.search(vector=row, k=N_SHOWN).matches]
            chosen = _chosen(texts, query, shown, clicks, rng)
            if 0 < len(chosen) < len(shown):
                client.feedback(clicks=[(row, shown, chosen)])
                chosen_once[chosen] = True
                n_pages += 1
                if n_pages % _PAGES_BETWEEN_LOOKS == 0:
                    client.wait(120)
            now = client.models()
            if now.live != live:
                live = now.live
                version = next(v for v in now.models if v.version == live)
                rankings[live] = n_pages, _setting(version), _ranks(client, texts)
        client.wait(120)
        now = client.models()
        if now.live not in rankings:
            version = next(v for v in now.models if v.version == now.live)
            rankings[now.live] = n_pages, _setting(version), _ranks(client, texts)
    for number, (pages, setting, ranks) in rankings.items():
        found.append(Measured(number, pages, setting, *_ndcg(judgements, ranks, chosen_once)))
    return found


def _chosen(texts: Texts, query: int, shown: list[Any], clicks: str, rng: Any) -> list[Any]:
    if clicks == "random":
        return [shown[rng.integers(len(shown))]]
    row = texts.relevance[[query]]
    relevant = set(row.indices[row.data > 0].tolist())
    return [name for name in shown if name in relevant]


def _setting(version: Any) -> str:
    if version.share is not None:
        return f"share {version.share:g}"
    penalty = "∞" if version.penalty is None else f"{version.penalty:g}"
    return f"λ {penalty}, γ {version.gamma:g}"


def _ranks(client: Any, texts: Texts) -> np.ndarray:
    """Return the rank of every document for every test query; documents not found come last."""
    ranks = np.full((len(texts.test), len(texts.documents)), len(texts.documents))
    for place, query in enumerate(texts.test):
        matches = client.search(vector=texts.queries[query].tolist(), k=_FOUND).matches
        ranks[place, [match.id for match in matches]] = np.arange(len(matches))
    return ranks


def _ndcg(judgements: Any, ranks: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return nDCG@10 over all relevant documents, over seen and over new ones."""
    from likewise.metrics import ndcg_seen_new

    rows = np.repeat(np.arange(judgements.shape[0]), np.diff(judgements.indptr))
    columns = judgements.indices
    grades = judgements.data.astype(np.float64)
    values = ndcg_seen_new(rows, grades, ranks[rows, columns], seen[columns], len(ranks))
    return np.nanmean(values, axis=1)


@contextmanager
def _serving(texts: Texts, learner: str) -> Iterator[Any]:
    """Serve the documents by cosine, on a free port."""
    import pandas as pd

    import likewise as lw
    from likewise.server import Client

    width = texts.documents.shape[1]
    with tempfile.TemporaryDirectory() as folder:
        model, items = Path(folder) / "model.safetensors", Path(folder) / "items.parquet"
        frame = pd.DataFrame(texts.documents, columns=[f"x{n}" for n in range(width)])
        frame.insert(0, "id", range(len(frame)))
        frame.to_parquet(items, index=False)
        lw.save(lw.Bilinear(np.eye(width, dtype=np.float32), "cosine"), model)
        command = [sys.executable, "-m", "likewise", "serve", model, "--items", items]
        options = ["--port", "0", "--learner", learner, "--feedback-rate", "1e9"]
        with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().removeprefix("serving at ").strip()
                with Client(address) as client:
                    yield client
            finally:
                server.terminate()
                server.wait(30)
