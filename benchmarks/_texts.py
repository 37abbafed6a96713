"""Text collections as vectors; some queries give clicks, the others are for evaluation."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Texts:
    """Documents and queries of unit length, and their relevance.

    Attributes
    ----------
    documents, queries : arrays of shape (n, 256)
    relevance : CSR of shape (n_queries, n_documents)
    train, test : int arrays
        Rows of the queries.
    """

    documents: np.ndarray
    queries: np.ndarray
    relevance: Any
    train: np.ndarray
    test: np.ndarray


def load_texts(name: str, seed: int = 0, n_components: int = 256) -> Texts:
    """Return a collection by tf-idf and truncated SVD, without queries that have no relevant item.

    The test queries are a random third for Cranfield, and the published split for SciFact.

    Parameters
    ----------
    name : {"cranfield", "scifact"}
    seed : int, default=0
        Of the split.
    n_components : int, default=256
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    from likewise.datasets import load_retrieval

    data: Any = load_retrieval(name)
    weigh = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(data.documents)
    reduce = TruncatedSVD(n_components, n_iter=7, random_state=0)
    documents = reduce.fit_transform(weigh.transform(data.documents))
    queries = reduce.transform(weigh.transform(data.queries))
    relevance = data.relevance.tocsr()
    kept = np.flatnonzero(np.diff(relevance.indptr) > 0)
    if name == "scifact" and seed == 0:
        test = ~data.query_is_train[kept]
        order = np.argsort(~test, kind="stable")
        n_test = int(test.sum())
    else:
        order = np.random.default_rng(seed).permutation(len(kept))
        n_test = len(kept) // 3 if name == "cranfield" else 300
    return Texts(
        normalize(documents).astype(np.float32),
        normalize(queries)[kept].astype(np.float32),
        relevance[kept],
        order[n_test:],
        order[:n_test],
    )
