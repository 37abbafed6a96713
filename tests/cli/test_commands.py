"""What every command answers, on good and on bad input."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise import kernels
from likewise.cli._console import UsageError
from likewise.cli._options import seconds, shape

# So much time that it never ends a comparison of these few rows, however slow the machine.
AMPLE = ("--budget", "1h", "--splits", "3")


def test_compare_prints_a_table_with_baselines_and_references(run, flowers):
    code, out, _ = run("compare", flowers / "flowers.csv", "-t", "species", "--learner", "sila",
                       *AMPLE, "--quiet")  # fmt: skip
    assert code == 0
    for name in (
        "majority class",
        "Euclidean kNN",
        "cosine kNN",
        "SiLA",
        "RBF SVM",
        "inner",
        "Expected accuracy",
        "lowest recall",
        "held-out rows",
        "Scored by accuracy:",
    ):
        assert name in out
    assert "LMNN" not in out
    assert os.listdir() == []


def test_compare_as_json_has_the_same_figures(run, flowers):
    code, out, err = run("compare", flowers / "flowers.csv", "-t", "species", "--learner", "lmnn",
                         *AMPLE, "--json")  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    by_name = {row["name"]: row for row in found["rows"]}
    assert by_name["LMNN"]["mean"] == pytest.approx(np.mean(by_name["LMNN"]["scores"]))
    assert found["score"] == pytest.approx(np.mean(found["nested_scores"]))
    assert found["scoring"] == "accuracy"
    assert set(found["recall"]) == {"setosa", "versicolor", "virginica"}
    assert {row["kind"] for row in found["rows"]} == {"baseline", "learned", "reference"}
    assert sum(row["chosen"] for row in found["rows"]) == 1


def test_evaluate_measures_what_predict_gives(run, flowers):
    held_out = flowers / "held_out.csv"
    code, out, _ = run("evaluate", flowers / "ready.safetensors", held_out, "--json")
    assert code == 0
    model = lw.load(flowers / "ready.safetensors")
    frame = pd.read_csv(held_out)
    found = json.loads(out)
    assert found["accuracy"] == pytest.approx((model.predict(frame) == frame["species"]).mean())
    assert {c["class"] for c in found["classes"]} == {"setosa", "versicolor", "virginica"}
    assert found["retrieval"]["after"]["map"] > found["retrieval"]["before"]["map"] - 0.05
    code, out, _ = run("evaluate", flowers / "ready.safetensors", held_out, "-t", "species")
    assert code == 0
    assert f"accuracy: {found['accuracy']:.4f} on 90 rows; of the majority class" in out
    recalls = [c["recall"] for c in found["classes"]]
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    assert f"balanced accuracy: {found['balanced_accuracy']:.4f}" in out
    assert "Warning" not in out


def test_evaluate_warns_of_a_model_that_predicts_one_class(run, rng):
    X, y = rng.normal(size=(20, 2)), ["often"] * 15 + ["seldom"] * 5
    columns = lw.tables.Columns().fit(pd.DataFrame(X, columns=["a", "b"]))
    knn = lw.SimilarityClassifier(n_neighbors=19).fit(
        columns.transform(pd.DataFrame(X, columns=["a", "b"])), y
    )
    lw.tables.TableModel(columns, knn, target="class").save("m.safetensors")
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": y}).to_csv("x.csv", index=False)
    code, out, _ = run("evaluate", "m.safetensors", "x.csv")
    assert code == 0
    assert "Warning: the model predicts often for every row." in out
    assert "accuracy: 0.7500 on 20 training rows; of the majority class 0.7500" in out


def test_scoring_is_an_option(run, flowers):
    code, out, _ = run("compare", flowers / "flowers.csv", "-t", "species", "--learner", "sila",
                       "--scoring", "log_loss", *AMPLE, "--json")  # fmt: skip
    assert code == 0
    found = json.loads(out)
    assert found["scoring"] == "log_loss"
    assert found["rows"][0]["mean"] == min(row["mean"] for row in found["rows"])


def test_no_budget_is_too_short_to_save_a_model(run, flowers):
    code, out, err = run("fit", flowers / "flowers.csv", "-t", "species", "--budget", "0.001s",
                         "--no-report", "--json")  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["chosen"] in ("euclidean", "cosine")
    assert {row["name"] for row in found["rows"]} == {
        "majority class", "Euclidean kNN", "cosine kNN", "logistic regression",
    }  # fmt: skip
    assert lw.load("model.safetensors").predict(pd.read_csv(flowers / "held_out.csv")).shape == (
        90,
    )


def test_search_ranks_as_the_model_does_and_leaves_the_query_out(run, flowers):
    code, out, _ = run("search", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "--query", "row 17", "-k", 4,
                       "--json")  # fmt: skip
    assert code == 0
    frame = pd.read_parquet(flowers / "items.parquet")
    model = lw.load(flowers / "ready.safetensors")
    scores = model.score(frame[17:18], frame)[0]
    scores[17] = -np.inf
    matches = json.loads(out)["matches"]
    assert len(matches) == 4
    np.testing.assert_allclose([m["score"] for m in matches], np.sort(scores)[::-1][:4])
    assert [m["id"] for m in matches] == [f"f{m['row']}" for m in matches]


@pytest.mark.parametrize("query", ["id f17", "f17", "17", "row 17"])
def test_a_row_can_be_named_in_several_ways(run, flowers, query):
    code, out, _ = run("search", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "--query", query, "-k", 1)  # fmt: skip
    assert code == 0
    expected = run("search", flowers / "ready.safetensors", "--items", flowers / "items.parquet",
                   "--query", "row 17", "-k", 1)[1]  # fmt: skip
    assert out == expected


def test_a_query_can_be_typed(run, flowers):
    frame = pd.read_parquet(flowers / "items.parquet")
    typed = json.dumps(frame.drop(columns="id").iloc[17].to_dict())
    code, out, _ = run("search", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "--query", typed, "-k", 1, "--json")  # fmt: skip
    assert code == 0
    match = json.loads(out)["matches"][0]
    assert match["score"] == pytest.approx(0, abs=1e-9)  # itself, or a flower just like it
    code, _, err = run("search", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "--query", '{"weight": 1}')  # fmt: skip
    assert code == 2
    assert "--query has 'weight', which is not a column of the model. Its columns are: sepal" in err
    code, _, err = run("search", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "--query", '{"petal widht": 1}')  # fmt: skip
    assert code == 2
    assert "--query has 'petal widht', which is not a column of the model. Did you mean" in err


def test_a_query_without_some_columns_is_imputed_and_that_is_said(run, flowers):
    search = ("search", flowers / "ready.safetensors", "--items", flowers / "items.parquet")
    model = lw.load(flowers / "ready.safetensors")
    frame = pd.read_parquet(flowers / "items.parquet")
    partial = frame[["petal length (cm)"]].iloc[:1]
    code, out, err = run(*search, "--query", json.dumps(partial.iloc[0].to_dict()), "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["imputed"] == ["sepal length (cm)", "sepal width (cm)", "petal width (cm)"]
    fill = dict(zip(model.columns.columns_, model.columns.blocks_[0]["fill"], strict=True))
    scores = model.score(partial.assign(**{name: fill[name] for name in found["imputed"]}), frame)
    best = np.sort(scores[0])[::-1][:10]
    np.testing.assert_allclose([match["score"] for match in found["matches"]], best)
    code, _, err = run(*search, "--query", json.dumps(partial.iloc[0].to_dict()))
    assert (
        "the query has no sepal length (cm), sepal width (cm), petal width (cm): "
        "imputed as in fitting.\n" in err
    )


def test_the_json_has_the_fields_that_are_shown(run, flowers):
    model, items = flowers / "ready.safetensors", flowers / "held_out.csv"
    frame = pd.read_csv(items)
    shown = ["id", "sepal length (cm)", "sepal width (cm)", "species"]
    arguments = ("search", model, "--items", items, "--query", "3", "-k", 2)
    matches = json.loads(run(*arguments, "--json")[1])["matches"]
    for match in matches:
        assert match["fields"] == frame.loc[match["row"], shown].to_dict()
    assert run(*arguments)[1].split("\n")[0].split() == ["row", "score", *" ".join(shown).split()]
    arguments = ("explain", model, "--items", items, "3", "4")
    fields = json.loads(run(*arguments, "--json")[1])["fields"]
    assert fields == [frame.loc[row, shown].to_dict() for row in (3, 4)]
    assert run(*arguments)[1].startswith(f"row 3: id {frame['id'][3]}, sepal length (cm) ")


def test_explain_names_terms_that_sum_to_the_score(run, flowers):
    code, out, _ = run("explain", flowers / "ready.safetensors", "--items",
                       flowers / "items.parquet", "17", "id f42", "--top", 3, "--json")  # fmt: skip
    assert code == 0
    why = json.loads(out)
    assert why["rows"] == [17, 42]
    total = sum(term["contribution"] for term in why["terms"]) + why["rest"]
    assert total == pytest.approx(why["score"])
    assert "petal" in run("explain", flowers / "ready.safetensors", "--items",
                          flowers / "items.parquet", "17", "42")[1]  # fmt: skip


def test_comparisons_teach_queries_and_items_of_different_width(run, clicks):
    code, out, _ = run("fit", "--queries", "q.npy", "--items", "p.npy", "--triplets",
                       "clicks.parquet", "--learner", "aroma", "--json")  # fmt: skip
    assert code == 0
    found = json.loads(out)
    assert found["rows"][0]["mean"] > 0.75
    model = lw.load("model.safetensors")
    assert isinstance(model.estimator, lw.AROMA)
    Q, P = np.load("q.npy"), np.load("p.npy")
    np.testing.assert_array_equal(model.score(Q, P), model.similarity_.score(Q, P))
    code, out, _ = run("evaluate", "model.safetensors", "--queries", "q.npy", "--items", "p.npy",
                       "--triplets", "clicks.parquet", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["right_order"]["after"] > 0.8
    code, out, _ = run("search", "model.safetensors", "--items", "p.npy", "--queries", "q.npy",
                       "--query", "3", "-k", 2, "--json")  # fmt: skip
    assert code == 0
    best = np.argsort(-model.score(Q[3:4], P)[0])[:2]
    assert [m["row"] for m in json.loads(out)["matches"]] == best.tolist()
    assert run("search", "model.safetensors", "--items", "p.npy", "--query", "3")[0] == 2


def test_a_bare_similarity_searches_too(run, rng):
    X = rng.normal(size=(8, 3))
    X[:, 1] = 1.0  # the same in every row, and still a coordinate
    np.save("x.npy", X)
    lw.Mahalanobis(np.diag([1.0, 2.0, 3.0])).save("bare.safetensors")
    code, out, _ = run("search", "bare.safetensors", "--items", "x.npy", "--query", "0", "-k", 7,
                       "--json")  # fmt: skip
    assert code == 0
    expected = lw.Mahalanobis(np.diag([1.0, 2.0, 3.0])).neighbors(X[:1], X[1:], 7).ids[0] + 1
    assert [m["row"] for m in json.loads(out)["matches"]] == expected.tolist()


@pytest.mark.parametrize("command", ["datasets", "learners"])
def test_lists_are_complete_and_as_json(run, command):
    code, out, _ = run(command, "--json")
    assert code == 0
    listed = next(iter(json.loads(out).values()))
    names = [entry if isinstance(entry, str) else entry["name"] for entry in listed]
    assert {"datasets": "wine", "learners": "lmnn"}[command] in names
    assert all(name in run(command)[1] for name in names)


def test_a_rival_is_compared_where_it_is_named(run, flowers):
    code, out, _ = run("compare", flowers / "flowers.csv", "-t", "species", "--learner", "mmc",
                       "--splits", "2", "--json")  # fmt: skip
    assert code == 0
    kinds = {row["name"] for row in json.loads(out)["rows"] if row["kind"] == "learned"}
    assert kinds == {"MMC"}
    assert "; compared only if named" in run("learners")[1]


def test_warmup_compiles_every_kernel(run, monkeypatch):
    compiled = []
    monkeypatch.setattr(
        kernels, "compile_ahead", lambda name: not compiled.append(name), raising=False
    )
    code, out, _ = run("warmup", "--json")
    assert code == 0
    assert compiled == list(kernels.SIGNATURES)
    assert json.loads(out)["compiled"] == json.loads(out)["kernels"] == len(compiled)


def csv(text):
    with open("x.csv", "w", encoding="utf8") as file:
        file.write(text)
    return "x.csv"


WRONG_USE = {
    "no such file": (("compare", "nope.csv", "-t", "c"), "there is no file nope.csv"),
    "no target": (("compare", "x.csv"), "--target is needed"),
    "wrong target": (("fit", "x.csv", "-t", "clas"), "Did you mean 'class'"),
    "wrong column": (("fit", "x.csv", "-t", "class", "--text", "aa"), "names 'aa', but x.csv has"),
    "no such folder": (
        ("fit", "x.csv", "-t", "class", "--model", "no/where"),
        "--model is no/where, which cannot be written",
    ),
    "a folder": (("fit", "x.csv", "-t", "class", "--report", "."), "is a folder"),
    "odd budget": (("fit", "x.csv", "-t", "class", "--budget", "soon"), "--budget must be a time"),
    "odd shape": (("fit", "x.csv", "-t", "class", "--image-shape", "8"), "--image-shape must be"),
    "odd missing": (("fit", "x.csv", "-t", "class", "--missing", "x"), "--missing must be"),
    "unknown learner": (("fit", "x.csv", "-t", "class", "--learner", "lmn"), "mean 'lmnn'"),
    "a reference": (("fit", "x.csv", "-t", "class", "--learner", "svm"), "--learner must be one"),
    "odd scoring": (("fit", "x.csv", "-t", "class", "--scoring", "auc"), "--scoring must be one"),
    "scoring": (("fit", "--items", "x.csv", "--triplets", "x.csv", "--scoring", "f1_macro"),
                "--scoring is for labels"),
    "nothing": (("fit",), "a FILE with labels is needed"),
    "both": (("fit", "x.csv", "--items", "x.csv", "--triplets", "x.csv"), "both given"),
    "half": (("fit", "x.csv", "--items", "x.csv"), "need --triplets"),
    "no items": (("fit", "--triplets", "x.csv"), "--items is needed"),
    "no such model": (("search", "m", "--items", "x.csv", "--query", "1"), "there is no file m"),
    "no such option": (("compare", "--colour"), "No such option"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_USE)
def test_wrong_use_ends_with_2_and_a_sentence(run, what):
    arguments, sentence = WRONG_USE[what]
    csv("a,b,class\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(12)))
    code, out, err = run(*arguments)
    assert code == 2, err
    assert out == ""
    assert sentence in " ".join(err.split())
    assert os.listdir() == ["x.csv"]


FAILED = {
    "empty": ("", "is empty"),
    "no rows": ("a,class\n", "no rows"),
    "one class": ("a,class\n1,u\n2,u\n", "one class, u;"),
    "a class of one row": ("a,class\n1,u\n2,u\n3,v\n", "class 'v' of the target has one row"),
    "all constant": ("a,class\n1,u\n1,u\n1,v\n1,v\n", "no column is left to learn from"),
    "measurements": (
        "a,class\n" + "".join(f"{i},{i / 7}\n" for i in range(9)),
        "class '0.0' (and 8 more) of the target has one row",
    ),
}


@pytest.mark.parametrize("what", FAILED)
def test_data_that_cannot_be_learned_from_ends_with_1_and_a_sentence(run, what):
    text, sentence = FAILED[what]
    code, out, err = run("fit", csv(text), "-t", "class")
    assert (code, out) == (1, ""), err
    assert sentence in err
    assert "Traceback" not in err
    assert os.listdir() == ["x.csv"]


def test_text_where_numbers_are_needed_is_refused_with_its_row(run):
    rows = "".join(f"{i},{i % 2}\n" for i in range(10))
    code, _, err = run("fit", csv(f"a,class\n{rows}x,1\n"), "-t", "class", "--numeric", "a", *AMPLE)
    assert code == 1
    assert "column 'a' must hold numbers, but row 10 holds 'x'." in err


def test_missing_cells_are_said_or_refused(run):
    text = "a,b,class\n" + "".join(f"{i if i else ''},{i % 5},{i % 2}\n" for i in range(20))
    code, _, err = run("fit", csv(text), "-t", "class", "--missing", "refuse")
    assert code == 1
    assert (
        "column 'a' has 1 missing cell, and --missing refuse: fill it, or use --missing im" in err
    )


def test_a_model_that_does_not_fit_the_table_is_refused_by_name(run, flowers):
    frame = pd.read_csv(flowers / "held_out.csv")
    frame.rename(columns={"petal width (cm)": "petal breadth"}).to_csv("x.csv", index=False)
    code, _, err = run("evaluate", flowers / "ready.safetensors", "x.csv", "-t", "species")
    assert code == 1
    assert "no column 'petal width (cm)'" in err
    frame.assign(species="rose").to_csv("x.csv", index=False)
    code, _, err = run("evaluate", flowers / "ready.safetensors", "x.csv", "-t", "species")
    assert code == 1
    assert "none of the classes of the table (rose)" in err


def test_errors_are_json_too_when_asked_for(run):
    code, out, err = run("compare", "nope.csv", "--json")
    assert (code, out) == (2, "")
    assert "there is no file nope.csv" in json.loads(err)["error"]


def test_verbose_shows_where_an_error_comes_from(run):
    assert "Traceback" in run("compare", "nope.csv", "--verbose")[2]


def test_times_and_shapes_are_read():
    assert [seconds(text) for text in ("45", "90s", "2m", "1m30s", "1.5h")] == [
        45, 90, 120, 90, 5400,
    ]  # fmt: skip
    assert shape("28x20") == (28, 20)
    for bad in ("", "0", "-1s", "2 m", "m"):
        with pytest.raises(UsageError):
            seconds(bad)
