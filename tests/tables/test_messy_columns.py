"""Files with dates, ids, copies, missing cells and codes: what each column becomes."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from likewise.selection import family_named, select
from likewise.tables import Columns, read_table, row_groups

FOLDER = Path(__file__).parents[1] / "data" / "tables"
VISITS = np.array([datetime(2022, 1, 3, 9, 30) + timedelta(days=37 * i) for i in range(24)])
ONLY_DAYS = "dates, as days since 2022-01-03, weekday, time of year"
WITH_TIMES = f"{ONLY_DAYS}, time of day"
READINGS = {
    "dates_iso.csv": ONLY_DAYS,
    "times_iso.csv": WITH_TIMES,
    "times_with_zone.csv": WITH_TIMES,
    "dates_day_first.csv": f"{ONLY_DAYS}; read as day/month/year",
    "dates_month_first.csv": f"{ONLY_DAYS}; read as month/day/year",
    "dates_with_points.csv": f"{ONLY_DAYS}; read as day/month/year",
    "dates_with_names.csv": f"{ONLY_DAYS}; read as names of months",
    "times_with_points.csv": f"{WITH_TIMES}; read as day/month/year",
    "dates.xlsx": WITH_TIMES,
}


@pytest.mark.parametrize("name", READINGS)
def test_the_same_visits_are_read_from_every_format(name):
    table = read_table(FOLDER / name, target="season")
    columns = Columns(scale="none", ignore=["price"]).fit(table.rows)
    assert columns.sentences_ == [
        f"visit: {READINGS[name]}; 1 missing cell filled with the median."
    ]
    start = datetime(2022, 1, 3)
    if "time of day" not in READINGS[name]:
        start += timedelta(hours=9, minutes=30)
    expected = np.array([(moment - start) / timedelta(days=1) for moment in VISITS])
    expected[5] = np.median(np.delete(expected, 5))
    days = columns.transform(table.rows)[:, columns.feature_names_.index("visit:days")]
    np.testing.assert_allclose(days, expected)


@pytest.mark.parametrize("name", READINGS)
def test_their_season_is_predicted(name):
    table = read_table(FOLDER / name, target="season")
    families = [family_named("euclidean")]
    without = table.rows.drop_columns(["visit"])
    poor = select(without, table.labels, families=families, n_splits=3).nested.mean()
    good = select(table.rows, table.labels, families=families, n_splits=3).nested.mean()
    assert good > poor + 0.1


def test_an_ambiguous_order_is_an_assumption_and_said():
    rows = read_table(FOLDER / "dates_ambiguous.csv", target="class").rows
    assumed = "read as day/month/year (assumed; no cell is decisive)."
    assert Columns().fit(rows).sentences_[1].endswith(assumed)
    given = "read as month/day/year (as given)."
    assert Columns(day_first=False).fit(rows).sentences_[1].endswith(given)


def test_copies_are_found_and_the_ids_with_them():
    table = read_table(FOLDER / "copies.csv", target="class")
    columns = Columns().fit(table.rows)
    assert columns.id_ == "order_id"
    assert columns.columns_ == ["x", "y"]
    groups = row_groups(table.rows, ["order_id"])
    assert groups.tolist() == [*range(20), 3, 7]
    found = select(table.rows, table.labels, families=[family_named("euclidean")], n_splits=2)
    assert any("2 rows are copies of an earlier row" in note for note in found.notes)


def test_missing_cells_of_every_kind_are_imputed():
    table = read_table(FOLDER / "missing.csv", target="class")
    columns = Columns(scale="none").fit(table.rows)
    assert columns.sentences_ == [
        "2 numeric columns: x, y; not scaled; 3 missing cells filled with the median.",
        "when: dates, as days since 2024-01-05, weekday; 2 missing cells filled with the median.",
        "city: 2 categories, a 0/1 column each; 1 missing cell without any.",
    ]
    X = columns.transform(table.rows)
    np.testing.assert_array_equal(X[:, 0], [1, 2, 4, 4, 5, 6])
    np.testing.assert_array_equal(X[:, 1], [7.5, 5.5, 6.5, 7.5, 8.5, 9.5])
    np.testing.assert_array_equal(X[:, 2], [0, 32.5, 56, 32.5, 29, 36])
    np.testing.assert_array_equal(X[1, 3:], 0)


def test_everything_at_once():
    table = read_table(FOLDER / "messy.csv", target="Klasse")
    assert table.reading == (
        "messy.csv: cp1252, separated by semicolon, decimal comma.",
        "PLZ: codes with leading zeros, read as text.",
        "Umsatz: numbers with a thousands separator.",
    )
    assert Columns().fit(table.rows).sentences_ == [
        "Kunden-ID: the ids of the rows.",
        "1 numeric column: Umsatz; mean 0 and deviation 1; 5 missing cells filled with the median.",
        "Eintritt: dates, as days since 2023-02-07, weekday, time of year; "
        "read as day/month/year; 5 missing cells filled with the median.",
        "PLZ: 3 categories, a 0/1 column each.",
        "Bemerkung: 3 categories, a 0/1 column each.",
    ]
    assert row_groups(table.rows, ["Kunden-ID"]).max() == 59
