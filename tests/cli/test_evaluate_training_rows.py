"""Figures on rows that a model was fitted to are never printed as a test."""

import json

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv
from sklearn.neighbors import KNeighborsClassifier

import likewise as lw
from likewise.selection import family_named, select
from likewise.tables import read_table

WARNING = "training rows: this says nothing about new rows"


@pytest.fixture
def noise(run, rng):
    """Return a function that fits a model to noise.csv; new.csv and mixed.csv hold other rows."""
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame.insert(0, "id", range(60))
    frame["label"] = rng.choice(["u", "v"], 60)
    frame[:40].to_csv("noise.csv", index=False)
    frame[40:].to_csv("new.csv", index=False)
    frame[30:].to_csv("mixed.csv", index=False)

    def fit(learner):
        table = read_table("noise.csv", target="label")
        families = [family_named("euclidean"), family_named(learner)]
        found = select(
            table.rows, table.labels, families=families, choose_from=[learner], n_splits=2
        )
        found.fit(table.rows, table.labels, target="label").save("m.safetensors")

    return fit


@pytest.mark.parametrize("learner", ["rca", "dboost"])  # one keeps its rows, one does not
def test_training_rows_are_called_that(run, noise, learner):
    noise(learner)
    code, out, _ = run("evaluate", "m.safetensors", "noise.csv", "--quiet")
    assert code == 0
    assert WARNING in out
    assert "40 of 40 rows of noise equal rows that the model was fitted to" in out
    for line in out.splitlines():
        if line.startswith(("accuracy", "balanced accuracy", "retrieval")):
            assert "40 training rows" in line
    found = json.loads(run("evaluate", "m.safetensors", "noise.csv", "--json")[1])
    assert (found["measured_on"], found["training_rows"], found["rows"]) == (
        "training rows",
        40,
        40,
    )
    assert WARNING in found["note"]
    how = {"rca": "without itself", "dboost": "with itself"}[learner]
    assert found["note"].endswith(f"Each is predicted {how} among the training rows.")


def test_training_rows_are_left_out_where_there_are_others(run, noise):
    noise("dboost")
    code, out, _ = run("evaluate", "m.safetensors", "mixed.csv", "--quiet")
    assert code == 0
    assert "10 of 30 rows of mixed equal rows that the model was fitted to and are left out." in out
    assert "on 20 rows; of the majority class" in out
    mixed, new = (
        json.loads(run("evaluate", "m.safetensors", f"{name}.csv", "--json")[1])
        for name in ("mixed", "new")
    )
    assert (mixed["training_rows"], new["training_rows"]) == (10, 0)
    assert new["note"] is None
    for name in ("accuracy", "classes", "rows", "measured_on"):
        assert mixed[name] == new[name]


def test_a_training_row_is_known_by_the_columns_that_are_used(run, noise):
    noise("rca")
    frame = csv.read_csv("noise.csv").to_pandas()  # exact: old versions of pandas round
    frame.assign(id=range(100, 140))[::-1].to_parquet("again.parquet", index=False)
    found = json.loads(run("evaluate", "m.safetensors", "again.parquet", "--json")[1])
    assert found["measured_on"] == "training rows"


def test_training_rows_do_not_find_themselves(run, rng):
    X = rng.normal(size=(40, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": rng.choice(["u", "v"], 40)})
    frame = pd.concat([frame, frame[:1].assign(label="u"), frame[:1].assign(label="v")])
    columns = lw.tables.Columns(scale="none").fit(frame[["a", "b"]])
    knn = lw.SimilarityClassifier(n_neighbors=1).fit(columns.transform(frame), frame["label"])
    lw.tables.TableModel(columns, knn, target="label").save("m.safetensors")
    unique = frame[1:40]  # copies have equal neighbors
    unique[::-1].to_csv("x.csv", index=False)
    found = json.loads(run("evaluate", "m.safetensors", "x.csv", "--json")[1])
    by_others = [
        KNeighborsClassifier(1)
        .fit(frame[["a", "b"]].drop(frame.index[row]), frame["label"].drop(frame.index[row]))
        .predict(frame[["a", "b"]].iloc[[row]])[0]
        for row in range(1, 40)
    ]
    assert found["accuracy"] == pytest.approx(np.mean(by_others == unique["label"]))
    assert found["accuracy"] < 1


def test_a_model_without_a_record_says_so(run, rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    y = np.arange(20) % 2
    columns = lw.tables.Columns().fit(frame)
    boosted = lw.DBoost(n_rounds=3, random_state=0).fit(columns.transform(frame), y)
    lw.tables.TableModel(columns, boosted, target="label").save("m.safetensors")
    frame.assign(label=y).to_csv("x.csv", index=False)
    code, out, _ = run("evaluate", "m.safetensors", "x.csv", "--quiet")
    assert code == 0
    assert out.startswith("The model does not record its training rows: if these rows are among")
    found = json.loads(run("evaluate", "m.safetensors", "x.csv", "--json")[1])
    assert (found["measured_on"], found["training_rows"]) == ("unknown rows", None)


def test_training_numbers_are_called_that(run, rng):
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = rng.normal(size=40)
    columns = lw.tables.Columns().fit(frame)
    knn = lw.SimilarityRegressor(n_neighbors=1).fit(columns.transform(frame), y)
    lw.tables.TableModel(columns, knn, target="y").save("m.safetensors")
    frame.assign(y=y).to_csv("x.csv", index=False)
    code, out, _ = run("evaluate", "m.safetensors", "x.csv", "--quiet")
    assert code == 0
    assert WARNING in out
    assert "on 40 training rows" in out
    assert json.loads(run("evaluate", "m.safetensors", "x.csv", "--json")[1])["r2"] < 0.5


def test_figures_on_comparisons_have_their_condition_in_every_form(run, clicks):
    given = ("--queries", "q.npy", "--items", "p.npy", "--triplets", "clicks.parquet")
    assert run("fit", *given, "--learner", "aroma", "--no-report", "--quiet")[0] == 0
    asked = ("evaluate", "model.safetensors", *given)
    condition = "only if the model was not trained on these comparisons"
    assert condition in run(*asked, "--quiet")[1]
    assert condition in json.loads(run(*asked, "--json")[1])["note"]
    told = json.loads(run(*asked, "--trained-on", "clicks.parquet", "--json")[1])
    assert told["note"] is None
