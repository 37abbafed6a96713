"""All commands in a terminal, on a file with every oddity: what they say and how they end."""

import re
from pathlib import Path

import pytest
from tests.cli.terminal import likewise

MESSY = Path(__file__).parents[1] / "data" / "tables" / "messy.csv"
READING = (
    "messy.csv: cp1252, separated by semicolon, decimal comma.",
    "PLZ: codes with leading zeros, read as text.",
    "Umsatz: numbers with a thousands separator.",
)
COLUMNS = (
    "Kunden-ID: the ids of the rows.",
    "1 numeric column: Umsatz; ",
    "5 missing cells filled with the median.",
    "Eintritt: dates, as days since 2023-02-07, weekday, time of year; read as day/month/year; ",
    "PLZ: 3 categories, a 0/1 column each.",
)
COPIES = "3 rows are copies of an earlier row; copies stay on one side of every split."
QUICK = ("--learner", "sila", "--budget", "2s", "--splits", "2")


def run(*arguments, folder):
    ended = likewise(*arguments, folder=folder)
    assert "Traceback" not in ended.text
    return ended.code, " ".join(ended.text.split())


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with a model of the messy file, and what fitting it said."""
    folder = tmp_path_factory.mktemp("messy")
    code, said = run("fit", MESSY, "--target", "Klasse", *QUICK, folder=folder)
    assert code == 0, said
    return folder, said


def test_compare_says_how_the_file_was_read(tmp_path):
    code, said = run("compare", MESSY, "-t", "Klasse", *QUICK, folder=tmp_path)
    assert code == 0, said
    for sentence in (*READING, *COLUMNS, COPIES, "messy: 63 rows, 2 classes of Klasse"):
        assert sentence in said
    for name in ("SiLA", "Euclidean kNN", "majority class"):
        assert name in said


def test_fit_leaves_a_model_and_a_report_that_names_the_file(fitted):
    folder, said = fitted
    for sentence in (*READING, *COLUMNS, COPIES, "model: model.safetensors"):
        assert sentence in said
    page = (folder / "report.html").read_text(encoding="utf8")
    assert f"--items {MESSY}" in page
    for part in ("Bemerkung", "Eintritt", "Umsatz", "read as day/month/year"):
        assert part in page


def test_evaluate_says_what_is_imputed(fitted):
    code, said = run("evaluate", "model.safetensors", MESSY, folder=fitted[0])
    assert code == 0, said
    assert all(sentence in said for sentence in READING)
    assert "10 missing cells are imputed as in fitting." in said
    assert "training rows: this says nothing about new rows" in said
    assert float(re.search(r"accuracy: ([\d.]+) on 63 training rows", said)[1]) > 0.8


def test_search_takes_an_id_and_a_part_of_a_row(fitted):
    search = ("search", "model.safetensors", "--items", MESSY, "-k", "3", "--query")
    code, said = run(*search, "K-1007", folder=fitted[0])
    assert code == 0, said
    assert all(sentence in said for sentence in READING)
    assert "the query has no Umsatz: imputed as in fitting." in said
    found = re.findall(r"K-\d{4}", said)
    assert len(found) == 3
    assert "K-1007" not in found
    code, said = run(*search, '{"Eintritt": "24.12.2023", "PLZ": "01067"}', folder=fitted[0])
    assert code == 0, said
    assert "the query has no Umsatz, Bemerkung: imputed as in fitting." in said


def test_explain_names_the_columns_and_both_rows(fitted):
    code, said = run(
        "explain", "model.safetensors", "--items", MESSY, "id K-1004", "K-1010", folder=fitted[0]
    )
    assert code == 0, said
    assert "row 4: Kunden-ID K-1004, Eintritt 11.05.2024, " in said
    assert "row 10: Kunden-ID K-1010, " in said
    assert re.search(r"score -?[\d.]+", said)
    assert "Eintritt:" in said


@pytest.mark.parametrize("option", [("--sep", ","), ("--encoding", "utf-8"), ("--decimal", ".")])
def test_a_format_that_does_not_fit_ends_with_2_and_a_sentence(tmp_path, option):
    code, said = run("compare", MESSY, "-t", "Klasse", *option, folder=tmp_path)
    assert code == 2
    assert said.startswith(f"error: {option[0]} ")
