"""The effect of words on a server's searches: nDCG@10 of queries without clicks.

Streams of pages as in ``benchmarks.gate``: the ten documents of the live version are shown, and the
relevant ones are chosen. Documents are vectors by tf-idf and truncated SVD, or by MiniLM; the
lexical score is BM25 over their texts, and its weight starts at 0.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gate import N_SHOWN, Stream

SETS = ("cranfield", "scifact", "scifact_minilm")
N_QUERIES, N_ROUNDS = 150, 4
_FIXED = (0.1, 0.2, 0.5, 1.0, 2.0)


def main(folder: Path) -> None:
    """Print nDCG@10 of the test queries, and write it to ``hybrid.md``."""
    from likewise.evaluation import Table

    rows = [row for name in SETS for row in measured(name)]
    table = Table(("", "versions", "weight of words", "nDCG@10"), rows)
    print(table)
    (folder / "hybrid.md").write_text(f"# hybrid\n\n{table.to_markdown()}\n", encoding="utf8")


def measured(name: str, n_queries: int = N_QUERIES, n_rounds: int = N_ROUNDS) -> list[Any]:
    """Return a row for the start, for what is learned without and with words, and for BM25."""
    from reproduce._texts import load_texts

    texts = load_texts(name)
    lexical = words(name, texts.queries.shape[0])
    judgments = texts.relevance[texts.test]
    start = texts.queries @ texts.documents.T

    def ndcg(scores: np.ndarray) -> str:
        return f"{mean_ndcg(judgments, scores[texts.test]):.3f}"

    fixed = max((ndcg(start + weight * lexical), weight) for weight in _FIXED)
    rows = [
        (f"{name}: similarity alone", "", "0", ndcg(start)),
        (f"{name}: BM25 alone", "", "∞", ndcg(lexical)),
        (f"{name}: best fixed weight", "", f"{fixed[1]:g}", fixed[0]),
    ]
    for label, given in (("learned without words", None), ("learned with words", lexical)):
        stream = clicked(texts, given, n_queries, n_rounds)
        weight = stream.promoted[-1].weight if stream.promoted else 0.0
        n_versions = str(len(stream.promoted))
        rows.append((f"{name}: {label}", n_versions, f"{weight:.2g}", ndcg(stream.scores)))
    return rows


def clicked(texts: Any, lexical: np.ndarray | None, n_queries: int, n_rounds: int) -> Stream:
    """Return a stream in which the relevant documents of each page are chosen."""
    rng = np.random.default_rng(0)
    stream = Stream(texts.queries, texts.documents, lexical)
    for _ in range(n_rounds):
        for query in rng.permutation(texts.train[:n_queries]).tolist():
            shown = stream.page(query, N_SHOWN)
            chosen = texts.relevance[[query]].toarray()[0, shown] > 0
            if 0 < chosen.sum() < len(shown):
                stream.add(query, shown, chosen)
    return stream


def words(name: str, n_queries: int) -> np.ndarray:
    """Return the lexical score of every document for every query."""
    from likewise.datasets import load_retrieval
    from likewise.server._lexical import LexicalIndex

    data: Any = load_retrieval(name.partition("_")[0])
    kept = np.flatnonzero(np.diff(data.relevance.tocsr().indptr) > 0)
    index = LexicalIndex(range(len(data.documents)), data.documents)
    scores = np.array([index.scores(data.queries[query]) for query in kept], dtype=np.float64)
    assert len(scores) == n_queries, "the queries of texts and of vectors differ"
    return scores


def mean_ndcg(judgments: Any, scores: np.ndarray) -> float:
    """Return the mean nDCG@10 over queries."""
    from sklearn.metrics import ndcg_score

    return float(ndcg_score(judgments.toarray(), scores, k=10))
