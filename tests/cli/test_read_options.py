"""Commands on files with other separators, decimals and encodings."""

import json

import pandas as pd
import pytest


@pytest.fixture
def exported(flowers, tmp_path):
    """Write the held-out flowers as a spreadsheet of a German office would."""
    path = tmp_path / "blüten.csv"
    frame = pd.read_csv(flowers / "held_out.csv").assign(note="blüht")
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    return path


def test_evaluate_reads_the_same_flowers_and_says_how(run, flowers, exported):
    model = flowers / "ready.safetensors"
    plain = run("evaluate", model, flowers / "held_out.csv", "--json")
    assert plain[0] == 0
    code, out, err = run("evaluate", model, exported, "--json")
    assert (code, err) == (0, "")
    assert {**json.loads(out), "table": ""} == {**json.loads(plain[1]), "table": ""}
    code, _, err = run("evaluate", model, exported)
    assert code == 0
    assert "blüten.csv: cp1252, separated by semicolon, decimal comma." in err


def test_search_and_explain_read_it_too(run, flowers, exported):
    model = flowers / "ready.safetensors"
    for words in (("search", model, "--query", "row 3"), ("explain", model, "3", "4")):
        code, out, err = run(*words, "--items", exported)
        assert code == 0
        assert "separated by semicolon" in err
        assert out == run(*words, "--items", exported, "--sep", ";", "--decimal", ",",
                          "--encoding", "cp1252", "--quiet")[1]  # fmt: skip


def test_given_formats_are_used(run, flowers, exported):
    model = flowers / "ready.safetensors"
    code, _, err = run("evaluate", model, exported, "--sep", ",")
    assert code == 1
    assert "blüten.csv cannot be read as .csv" in err
    code, _, err = run("evaluate", model, exported, "--encoding", "utf-8")
    assert code == 1
    assert "blüten.csv is not UTF-8" in err


def test_compare_states_the_format_in_its_json(run, exported):
    code, out, _ = run("compare", exported, "-t", "species", "--learner", "sila", "--budget", "1s",
                       "--splits", "2", "--json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["reading"] == [
        "blüten.csv: cp1252, separated by semicolon, decimal comma."
    ]
