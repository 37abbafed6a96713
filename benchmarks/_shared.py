"""Data that is slow to create: the first contender that needs it stores it in a file."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def kept(name: str, save: Callable[[Path], None]) -> Path:
    """Return a file that contenders share; the first creates it."""
    path = Path(tempfile.gettempdir()) / f"likewise-bench-{name}"
    if not path.exists():
        unfinished = path.with_name(f"{os.getpid()}-{path.name}")
        save(unfinished)
        os.replace(unfinished, path)
    return path


def newsgroups() -> tuple[Any, ...]:
    """Return training and test posts of 20 newsgroups in 1,000 informative words, and labels."""
    from reproduce._newsgroups import news_splits
    from scipy.sparse import csr_array

    def save(file: Path) -> None:
        X, y, X_test, y_test = next(news_splits(1))
        rows = {"X": X.toarray(), "X_test": X_test.toarray()}
        np.savez_compressed(file, y=y, y_test=y_test, **rows)

    with np.load(kept("newsgroups.npz", save)) as stored:
        X, y, X_test, y_test = (stored[name] for name in ("X", "y", "X_test", "y_test"))
    return csr_array(X), y, csr_array(X_test), y_test


def newsgroups_triplets(n_triplets: int) -> tuple[Any, ...]:
    """Return posts, triplets of them, and posts and labels to test with."""
    from likewise.supervision import LabelTriplets

    X, y, X_test, y_test = newsgroups()
    return X, LabelTriplets(y).draw(n_triplets, np.random.default_rng(0)), X_test, y_test
