"""20 newsgroups as the thousand most informative terms in tf-idf, on random splits."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from reproduce._datasets import load
from reproduce._retrieval import Split

TRAIN_SHARE = 0.65
N_TERMS = 1000


def news_splits(n_splits: int) -> Iterator[Split]:
    """Yield random splits."""
    counts, y = _news_counts()
    return (_news_split(counts, y, seed) for seed in range(n_splits))


@functools.cache
def _news_counts() -> tuple[Any, np.ndarray]:
    """Return the counts of words in each post, without stop words."""
    from sklearn.feature_extraction.text import CountVectorizer

    data: Any = load("news20")
    texts = [*data.X, *data.X_test]
    counts = CountVectorizer(stop_words="english", min_df=3).fit_transform(texts)
    return counts, np.concatenate([data.y, data.y_test])


def _news_split(counts: Any, y: np.ndarray, seed: int) -> Split:
    """Return a random split in tf-idf of the thousand most informative terms."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(TRAIN_SHARE * len(y))])
    terms = np.sort(np.argsort(-information_gain(counts[train], y[train]))[:N_TERMS])
    X, X_test = tfidf(counts[train][:, terms], counts[test][:, terms])
    return X, y[train], X_test, y[test]


def tfidf(counts: Any, test_counts: Any) -> tuple[Any, Any]:
    """Return both parts as rows of unit length, with the weights of the first."""
    from sklearn.feature_extraction.text import TfidfTransformer

    weighting = TfidfTransformer().fit(counts)
    return tuple(weighting.transform(part).astype(np.float32) for part in (counts, test_counts))


def information_gain(counts: Any, y: np.ndarray) -> np.ndarray:
    """Return the mutual information of the presence of each term and the class, in nats."""
    classes = np.unique(y)
    present = np.vstack([np.asarray((counts[y == c] > 0).sum(axis=0)).ravel() for c in classes])
    sizes = np.bincount(np.searchsorted(classes, y))[:, None]
    gain = np.zeros(counts.shape[1])
    for occurs, total in ((present, present.sum(axis=0)), (sizes - present, None)):
        total = occurs.sum(axis=0) if total is None else total
        joint = occurs / len(y)
        apart = (sizes / len(y)) * (total / len(y))
        ratio = np.divide(joint, apart, out=np.ones_like(apart), where=joint > 0)
        gain += (joint * np.log(ratio)).sum(axis=0)
    return gain
