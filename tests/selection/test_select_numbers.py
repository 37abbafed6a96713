"""Numbers as targets: what is compared, how it is scored, and what the choice predicts."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error, r2_score

import likewise as lw
from likewise.selection import REGRESSION_FAMILIES, family_named, select
from likewise.tables import Columns, TableModel

FAST = tuple(
    dataclasses.replace(family, grid=family.grid[:1])
    for family in REGRESSION_FAMILIES
    if family.name != "boosting"
)


@pytest.fixture
def houses(rng):
    """Return rows of which one column decides on the price, and three do not."""
    X = rng.normal(size=(90, 4)) * [1, 1, 5, 5]
    return pa.table(dict(zip("abcd", X.T, strict=True))), 100 * X[:, 0] + rng.normal(size=90)


def test_numbers_are_compared_by_r2_with_the_mean_ridge_and_mlkr(houses):
    found = select(*houses, families=FAST, n_splits=3)
    assert found.task == "regression"
    assert found.scoring.name == "r2"
    assert (
        "Scored by R²: the target is numeric, with 90 different values in 90 rows." in found.notes
    )
    by_name = {row["name"]: row for row in found.rows}
    assert set(by_name) == {
        "mean value", "Euclidean kNN", "cosine kNN", "ridge regression", "MLKR",
    }  # fmt: skip
    assert by_name["mean value"]["mean"] < 0.01
    assert by_name["ridge regression"]["mean"] > 0.99
    assert found.chosen == "mlkr"
    assert found.nested.mean() > by_name["Euclidean kNN"]["mean"] + 0.1
    assert found.verdict.startswith("On 90 held-out rows in 3 splits, the R² of the choice made in")


def test_figures_are_those_of_the_held_out_predictions(houses):
    found = select(*houses, families=FAST, n_splits=3)
    truth, predicted = found.predictions
    np.testing.assert_array_equal(np.sort(truth), np.sort(houses[1]))
    values = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert values["task"] == "regression"
    assert values["r2"] == pytest.approx(r2_score(truth, predicted))
    assert values["mean_absolute_error"] == pytest.approx(mean_absolute_error(truth, predicted))
    assert "recall" not in values
    assert found.table().heads[3:6] == ["R²", "deviation", "mean absolute error"]
    assert len(found.tables()) == 1


def test_the_mean_absolute_error_can_decide(houses):
    found = select(*houses, families=FAST, n_splits=3, scoring="mean_absolute_error")
    assert found.table().heads[3:6] == ["mean absolute error", "deviation", "R²"]
    means = [row["mean"] for row in found.rows]
    assert means == sorted(means)
    constant = next(row for row in found.rows if row["name"] == "mean value")
    assert constant["measures"]["mean_absolute_error"] == pytest.approx(constant["mean"], rel=0.02)


def test_the_choice_predicts_numbers_and_can_be_saved(houses, tmp_path):
    rows, prices = houses
    found = select(rows, prices, families=FAST, n_splits=3)
    model = found.fit(rows, prices, target="price")
    assert isinstance(model, TableModel)
    assert isinstance(model.estimator, lw.SimilarityRegressor)
    assert r2_score(prices, model.predict(rows)) > 0.9
    model.save(tmp_path / "m.safetensors")
    again = lw.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_numbers_without_a_signal_are_said_to_be_unpredictable(rng):
    found = select(rng.normal(size=(60, 3)), rng.normal(size=60), families=FAST, n_splits=5)
    assert found.nested.mean() < 0.1
    assert "that improves on the R² of the mean value" in found.verdict or (
        "does not improve on the R² of the mean value" in found.verdict
    )


def test_a_task_overrides_what_the_values_look_like(houses):
    rows, prices = houses
    levels = np.digitize(prices, [-50, 50])
    assert select(rows, levels, families=None, budget=1e-9, n_splits=2).task == "classification"
    found = select(rows, levels, task="regression", budget=1e-9, n_splits=2)
    assert found.task == "regression"
    whole = np.round(prices).astype(int)
    with pytest.raises(ValueError, match="of the target has one row"):
        select(rows, whole, task="classification", budget=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", REGRESSION_FAMILIES, ids=lambda family: family.name)
def test_every_family_and_setting_can_be_fitted(family, houses):
    rows, prices = houses
    for settings in family.grid:
        X = Columns(scale=settings["scale"]).fit_transform(rows)
        fitted = family.estimator(settings, 0).fit(X, prices)
        assert fitted.predict(X).shape == (90,)
        assert hasattr(fitted, "similarity_") == family.searchable
        if family.sparse:
            family.estimator(settings, 0).fit(csr_matrix(X), prices).predict(csr_matrix(X))


def test_a_held_out_row_leaves_no_trace(houses):
    """A row with an enormous price changes no prediction of the split that tests it."""
    rows, prices = houses
    mean = next(family for family in FAST if family.is_constant)
    euclid = family_named("euclidean", "regression")
    families = [mean, dataclasses.replace(euclid, grid=euclid.grid[:1])]
    intruder = prices.copy()
    intruder[np.argmax(prices)] = 1e9  # the largest stays the largest, and the splits the same
    clean, odd = (select(rows, y, families=families, n_splits=3) for y in (prices, intruder))
    at = int(np.flatnonzero(odd.predictions[0] == 1e9)[0])
    assert odd.predictions[1][at] == clean.predictions[1][at]
    assert DummyRegressor().fit(np.zeros((90, 1)), intruder).predict([[0]])[0] > 1e6


def test_targets_that_cannot_be_tested_are_refused(houses):
    with pytest.raises(ValueError, match="the target has 9 numbers, 9 of them different; at least"):
        select(houses[0][:9], houses[1][:9], task="regression")
    with pytest.raises(ValueError, match="1 of them different"):
        select(houses[0], np.ones(90), task="regression")
    with pytest.raises(ValueError, match="scoring must be one of 'r2'"):
        select(*houses, scoring="accuracy")
    with pytest.raises(ValueError, match="learner must be one of"):
        family_named("lmnn", "regression")
