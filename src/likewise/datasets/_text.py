"""Labelled texts: the 20 newsgroups, and surnames."""

from pathlib import Path

import numpy as np

from likewise.datasets._folder import read_json_lines
from likewise.datasets._records import Dataset


def read_surnames(name: str, path: Path) -> Dataset:
    """Return surnames as `X` and the names of their languages as `y`."""
    records = read_json_lines(path, "text", "label")
    return Dataset(
        name=name,
        X=[record["text"] for record in records],
        y=np.array([record["label"] for record in records]),
    )


def read_news20(name: str, path: Path) -> Dataset:
    """Return the newsgroups from a file of posts with their group and part."""
    records = read_json_lines(path, "text", "label", "split")
    groups = tuple(sorted({record["label"] for record in records}))
    number = {group: i for i, group in enumerate(groups)}
    parts = {
        part: [record for record in records if record["split"] == part]
        for part in ("train", "test")
    }
    X, X_test = ([record["text"] for record in part] for part in parts.values())
    y, y_test = (
        np.array([number[record["label"]] for record in part], dtype=np.int64)
        for part in parts.values()
    )
    return Dataset(name, X, y, None, groups, X_test, y_test)


def download_news20(name: str) -> Dataset:
    """Return the newsgroups from scikit-learn, or from its cache."""
    from sklearn.datasets import fetch_20newsgroups

    parts = {}
    for part in ("train", "test"):
        bunch = fetch_20newsgroups(subset=part, shuffle=False, n_retries=1, delay=0.5)
        # scikit-learn keeps the posts in a shuffled order; by group and number is everyone's.
        post_numbers = [int(Path(filename).name) for filename in bunch.filenames]
        order = np.lexsort((post_numbers, bunch.target))
        texts = [keep_from_and_subject(bunch.data[i]) for i in order]
        parts[part] = texts, bunch.target[order].astype(np.int64), tuple(bunch.target_names)
    X, y, groups = parts["train"]
    X_test, y_test, _ = parts["test"]
    return Dataset(name, X, y, None, groups, X_test, y_test)


def keep_from_and_subject(post: str) -> str:
    """Return a post with no header but From and Subject.

    The others name the group or give it away, and the release that papers use has only these two.
    """
    head, _, body = post.partition("\n\n")
    lines = head.split("\n")
    kept = [line for field in ("From:", "Subject:") for line in lines if line.startswith(field)]
    return "\n".join([*kept, "", body])
