"""Commands on a table whose target is a number."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

import likewise as lw

# So much time that it never ends a comparison of these few rows, however slow the machine.
AMPLE = ("--budget", "1h", "--splits", "3")


@pytest.fixture
def houses(run, rng):
    """Write houses.csv and sold.csv into the folder of the commands."""
    X = rng.normal(size=(140, 3))
    frame = pd.DataFrame(X, columns=["area", "rooms", "age"])
    frame["price"] = np.round(300 + 90 * X[:, 0] + 5 * rng.normal(size=140), 1)
    frame[:80].to_csv("houses.csv", index=False)
    frame[80:].to_csv("sold.csv", index=False)
    return frame


def test_fit_learns_to_predict_numbers_and_evaluate_measures_them(run, houses):
    code, out, err = run("fit", "houses.csv", "-t", "price", "--learner", "mlkr", *AMPLE)
    assert code == 0, err
    assert "80 rows, 79 different numbers of price, which are predicted as numbers" in err
    assert "--task classification takes them for classes" in err
    for name in ("MLKR *", "ridge regression", "gradient boosting", "Euclidean kNN", "mean value",
                 "R²", "mean absolute error", "Scored by R²"):  # fmt: skip
        assert name in out
    page = Path("report.html").read_text(encoding="utf8")
    assert "Predicted and measured numbers" in page
    assert "Neighbors, margins and maps below compare the numbers in five ranges." in page
    model = lw.load("model.safetensors")
    sold = pd.read_csv("sold.csv")
    predicted = model.predict(sold)
    code, out, _ = run("evaluate", "model.safetensors", "sold.csv", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["r2"] == pytest.approx(r2_score(sold["price"], predicted))
    assert found["r2"] > 0.8
    expected = mean_absolute_error(sold["price"], predicted)
    assert found["mean_absolute_error"] == pytest.approx(expected)
    code, out, _ = run("evaluate", "model.safetensors", "sold.csv")
    assert f"R²: {found['r2']:.4f} on 60 rows" in out
    assert "of the mean value" in out


def test_compare_as_json_names_task_and_scoring(run, houses):
    code, out, err = run("compare", "houses.csv", "-t", "price", "--scoring",
                         "mean_absolute_error", "--budget", "0.001s", "--json")  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["task"], found["scoring"]) == ("regression", "mean_absolute_error")
    assert {row["name"] for row in found["rows"]} == {
        "mean value", "Euclidean kNN", "cosine kNN", "ridge regression",
    }  # fmt: skip


def test_the_task_can_be_given(run, houses):
    houses["level"] = np.digitize(houses["price"], [250, 350])
    houses.drop(columns="price").to_csv("levels.csv", index=False)
    short = ("--budget", "0.001s", "--json")
    for task, other in (("regression", "classification"), ("classification", "regression")):
        code, out, _ = run("compare", "levels.csv", "-t", "level", "--task", task, *short)
        assert code == 0
        assert json.loads(out)["task"] == task != other


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--task", "regresion"), "Did you mean 'regression'?"),
        (("--learner", "lmnn"), "--learner for regression must be one of 'mlkr'"),
        (("--scoring", "accuracy"), "--scoring for numbers must be one of 'r2'"),
        (("--task", "classification", "--learner", "mlkr"), "--learner for classification"),
    ],
)
def test_what_does_not_go_with_numbers_is_refused(run, houses, arguments, sentence):
    houses["price"] = houses["price"].round(-2)
    houses.to_csv("few.csv", index=False)
    source = "few.csv" if "classification" in arguments else "houses.csv"
    code, out, err = run("fit", source, "-t", "price", *arguments)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.split())


def test_text_is_no_target_of_regression(run, houses):
    houses.assign(price="dear").to_csv("words.csv", index=False)
    code, _, err = run("fit", "words.csv", "-t", "price", "--task", "regression")
    assert code == 1
    assert "price must hold numbers for regression, but row 0 holds 'dear'." in err
