"""Collections of queries and documents as vectors; some of the queries teach, the others judge."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.datasets import load_retrieval
from likewise.evaluation import evaluate_retrieval

KINDS = ("overall", "seen", "new")
_N_TEST_OF_SCIFACT = 300


@dataclass(frozen=True)
class Texts:
    """Documents and queries of unit length, and who is relevant to whom.

    Attributes
    ----------
    documents, queries : arrays or CSR of shape (n, n_features)
    relevance : CSR of shape (n_queries, n_documents)
    train, test : int arrays
        Rows of the queries.
    """

    documents: Any
    queries: Any
    relevance: Any
    train: np.ndarray
    test: np.ndarray

    def ndcg(self, similarity: Any, offsets: Any = None) -> np.ndarray:
        """Return nDCG@10 of the test queries: overall, over seen documents and over new ones."""
        documents = self.documents
        if offsets is not None:
            documents = offsets.apply(range(documents.shape[0]), documents)
        report: Any = evaluate_retrieval(
            similarity,
            self.queries[self.test],
            documents,
            relevance=self.relevance[self.test],
            trained_on=self.relevance[self.train],
            k=10,
            depth=10,
        )
        return np.array([part["ndcg@10"] for part in (report, report.seen, report.new)])


def load_texts(name: str, seed: int = 0, n_components: int = 256, *, graded: bool = True) -> Texts:
    """Return a collection without the queries that have nothing to find.

    Texts are mapped by tf-idf and truncated SVD. Of Cranfield a random third of the queries judges;
    of SciFact those of the published split, or with a seed above 0 a random 300.

    Parameters
    ----------
    name : {"cranfield", "scifact", "scifact_minilm"}
    seed : int, default=0
        Of the split.
    n_components : int, default=256
        Of texts.
    graded : bool, default=True
        Whether relevant documents have grades; otherwise all of them count the same.
    """
    documents, queries, relevance, is_test = _vectors(name, n_components)
    if not graded:
        relevance = (relevance > 0).astype(np.float64)
    if is_test is not None and seed == 0:
        return Texts(
            documents, queries, relevance, np.flatnonzero(~is_test), np.flatnonzero(is_test)
        )
    order = np.random.default_rng(seed).permutation(queries.shape[0])
    n_test = len(order) // 3 if is_test is None else _N_TEST_OF_SCIFACT
    return Texts(documents, queries, relevance, order[n_test:], order[:n_test])


@functools.cache
def _vectors(name: str, n_components: int) -> tuple[Any, ...]:
    """Return documents, queries, relevance and which queries test, or None without a split."""
    data: Any = load_retrieval(name)
    relevance = data.relevance.tocsr()
    kept = np.flatnonzero(np.diff(relevance.indptr) > 0)
    is_test = None if data.query_is_train is None else ~np.asarray(data.query_is_train)[kept]
    documents, queries = data.documents, data.queries
    if isinstance(documents, list):
        documents, queries = _reduced(documents, queries, n_components)
    return documents, queries[kept], relevance[kept], is_test


def _reduced(
    documents: list[str], queries: list[str], n_components: int
) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    weigh = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(documents)
    reduce = TruncatedSVD(n_components, n_iter=7, random_state=0)
    items = normalize(reduce.fit_transform(weigh.transform(documents)))
    asked = normalize(reduce.transform(weigh.transform(queries)))
    return items.astype(np.float32), asked.astype(np.float32)
