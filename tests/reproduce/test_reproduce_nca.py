"""NCA's settings are compared on the same splits, and the tables hold what was measured."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from reproduce import lmnn, nca


@pytest.fixture
def few(monkeypatch):
    """Replace the sets by two small ones, and leave out most settings."""

    def numbers():
        X, y = load_diabetes(return_X_y=True)
        return X[:150], y[:150]

    monkeypatch.setattr(nca, "CLASS_SETS", {"flowers": lambda: load_iris(return_X_y=True)})
    monkeypatch.setattr(nca, "NUMBER_SETS", {"patients": numbers})
    kept = {name: nca.CLASSIFIERS[name] for name in ("Euclid", "LMNN", "default")}
    monkeypatch.setattr(nca, "CLASSIFIERS", {**kept, "useless": nca._nca(alpha=1e6)})
    kept = {name: nca.REGRESSORS[name] for name in ("Euclid", "default")}
    monkeypatch.setattr(nca, "REGRESSORS", {**kept, "useless": nca._mlkr(alpha=1e6)})
    with joblib.parallel_config("sequential"):
        yield


def test_every_setting_is_measured_and_compared_with_the_default(few):
    rows = list(nca.rows())
    assert [row.method for row in rows[:4]] == list(nca.CLASSIFIERS)
    assert 0 < rows[2].ours < 10
    assert rows[2].note.startswith("classes; 150 × 4; ")
    of_all = {(row.setting, row.method): row for row in rows if row.setting.startswith("all")}
    assert of_all["all sets, classes", "default"].note.endswith(" s; ")
    assert of_all["all sets, numbers", "useless"].note.endswith("worse on 1: patients")
    errors, comparison, of_numbers, _ = nca.tables(rows)
    assert errors.heads == ("set", *nca.CLASSIFIERS)
    assert errors.rows[0][:2] == ("flowers", f"{rows[0].ours:.1f}")
    assert [row[0] for row in comparison.rows] == list(nca.CLASSIFIERS)
    assert of_numbers.rows[0][0] == "patients"
    assert len(list(nca.figures(rows))) == 1


def test_some_sets_are_measured_alone(few):
    rows = list(nca.rows("FLOW"))
    assert {row.setting for row in rows} == {"flowers"}
    assert len(next(nca.tables(rows)).rows) == 1


def test_the_sets_are_not_those_on_which_the_defaults_were_chosen():
    chosen_on = {"iris", "wine", "breast_cancer", "digits", "isolet", "satimage", "usps", "letter"}
    assert not chosen_on & set(nca.CLASS_SETS)
    assert len(nca.CLASS_SETS) >= 10


def test_one_method_of_the_table_of_lmnn_is_measured_alone():
    (row,) = lmnn.rows("iris: nca")
    assert (row.setting, row.method) == ("iris", "NCA")
    assert 0 < row.ours < 10
    assert np.isfinite(row.deviation)
