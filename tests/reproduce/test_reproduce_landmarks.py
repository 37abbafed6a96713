"""The landmarks' tables: the protocol, and the figures that are asked for."""

import numpy as np
import pytest

from reproduce import landmarks

# What the paper's plain form must reach, in % right.
LEAST = {
    "Congress": 92.0,
    "Credit": 80.0,
    "Wisc": 93.5,
    "Digit1": 87.0,
    "USPS": 85.0,
    "Credit+Digit1": 83.0,
}
SHAPES = {
    "Congress": (435, 16),
    "Credit": (653, 46),
    "Wisc": (683, 89),
    "Digit1": (1500, 241),
    "USPS": (1500, 241),
    "Credit+Digit1": (1306, 287),
}


@pytest.fixture(params=["Congress", "Credit", "Wisc"])
def table(request, data_dir):
    return request.param, *landmarks._table(request.param)


@pytest.mark.parametrize("name", SHAPES)
def test_the_sets_are_those_of_the_paper(data_dir, name):
    X, y = landmarks._table(name)
    assert X.shape == SHAPES[name]
    assert set(y) == {0, 1}


def test_the_combined_score_is_reached_under_the_papers_protocol(table):
    name, X, y = table
    methods = {"Winnow+SIM": landmarks._both}
    splits = list(landmarks._random_splits(y))
    (row,) = landmarks._measured(name, X, y, splits, "", methods)
    assert row.ours >= LEAST[name]
    assert row.published == landmarks._PUBLISHED[name][-1]


def test_every_trial_has_a_hundred_labels_and_tests_the_rest():
    splits = list(landmarks._random_splits(np.zeros(435)))
    assert len(splits) == 10
    for labeled, tested in splits:
        assert len(labeled) == 100
        assert sorted([*labeled, *tested]) == list(range(435))


def test_the_synthetic_rows_are_measured_and_drawn(monkeypatch):
    monkeypatch.setattr(landmarks, "_CIRCLE_LABELS", (50,))
    monkeypatch.setattr(landmarks, "_FEATURES", (16, 64))
    rows = [*landmarks._circle(), *landmarks._irrelevant_features()]
    found = {(row.setting, row.method): row.ours for row in rows}
    assert found["Circle, 50 labels", "similarity"] > found["Circle, 50 labels", "native"] + 15
    assert found["64 features", "Winnow, mistakes"] < found["64 features", "Perceptron, mistakes"]
    drawn = [landmarks.Row("Wisc", "NN", 95.3, 94.4), landmarks.Row("Wisc", "SIM", 93.6, 93.0)]
    titles = [title for title, _ in landmarks.figures(drawn)]
    assert {"table", "circle", "mistakes"} <= set(titles)
    assert "table" not in [title for title, _ in landmarks.figures([])]


def test_data_that_is_not_there_is_said_row_by_row(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    monkeypatch.setattr(landmarks, "_circle", lambda: iter(()))
    monkeypatch.setattr(landmarks, "_blobs_and_line", lambda: iter(()))
    monkeypatch.setattr(landmarks, "_irrelevant_features", lambda: iter(()))
    rows = list(landmarks.rows())
    assert all(row.ours is None and "not available" in row.note for row in rows)
    assert len(rows) == 7 + 3 + 1
