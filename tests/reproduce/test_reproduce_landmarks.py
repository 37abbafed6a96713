"""The landmarks' tables: the protocol, and the figures that are asked for."""

import numpy as np
import pytest
from reproduce._frame import table

from reproduce import _landmark_curves as curves
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
def paper_table(request, data_dir):
    return request.param, *landmarks._table(request.param)


@pytest.mark.parametrize("name", SHAPES)
def test_the_sets_are_those_of_the_paper(data_dir, name):
    X, y = landmarks._table(name)
    assert X.shape == SHAPES[name]
    assert set(y) == {0, 1}


def test_the_combined_score_is_reached_under_the_papers_protocol(paper_table):
    name, X, y = paper_table
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


def synthetic_rows(only=""):
    """Yield the rows of synthetic sets whose setting has a text in it."""
    for measure in (curves.circle, curves.blobs_and_line, curves.irrelevant_features):
        yield from measure(lambda setting: only in setting)


@pytest.fixture
def few_runs(monkeypatch):
    for name, value in {
        "RUNS": 3,
        "CIRCLE_LABELS": (50, 100),
        "BLOB_LABELS": (200,),
        "BLOB_LANDMARKS": (100, 400),
        "FEATURES": (16, 64),
    }.items():
        monkeypatch.setattr(curves, name, value)


def test_the_synthetic_rows_are_measured_and_drawn(few_runs):
    rows = list(synthetic_rows())
    found = {(row.setting, row.method): row.ours for row in rows}
    assert found["Circle, 100 labels", "similarity"] > found["Circle, 100 labels", "native"] + 15
    assert ("Circle, 50 labels", "similarity, original Winnow") in found
    many = "Blobs and Line, 400 landmarks"
    assert found[many, "both, nearest 1 %"] > found[many, "native"] + 5
    assert found["64 features", "Winnow, mistakes"] < found["64 features", "Perceptron, mistakes"]
    about = {row.method: row.published for row in rows if row.about}
    assert about == {"native": 75, "similarity": 75, "both": 100}
    drawn = [landmarks.Row("Wisc", "NN", 95.3, 94.4), landmarks.Row("Wisc", "SIM", 93.6, 93.0)]
    titles = [title for title, _ in landmarks.figures([*drawn, *rows])]
    assert {"table", "circle", "blobs-landmarks", "blobs-labels", "mistakes"} <= set(titles)
    assert "table" not in [title for title, _ in landmarks.figures([])]


@pytest.mark.parametrize(
    "setting", ["Circle, 50 labels", "Blobs and Line, 100 landmarks", "16 features"]
)
def test_a_single_setting_is_measured_alone(few_runs, setting, monkeypatch):
    monkeypatch.setattr(curves, "RUNS", 1)
    assert {row.setting for row in landmarks.rows(setting)} == {setting}


def test_the_splits_of_the_book_are_measured_one_by_one(monkeypatch, data_dir):
    monkeypatch.setattr(landmarks, "_PREDICTORS", {"NN": landmarks._nearest})
    monkeypatch.setattr(landmarks, "_CHOSEN_AND_PEERS", ("NN",))
    (row,) = landmarks.rows("ssl_digit1, 100 labels")
    assert (row.setting, row.method) == ("ssl_digit1, 100 labels", "NN")


def test_curves_are_sorted_and_have_every_row(few_runs):
    rows = [landmarks.Row(f"Circle, {n} labels", "native", None, n / 10, 1.0) for n in (50, 5, 10)]
    ((title, *_, by_method),) = curves.curves(rows)
    assert (title, by_method["native"][0], by_method["native"][1]) == (
        "circle",
        (5, 10, 50),
        (0.5, 1.0, 5.0),
    )


def test_what_is_about_is_said_to_be_about():
    (line,) = table([landmarks.Row("Blobs", "native", 75.0, 73.8, about=True)]).rows
    assert line[2] == "about 75"


def test_data_that_is_not_there_is_said_row_by_row(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    for name in ("circle", "blobs_and_line", "irrelevant_features"):
        monkeypatch.setattr(landmarks, name, lambda wanted: iter(()))
    rows = list(landmarks.rows())
    assert all(row.ours is None and "not available" in row.note for row in rows)
    assert len(rows) == 7 + 3 + 1
