"""Queries that name no row, no column or several rows are refused with a sentence that helps."""

import json

import numpy as np
import pandas as pd
import pytest

import likewise as lw


@pytest.fixture
def search(run):
    """Return a function that searches in drinks.csv; two drinks have the id 3."""
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3, 3, 5, 6],
            "desc": [f"fresh {fruit} juice from here" for fruit in ("apple", "pear", "plum") * 2],
            "price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "kind": ["u", "v"] * 3,
        }
    )
    frame.to_csv("drinks.csv", index=False)
    for name, given in {"both": ["id", "desc", "price"], "text": ["id", "desc"]}.items():
        columns = lw.tables.Columns(text=["desc"]).fit(frame[given])
        knn = lw.SimilarityClassifier(n_neighbors=1).fit(columns.transform(frame), frame["kind"])
        lw.tables.TableModel(columns, knn, target="kind").save(f"{name}.safetensors")

    def search(query, model="both"):
        return run("search", f"{model}.safetensors", "--items", "drinks.csv", "--query", query)

    return search


@pytest.mark.parametrize("query", ['{"price": 1, "bogus": 1}', '{"bogus": 1}'])
def test_an_unknown_column_is_always_refused(search, query):
    code, out, err = search(query)
    assert (code, out) == (2, "")
    assert (
        "--query has 'bogus', which is not a column of the model. Its columns are: price, desc."
        in err
    )


def test_the_nearest_column_is_suggested(search):
    code, _, err = search('{"desc": "plum", "prize": 1}')
    assert code == 2
    assert "'prize', which is not a column of the model. Did you mean 'price'?" in err


def test_id_and_target_are_no_unknown_columns(search):
    assert search('{"id": 9, "price": 1, "desc": "plum", "kind": "u"}')[0] == 0


def test_a_text_among_other_columns_is_refused_with_the_form_that_works(search):
    code, _, err = search("apple juice")
    assert code == 2
    form = '{"desc": "apple juice"}'
    assert f"name its column: '{form}'." in err
    assert search(form)[0] == 0


def test_a_text_is_the_query_of_a_model_of_one_text_column(search):
    code, out, _ = search("apple juice", "text")
    assert code == 0
    assert "apple" in out.splitlines()[1]


@pytest.mark.parametrize("query", ["id 2", "row 1"])
def test_a_row_can_be_named_for_a_model_of_one_text_column(search, query):
    code, out, _ = search(query, "text")
    assert code == 0
    assert out.splitlines()[1].split()[0] == "4"  # the other pear
    assert all(line.split()[0] != "1" for line in out.splitlines()[1:])


@pytest.mark.parametrize("query", ["id 3", "3"])
def test_an_id_of_several_rows_is_refused(run, search, query):
    sentence = "2 rows of drinks have the id '3': name one by its number, such as \"row 2\"."
    code, out, err = search(query)
    assert (code, out) == (2, "")
    assert sentence in err
    code, _, err = run("explain", "both.safetensors", "--items", "drinks.csv", "row 0", query)
    assert code == 2
    assert sentence in err
    assert search("row 2")[0] == 0


def test_fit_warns_of_repeated_ids(run, rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    frame["label"] = np.arange(20) % 2
    frame.assign(id=[7, 7, *range(10, 28)]).to_csv("x.csv", index=False)
    fit = ("fit", "x.csv", "-t", "label", "--learner", "rca", "--splits", "2", "--no-report")
    warning = "Warning: 2 rows have the id '7'; search and explain need row numbers for them."
    code, out, err = run(*fit)
    assert code == 0
    assert warning in err
    assert "* Chosen: RCA, as given by --learner (" in out
    frame.assign(id=[7, 7, 8, 8, 8, *range(10, 25)]).to_csv("x.csv", index=False)
    found = json.loads(run(*fit, "--json")[1])
    assert any(
        "Warning: 2 ids occur in several rows, such as '7' in 2;" in line
        for line in found["columns"]
    )
    frame.assign(id=range(20)).to_csv("x.csv", index=False)
    assert "Warning" not in run(*fit)[2]
