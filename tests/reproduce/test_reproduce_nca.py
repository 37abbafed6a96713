"""NCA's settings are compared on the same splits, and the tables hold what was measured."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproduce._frame import reproduce
from sklearn.datasets import load_diabetes, load_iris

from reproduce import lmnn, nca


@pytest.fixture
def few(monkeypatch):
    """Replace the sets by two small ones, and leave out most settings."""

    def numbers():
        X, y = load_diabetes(return_X_y=True)
        return X[:150], y[:150]

    monkeypatch.setattr(nca, "CLASS_SETS", {"flowers": lambda: load_iris(return_X_y=True)})
    monkeypatch.setattr(nca, "LARGE_SETS", {"more flowers": lambda: load_iris(return_X_y=True)})
    monkeypatch.setattr(nca, "NUMBER_SETS", {"patients": numbers})
    kept = {name: nca.REFERENCES[name] for name in ("Euclid", "default")}
    monkeypatch.setattr(nca, "REFERENCES", kept)
    kept = {name: nca.CLASSIFIERS[name] for name in ("Euclid", "LMNN", "default")}
    monkeypatch.setattr(nca, "CLASSIFIERS", {**kept, "useless": nca._nca(alpha=1e6)})
    kept = {name: nca.REGRESSORS[name] for name in ("Euclid", "default")}
    monkeypatch.setattr(nca, "REGRESSORS", {**kept, "useless": nca._mlkr(alpha=1e6)})
    drawn = {"default": "default", "useless": "1e6"}
    curves = {"NCA": (nca.CLASSES, drawn), "MLKR": (nca.NUMBERS, drawn)}
    monkeypatch.setattr(nca, "_CURVES", curves)
    with joblib.parallel_config("sequential"):
        yield


def test_every_setting_is_measured_and_compared_with_the_default(few):
    rows = list(nca.rows())
    assert [row.method for row in rows[:4]] == list(nca.CLASSIFIERS)
    assert 0 < rows[2].ours < 10
    assert rows[2].note.startswith("150 × 4; ")
    errors, comparison, of_references, _, of_numbers, of_regressors = nca.tables(rows)
    assert errors.heads == ("classes", "rows × columns", *nca.CLASSIFIERS)
    assert errors.rows[0][:3] == ("flowers", "150 × 4", f"{rows[0].ours:.1f}")
    assert [row[0] for row in comparison.rows] == list(nca.CLASSIFIERS)
    assert comparison.rows[2][3:] == ("0", "0")
    assert of_references.rows[0][0] == "more flowers"
    assert of_numbers.rows[0][0] == "patients"
    assert of_regressors.rows[-1][3:] == ("0", "1: patients")
    against_lmnn, over_parameters = (figure for _, figure in nca.figures(rows))
    assert len(against_lmnn.axes) == 1
    set_of_classes, mean = over_parameters.axes[0].lines
    assert_allclose(set_of_classes.get_ydata(), mean.get_ydata())
    assert mean.get_ydata()[1] > mean.get_ydata()[0] == 1


def test_tables_are_the_same_when_sets_are_measured_one_by_one(few, tmp_path):
    for only in ("classes: FLOW", "references", "numbers"):
        rows = reproduce("nca", tmp_path, only=only)
    together = list(nca.rows())
    assert {row.setting for row in rows} == {row.setting for row in together}
    for found, expected in zip(nca.tables(rows), nca.tables(together), strict=True):
        assert [row[:2] for row in found.rows] == [row[:2] for row in expected.rows]


def test_a_set_without_all_settings_is_not_in_the_tables(few):
    rows = [row for row in nca.rows("FLOW") if row.method != "default"]
    assert [len(table.rows) for table in nca.tables(rows)] == [0] * 6


def test_the_sets_are_not_those_on_which_the_defaults_were_chosen():
    chosen_on = {"iris", "wine", "breast_cancer", "digits", "isolet", "satimage", "usps", "letter"}
    assert not chosen_on & set(nca.CLASS_SETS)
    assert len(nca.CLASS_SETS) >= 10


def test_one_method_of_the_table_of_lmnn_is_measured_alone():
    (row,) = lmnn.rows("iris: nca")
    assert (row.setting, row.method) == ("iris", "NCA")
    assert 0 < row.ours < 10
    assert np.isfinite(row.deviation)
