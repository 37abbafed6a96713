"""Copies of a row are never on both sides of a split."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.selection import family_named, select

NEAREST = dataclasses.replace(
    family_named("euclidean"), grid=({"scale": "standard", "n_neighbors": 1},)
)


@pytest.fixture
def copied(rng):
    """Return random rows with random labels, each of them twice and under two ids."""
    rows = np.repeat(rng.normal(size=(60, 3)), 2, axis=0)
    frame = pd.DataFrame(rows, columns=list("abc"))
    frame.insert(0, "id", range(len(frame)))
    return frame, np.repeat(rng.permutation([0, 1] * 30), 2)


def test_a_copy_in_the_training_rows_would_be_found(copied):
    """One nearest neighbor of a row that is also in the training part is always right."""
    frame, labels = copied
    found = select(frame, labels, families=[NEAREST], n_splits=4)
    assert found.nested.mean() < 0.75
    assert (
        "60 rows are copies of an earlier row; copies stay on one side of every split."
        in found.notes
    )
    told_apart = frame.assign(a=frame["a"] + 1e-9 * frame["id"])
    assert select(told_apart, labels, families=[NEAREST], n_splits=4).nested.mean() > 0.9


def test_inner_splits_keep_copies_together_too(copied):
    frame, labels = copied
    seen = []

    class Recorder(lw.SimilarityClassifier):
        def fit(self, X, y):
            self.trained_on = set(map(tuple, X))
            return super().fit(X, y)

        def predict(self, X):
            seen.append(self.trained_on & set(map(tuple, X)))
            return super().predict(X)

    recording = dataclasses.replace(NEAREST, make=lambda settings, seed: Recorder(**settings))
    select(frame, labels, families=[recording], n_splits=3)
    assert len(seen) == 12  # three inner fits and one outer a split
    assert not any(seen)


def test_a_class_of_copies_is_never_tested(rng):
    rows = rng.normal(size=(30, 2))
    rows[:3] = rows[0]
    labels = np.array([0] * 3 + [1] * 13 + [2] * 14)
    found = select(rows, labels, families=[NEAREST], n_splits=5)
    assert len(found.nested) == 5
    assert set(found.predictions[0]) == {1, 2}
    assert any("2 rows are copies" in note for note in found.notes)


def test_where_almost_all_rows_are_copies_they_are_split_as_rows():
    rows, labels = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
    found = select(rows, labels, families=[NEAREST], n_splits=2)
    assert found.nested.mean() == 1
    assert any("too few differ" in note for note in found.notes)
