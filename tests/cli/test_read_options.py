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


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--sep", ",", "error: --sep is ',', but {} cannot be read with it: "),
        ("--sep", ";;", "error: --sep must be one character, such as ';', but ';;' was given."),
        ("--encoding", "utf-8", "error: --encoding is utf-8, but {} is not UTF-8 ("),
        ("--encoding", "cp9", "error: --encoding must be one that Python knows, such as cp1252,"),
        ("--decimal", "x", "error: --decimal must be ',' or '.', but 'x' was given."),
        (
            "--decimal",
            ".",
            "error: --decimal is '.', but column 'sepal length (cm)' of {} has numbers such as ",
        ),
    ],
)
def test_a_wrong_format_is_wrong_usage(run, flowers, exported, option, value, sentence):
    model = flowers / "ready.safetensors"
    code, out, err = run("evaluate", model, exported, option, value)
    assert (code, out) == (2, "")
    assert err.startswith(sentence.format(exported))
    assert err.count("\n") == 1


def test_compare_states_the_format_in_its_json(run, exported):
    code, out, _ = run("compare", exported, "-t", "species", "--learner", "sila", "--budget", "1s",
                       "--splits", "2", "--json")  # fmt: skip
    assert code == 0
    found = json.loads(out)
    assert found["reading"] == ["blüten.csv: cp1252, separated by semicolon, decimal comma."]
    assert found["columns"][0] == "id: the ids of the rows."
