"""Labeled texts in a file of JSON lines."""

from pathlib import Path

import numpy as np

from likewise.datasets._folder import read_json_lines
from likewise.datasets._records import Dataset


def read_texts(name: str, path: Path) -> Dataset:
    """Return texts with their labels as strings; where lines have a ``split``, numbered and split.

    Each line has ``text``, ``label`` and possibly ``split``, which is "train" or "test".
    """
    records = read_json_lines(path, "text", "label")
    texts = [record["text"] for record in records]
    labels = np.array([record["label"] for record in records])
    if not any("split" in record for record in records):
        return Dataset(name, texts, labels)
    splits = [record["split"] for record in read_json_lines(path, "split")]
    target_names, y = np.unique(labels, return_inverse=True)
    rows = [np.flatnonzero([split == part for split in splits]) for part in ("train", "test")]
    X_train, X_test = ([texts[row] for row in part] for part in rows)
    y_train, y_test = (y[part].astype(np.int64) for part in rows)
    return Dataset(name, X_train, y_train, None, tuple(target_names.tolist()), X_test, y_test)
