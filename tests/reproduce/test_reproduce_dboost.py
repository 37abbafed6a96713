"""DBoost's tables can be measured in parts, and hold what was measured."""

import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from likewise.exceptions import DatasetUnavailableError
from reproduce import Row, __main__, dboost, reproduce
from reproduce import _distance_candidates as candidates
from reproduce import _distance_methods as methods

EARLIER = [Row("USPS, 2 levels, all rows", "NN", None, 71.0), Row("UCI wine", "NN", None, 99.0)]


def unavailable():
    raise DatasetUnavailableError("nowhere to be found")
    yield


@pytest.fixture
def quick(monkeypatch):
    """Leave one set that is always there, one that is not there, and a few quick candidates."""
    monkeypatch.setattr(
        dboost,
        "_SETTINGS",
        [
            dboost.Setting("UCI wine", partial(first_fold, "wine"), {"NN": 5.0}, note="a note"),
            dboost.Setting("USPS, lost", unavailable),
        ],
    )
    monkeypatch.setattr(dboost, "_FIFTEEN", ("wine",))
    options = {"n_rounds": 12, "n_pairs": 5}
    monkeypatch.setattr(methods, "BOOSTED", [partial(candidates.boosted, options, 2)])
    learned = partial(candidates.boosted_after_nca, options)
    monkeypatch.setattr(methods, "BOOSTED_AFTER_NCA", [learned])


def first_fold(name):
    yield next(dboost._folds(name))


def test_errors_of_all_methods_are_measured_and_their_mean_follows(quick):
    rows = list(dboost.rows("UCI"))
    found = {row.method: row.ours for row in rows}
    assert [*found] == [
        "NN",
        "DBoost untuned",
        "DBoost, 30 prototypes",
        *(f"{name}{end}" for name in [*candidates.RIVALS, "DBoost"] for end in ("", ", together")),
        "NCA, DBoost",
        "rivals stacked",
        "stacked",
        "stacked with NCA",
    ]
    assert all(0 <= error < 15 for error in found.values())
    assert rows[0].note == "one split of 142 rows; a note"
    single, together, published = dboost.tables(rows)
    assert [line[0] for line in single.rows] == ["UCI wine", "UCI mean of 1"]
    assert single.heads[:4] == ("setting", "splits", "NN", "kNN")
    assert together.heads[-1] == "stacked with NCA"
    assert [line[1] for line in single.rows] == ["one split of 142 rows; a note", ""]
    assert single.rows[0][2:] == single.rows[1][2:]
    assert published.rows[0][:3] == ("UCI wine", "NN", "about 5")


def test_a_set_that_is_not_there_says_so(quick):
    (row,) = dboost.rows("usps")
    assert (row.ours, row.note) == (None, "nowhere to be found")
    assert list(dboost.tables([row]))[-1].rows == [("USPS, lost", "nowhere to be found")]


def test_a_part_is_measured_and_the_rest_is_kept(quick, tmp_path, capsys):
    earlier = {"paper": "", "rows": [vars(row) for row in EARLIER]}
    (tmp_path / "dboost.json").write_text(json.dumps(earlier))
    command = ["dboost", "--folder", str(tmp_path), "--only", "wine", "--quiet"]
    assert __main__.main(command) == 0
    rows = json.loads((tmp_path / "dboost.json").read_text())["rows"]
    assert [row["setting"] for row in rows] == ["USPS, 2 levels, all rows"] + ["UCI wine"] * 17
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


def test_every_set_of_the_paper_and_all_of_usps_are_settings():
    names = [setting.name for setting in dboost._SETTINGS]
    assert sum(name.startswith("UCI ") for name in names) == 20
    assert sum(name.startswith("USPS, ") and "all rows" in name for name in names) == 11
    assert len(set(names)) == len(names)


def test_every_method_has_eight_candidates():
    families = {**candidates.RIVALS, "DBoost": candidates.BOOSTED}
    assert {name: len(found) for name, found in families.items()} == dict.fromkeys(families, 8)


@pytest.mark.parametrize("name", [*candidates.RIVALS])
def test_held_out_rows_and_test_rows_leave_no_trace_in_the_candidates(name):
    """An intruder among the rows that judge changes its own scores, and no other row's."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 2 * np.eye(3)[y, :2]
    D = np.linalg.norm(X[:, None] - X, axis=2)
    D_test = np.linalg.norm(rng.normal(size=(5, 1, 2)) - X, axis=2)
    problem = candidates.Problem(D, y, D_test)
    held = problem.splits[0][1]
    intruder, others = held[0], held[1:]
    for candidate in candidates.RIVALS[name][::3]:
        before = candidate(problem)
        far = D.copy()
        far[intruder] = far[:, intruder] = 1e3
        after = candidate(candidates.Problem(far, y, D_test))
        assert_allclose(after.held_out[others], before.held_out[others])
        far = D_test.copy()
        far[0] = 1e3
        after = candidate(candidates.Problem(D, y, far))
        assert_allclose(after.held_out, before.held_out)
        assert_allclose(after.test[1:], before.test[1:])
        wrong = y.copy()
        wrong[intruder] = (y[intruder] + 1) % 3
        changed = candidates.Problem(D, wrong, D_test)
        changed.__dict__["splits"] = problem.splits
        assert_allclose(candidate(changed).held_out[held], before.held_out[held])


def test_nca_learns_the_distance_without_the_rows_that_judge_it():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X, X_test = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[y], rng.normal(size=(5, 4))
    D, D_test = np.zeros((60, 60)), np.zeros((5, 60))
    options = {"n_rounds": 10, "n_pairs": 5}  # one stage: there is no number of rounds to choose
    before = candidates.boosted_after_nca(options, candidates.Problem(D, y, D_test, X, X_test))
    held = candidates.Problem(D, y, D_test).splits[0][1]
    far, far_test = X.copy(), X_test.copy()
    far[held[0]], far_test[0] = 1e3, 1e3
    problem = candidates.Problem(D, y, D_test, far, far_test)
    after = candidates.boosted_after_nca(options, problem)
    assert_allclose(after.held_out[held[1:]], before.held_out[held[1:]])
    assert np.abs(after.held_out - before.held_out).max() > 0.1  # other splits learn from it


def test_scores_are_scaled_to_the_lowest_loss():
    y = np.array([0, 1, 0, 1])
    scores = np.array([[3.0, 0.0], [0.0, 3.0], [3.0, 0.0], [3.0, 0.0]])
    found = methods.scaled(candidates.Scores(100 * scores, 100 * scores[:1]), y)
    assert_allclose(found.held_out[0], softmax([np.log(3), 0.0]), atol=0.05)  # right in 3 of 4
    assert_allclose(found.loss, methods.log_loss(found.held_out, y))
    assert_allclose(found.test, found.held_out[:1])


def test_candidates_are_weighed_by_what_they_say_of_held_out_rows():
    labels = np.array([0, 0, 1, 1])
    sure = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.6, 0.4]])
    mirrored = np.array([[0.6, 0.4], [0.4, 0.6], [0.1, 0.9], [0.1, 0.9]])

    def shares(held_out):
        return methods.Shares(held_out, held_out[:1], methods.log_loss(held_out, labels))

    found = methods.weighed([shares(sure), shares(1 - sure), shares(mirrored)], labels)
    assert_allclose(found.held_out, (sure + mirrored) / 2)
    assert_allclose(found.test, found.held_out[:1])
    assert_allclose(methods.weighed([shares(1 - sure), shares(sure)], labels).held_out, sure)
