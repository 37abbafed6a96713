"""DBoost's tables can be measured in parts, and hold what was measured."""

import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from likewise.exceptions import DatasetUnavailableError
from reproduce import Row, __main__, dboost, reproduce
from reproduce import _distance_methods as methods

EARLIER = [Row("USPS, 2 levels", "NN", None, 71.0), Row("UCI wine", "NN", None, 99.0)]


def unavailable():
    raise DatasetUnavailableError("nowhere to be found")
    yield


@pytest.fixture
def quick(monkeypatch):
    """Leave one set that is always there, with two methods, and one that is not there."""
    methods = ("NN", "DBoost, 30 prototypes")
    monkeypatch.setattr(
        dboost,
        "_SETTINGS",
        [
            dboost.Setting("UCI wine", partial(dboost._folds, "wine"), methods, note="a note"),
            dboost.Setting("USPS, lost", unavailable, methods),
        ],
    )
    monkeypatch.setattr(dboost, "_FIFTEEN", ("wine",))


def test_errors_are_measured_and_their_mean_follows(quick):
    rows = list(dboost.rows("UCI"))
    assert [(row.setting, row.method) for row in rows] == [
        ("UCI wine", "NN"),
        ("UCI wine", "DBoost, 30 prototypes"),
        ("UCI mean of 15", "NN"),
        ("UCI mean of 15", "DBoost, 30 prototypes"),
    ]
    assert all(0 < row.ours < 15 for row in rows)
    assert rows[0].note == "5 splits of 142 rows; a note"
    assert rows[2].ours == rows[0].ours


def test_a_set_that_is_not_there_says_so(quick):
    (row,) = dboost.rows("usps")
    assert (row.ours, row.note) == (None, "nowhere to be found")


def test_a_part_is_measured_and_the_rest_is_kept(quick, tmp_path, capsys):
    earlier = {"paper": "", "rows": [vars(row) for row in EARLIER]}
    (tmp_path / "dboost.json").write_text(json.dumps(earlier))
    command = ["dboost", "--folder", str(tmp_path), "--only", "wine", "--quiet"]
    assert __main__.main(command) == 0
    rows = json.loads((tmp_path / "dboost.json").read_text())["rows"]
    assert [row["setting"] for row in rows] == ["USPS, 2 levels"] + ["UCI wine"] * 2 + [
        "UCI mean of 15"
    ] * 2
    assert rows[0]["ours"] == 71.0
    assert rows[1]["ours"] < 15
    assert (tmp_path / "dboost-uci.png").read_bytes().startswith(b"\x89PNG")


def test_rows_are_written_as_they_come(quick, monkeypatch, tmp_path):
    def rows(only):
        yield EARLIER[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(dboost, "rows", rows)
    with pytest.raises(KeyboardInterrupt):
        reproduce("dboost", tmp_path)
    assert len(json.loads((tmp_path / "dboost.json").read_text())["rows"]) == 1


@pytest.mark.parametrize("make", [methods._rldc, methods._rqdc, methods._balcan_blum])
def test_rivals_choose_within_the_training_part(make):
    D, y, D_test, y_test = next(dboost._folds("wine"))
    assert methods._tuned(make, D, y, D_test, y_test) < 0.15


def test_dboost_chooses_within_the_training_part(monkeypatch):
    few = [{"n_rounds": 12, "max_depth": depth} for depth in (1, 2)]
    monkeypatch.setattr(methods, "_CHOICES", few)
    split = next(dboost._folds("wine"))
    for most_rows in (len(split[1]), len(split[1]) - 1):
        monkeypatch.setattr(methods, "_MAX_CROSS_VALIDATED", most_rows)
        found = methods._boosted_tuned(*split)
        assert list(found) == ["DBoost", "DBoost, choices together"]
        assert max(found.values()) < 0.15


def test_choices_are_weighed_by_what_they_say_of_rows_held_out():
    labels = np.array([0, 0, 1, 1])
    sure = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.6, 0.4]])
    mirrored = np.array([[0.6, 0.4], [0.4, 0.6], [0.1, 0.9], [0.1, 0.9]])
    wrong = 1 - sure
    assert_allclose(methods._weighed([sure, wrong, mirrored], labels), [0.5, 0.0, 0.5])
    assert_allclose(methods._weighed([wrong, sure], labels), [0.0, 1.0])
