"""Dates in the usual formats become days, and say how they were read."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import likewise as lw
from likewise.selection import family_named, select
from likewise.tables import Columns
from likewise.tables._dates import (
    DAY_FIRST,
    ISO,
    MONTH_FIRST,
    NAMED_MONTHS,
    TIMES,
    DateFormat,
    date_format,
    days_of,
)


@pytest.mark.parametrize(
    ("texts", "order", "is_ambiguous"),
    [
        (["2024-03-05", "2023-12-31"], ISO, False),
        (["2024/3/5", "2023/12/31"], ISO, False),
        (["2024-03-05T14:30:00", "2023-12-31 00:00"], ISO, False),
        (["2024-03-05T14:30:00Z", "2024-03-05T14:30:00.250+02:00"], ISO, False),
        (["05/03/2024", "06/04/2024"], DAY_FIRST, True),
        (["05-03-2024", "06-04-2024"], DAY_FIRST, True),
        (["05/03/2024", "13/04/2024"], DAY_FIRST, False),
        (["05/03/2024", "04/13/2024"], MONTH_FIRST, False),
        (["5.3.2024", "6.4.2024 12:30"], DAY_FIRST, False),
        (["05.03.24", "31.12.99"], DAY_FIRST, False),
        (["3/5/2024 2:30 PM", "3/25/2024 11:05:10 am"], MONTH_FIRST, False),
        (["5 Mar 2024", "March 5, 2024", "05-MAR-2024"], NAMED_MONTHS, False),
        (["14:30", "09:05:30"], TIMES, False),
        (["0000-00-00", "2024-03-05"], ISO, False),
    ],
)
def test_the_order_of_day_and_month_is_found(texts, order, is_ambiguous):
    assert date_format(texts) == DateFormat(order, is_ambiguous)


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-03-05", "soon"],
        ["31/04/2024"],
        ["13/13/2024"],
        ["25/12/2024", "12/25/2024"],
        ["1.2.3", "4.5.6"],
        ["25:61"],
        ["5 Foo 2024"],
        ["red"],
        ["1234"],
        ["0", "0"],
    ],
)
def test_other_texts_are_no_dates(texts):
    assert date_format(texts) is None


def test_all_ways_to_write_a_moment_give_the_same_days():
    moment = datetime(2024, 3, 5, 14, 30)
    expected = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    zone = timezone(timedelta(hours=2))
    written = {
        ISO: ["2024-03-05T14:30", "2024-03-05 16:30+02:00", "2024-03-05T14:30:00.000Z",
              moment, moment.replace(tzinfo=UTC), moment.replace(hour=16, tzinfo=zone)],
        DAY_FIRST: ["5/3/2024 14:30", "05.03.2024, 14:30:00", "05-03-24 2:30 pm",
                    "2024-03-05T14:30"],
        MONTH_FIRST: ["3/5/2024 2:30 PM", "03-05-2024 14:30"],
        NAMED_MONTHS: ["5 March 2024 14:30", "Mar 5, 2024 2:30PM"],
    }  # fmt: skip
    for order, values in written.items():
        np.testing.assert_array_equal(days_of(values, order, "x"), expected)
    day, midnight = days_of([date(2024, 3, 5), "2024-03-05"], ISO, "x")
    assert day == midnight == np.floor(expected)
    assert np.isnan(days_of([None, "0000-00-00"], ISO, "x")).all()
    hours = days_of(["12:00 am", "6:00", time(18)], TIMES, "x")
    np.testing.assert_array_equal(hours, [0, 0.25, 0.75])


DAYS = [date(2023, 1, 2) + timedelta(days=40 * i) for i in range(12)]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    "written", ["{:%Y-%m-%d}", "{:%d/%m/%Y}", "{:%m/%d/%Y}", "{:%d.%m.%Y}", None]
)
def test_every_library_and_format_gives_the_same_numbers(frame, written):
    values = [datetime(d.year, d.month, d.day) if written is None else written.format(d)
              for d in DAYS]  # fmt: skip
    X = Columns().fit_transform(frame({"when": values}))
    days = np.array([(day - DAYS[0]).days for day in DAYS], dtype=float)
    np.testing.assert_allclose(X[:, 0], (days - days.mean()) / days.std())
    weekday = 2 * np.pi * np.array([day.weekday() for day in DAYS]) / 7
    year = 2 * np.pi * np.array([day.timetuple().tm_yday - 1 for day in DAYS]) / 366
    circles = [np.cos(weekday), np.sin(weekday), np.cos(year), np.sin(year)]
    np.testing.assert_allclose(X[:, 1:], np.stack(circles, axis=1), atol=1e-12)


def sentence(values, **parameters):
    columns = Columns(**parameters).fit(pa.table({"x": range(len(values)), "when": values}))
    return next(text for text in columns.sentences_ if text.startswith("when"))


def test_what_was_read_is_stated():
    assert sentence(["2024-03-05", None, "2024-03-09"]) == (
        "when: dates, as days since 2024-03-05; 1 missing cell filled with the median."
    )
    assert sentence(["2022-03-05 12:00", "2024-04-02 13:00"]) == (
        "when: dates, as days since 2022-03-05, weekday, time of year, time of day."
    )
    assert sentence(["05.03.2024", "06.03.2024"]) == (
        "when: dates, as days since 2024-03-05; read as day/month/year."
    )
    assert sentence(["05/03/2024", "06/03/2024"]) == (
        "when: dates, as days since 2024-03-05; "
        "read as day/month/year (assumed; no cell is decisive)."
    )
    assert sentence(["05/03/2024", "06/03/2024"], day_first=False) == (
        "when: dates, as days since 2024-05-03, weekday; read as month/day/year (as given)."
    )
    assert sentence(["10:00", "11:30"]) == "when: times, as a share of the day and on a circle."
    assert sentence(["2024-03-05", "2024-03-05"]) == "when: not used; the same in every row."


def test_another_column_decides_the_order():
    table = pa.table({"paid": ["03/04/2024", "05/06/2024"], "due": ["03/25/2024", "05/26/2024"]})
    columns = Columns().fit(table)
    assert columns.day_first_ is False
    assert columns.transform(table)[0, 0] < 0
    assert "days since 2024-03-04" in columns.sentences_[0]


def test_missing_dates_are_in_the_middle():
    table = pa.table({"when": [None, "2020-01-01", "2021-06-01", "2022-01-01"]})
    columns = Columns(scale="range").fit(table)
    X = columns.transform(table)
    assert X[0, 0] == X[2, 0]
    np.testing.assert_array_equal(X[0, 1:], 0)
    assert X[1:, 1:].any(axis=1).all()


def test_a_model_reads_later_dates_as_it_read_the_first(tmp_path):
    """Every later date alone is ambiguous, and its day is last."""
    table = pa.table({"when": ["03/25/2024", "04/26/2024", "05/27/2024", "12/28/2024"]})
    columns = Columns().fit(table)
    knn = lw.SimilarityClassifier(n_neighbors=1).fit(columns.transform(table), list("abcd"))
    lw.tables.TableModel(columns, knn).save(tmp_path / "model.safetensors")
    model = lw.load(tmp_path / "model.safetensors")
    later = pa.table({"when": ["04/02/2024", "12/05/2024", "2024-05-27"]})
    assert model.predict(later).tolist() == ["a", "d", "c"]
    assert model.columns.sentences_ == columns.sentences_
    with pytest.raises(
        ValueError,
        match=r"column 'when' must hold dates \(month/day/year\), but row 1 holds '25/12/2024'",
    ):
        model.predict(pa.table({"when": ["04/02/2024", "25/12/2024"]}))


@pytest.mark.parametrize("written", ["{:%Y-%m-%d %H:%M}", "{:%d/%m/%Y}", "{:%d.%m.%Y}"])
def test_a_signal_in_the_date_is_found(rng, written):
    n = 200
    days = [date(2022, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 700, n)]
    moments = [datetime(day.year, day.month, day.day, 12) for day in days]
    season = np.array(["summer" if 4 <= day.month <= 9 else "winter" for day in days])
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    families = [family_named("euclidean")]
    without = select(frame, season, families=families, n_splits=3).nested.mean()
    frame["when"] = [written.format(moment) for moment in moments]
    found = select(frame, season, families=families, n_splits=3).nested.mean()
    assert without < 0.65
    assert found > without + 0.2


def test_the_order_is_that_of_the_whole_table_in_every_split():
    """One row alone tells that the month comes first; no split without it may fail."""
    n = 40
    texts = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2024" for i in range(n)]
    texts[7] = "08/25/2024"
    frame = pd.DataFrame({"when": texts, "x": np.arange(n) % 7})
    labels = np.arange(n) % 12 > 5
    found = select(frame, labels, families=[family_named("euclidean")], n_splits=4)
    assert found.nested.mean() > 0.8
