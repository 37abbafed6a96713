"""Files in the formats that people have: what is read from each, and what is said."""

import gzip
import sys
import zipfile
from pathlib import Path

import pytest

from likewise.exceptions import MissingExtraError
from likewise.tables import read_table

FOLDER = Path(__file__).parents[1] / "data" / "tables"
CUSTOMERS = {
    "customer_id": ["c1", "c2", "c3", "c4"],
    "Ålder": [34, 51, None, 28],
    "city": ["Malmö", "Århus; Midt", "Nantes, Loire", "Besançon"],
    "price": [1234.5, 987.25, 12.0, 45000.75],
    "class": ["a", "b", "a", "b"],
}
GROUPED = "price: numbers with a thousands separator."
READINGS = {
    "comma.csv": ("UTF-8, separated by comma.",),
    "semicolon.csv": ("UTF-8, separated by semicolon.",),
    "tab.csv": ("UTF-8, separated by tab.",),
    "bar.csv": ("UTF-8, separated by vertical bar.",),
    "comma.tsv": ("UTF-8, separated by comma.",),
    "single_quotes.csv": ("UTF-8, separated by comma, quoted by '.",),
    "byte_order_mark.csv": ("UTF-8 with a byte-order mark, separated by semicolon.",),
    "utf16.csv": ("UTF-16, separated by tab.",),
    "utf16_without_mark.csv": ("UTF-16, separated by comma.",),
    "cp1252.csv": ("cp1252, separated by semicolon, decimal comma.",),
    "decimal_comma.csv": ("UTF-8, separated by semicolon, decimal comma.",),
    "thousands_point.csv": ("UTF-8, separated by semicolon, decimal comma.", GROUPED),
    "thousands_comma.csv": ("UTF-8, separated by comma.", GROUPED),
    "thousands_space.csv": ("UTF-8, separated by semicolon, decimal comma.", GROUPED),
    "excel_sep_line.csv": ("UTF-8, separated by vertical bar.",),
    "gzip.csv.gz": ("UTF-8, separated by comma.",),
    "zip.zip": ("UTF-8, separated by comma.",),
    "workbook.xlsx": ("sheet 'customers', the first of 2.",),
}


@pytest.mark.parametrize("name", READINGS)
def test_the_same_customers_are_read_from_every_format(name):
    table = read_table(FOLDER / name)
    assert table.rows.to_pydict() == CUSTOMERS
    first, *others = READINGS[name]
    assert table.reading == (f"{name}: {first}", *others)
    assert table.name == name.split(".")[0]


def test_codes_with_leading_zeros_stay_text():
    table = read_table(FOLDER / "codes.csv", target="class")
    assert table.rows.column("postcode").to_pylist() == ["01067", "80331", "01067", "04109"]
    assert table.rows.column("shop").to_pylist() == [7, 8, 7, 9]
    assert table.rows.column("sales").to_pylist() == [1.5, 2.5, 3.5, 0.5]
    assert table.reading[1:] == ("postcode: codes with leading zeros, read as text.",)


def write(tmp_path, content, encoding="utf-8"):
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a;b\n1,234;x\n5,678;y\n", [1.234, 5.678]),  # semicolons come with decimal commas
        ('a,b\n"1,234",x\n"5,678",y\n', [1234, 5678]),
        ("a;b\n1.234;x\n5.678;y\n", [1.234, 5.678]),
        ("a;b\n1.234;1,5\n5.678;2,5\n", [1234, 5678]),  # another column decides
        ("a;b\n0.234;1,5\n5.678;2,5\n", [0.234, 5.678]),  # no number begins with a group 0
        ("a;b\n1'234.5;x\n 99.0 ;y\n", [1234.5, 99.0]),
        ("a;b\n-1.5e3;x\n+2,5;y\n", ["-1.5e3", "+2,5"]),  # two separators in one column
        ("a;b\n1.2.3;x\n4.5.6;y\n", ["1.2.3", "4.5.6"]),
        ("a,b\ntrue,x\nFALSE,y\n", [True, False]),
    ],
)
def test_numbers_are_read_by_the_separator_of_the_file(tmp_path, content, expected):
    assert read_table(write(tmp_path, content)).rows.column("a").to_pylist() == expected


def test_a_column_with_the_other_decimal_separator_is_said(tmp_path):
    table = read_table(write(tmp_path, "a;b;c\n1,5;2,5;0.5\n3,5;4,5;1.25\n"))
    assert table.rows.to_pydict() == {"a": [1.5, 3.5], "b": [2.5, 4.5], "c": [0.5, 1.25]}
    assert table.reading[1] == "c: numbers with a decimal point."


def test_given_formats_override_the_detected_ones(tmp_path):
    path = write(tmp_path, "a;b\n1,234;ä\n5,678;ö\n", "cp1252")
    table = read_table(path, decimal=".", encoding="latin-1")
    assert table.rows.to_pydict() == {"a": [1234, 5678], "b": ["ä", "ö"]}
    assert table.reading[0] == "x.csv: latin-1, separated by semicolon."
    assert read_table(path, sep="#").rows.column_names == ["a;b"]
    assert read_table(write(tmp_path, "a\tb,c\n1\t2,3\n"), sep="tab").rows.column_names == [
        "a",
        "b,c",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sep": ";;"}, "sep must be one character, such as ';', but ';;' was given"),
        ({"decimal": "x"}, "decimal must be ',' or '.', but 'x' was given"),
        ({"encoding": "cp9"}, "encoding must be one that Python knows, .* but 'cp9' was given"),
        ({"encoding": "ascii"}, r"encoding is ascii, but .*x\.csv is not ascii"),
    ],
)
def test_formats_that_do_not_fit_are_refused(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, "a;b\nä;ö\n"), **given)


def test_bytes_of_no_known_encoding_name_the_file(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n\x81\xff,2\n")
    with pytest.raises(ValueError, match=r"x\.csv is not UTF-8 nor cp1252"):
        read_table(tmp_path / "x.csv")


def test_text_of_one_column_is_not_split(tmp_path):
    table = read_table(write(tmp_path, 'text\n"red, green; and blue"\n"black; and white"\n'))
    assert table.rows.column("text").to_pylist() == ["red, green; and blue", "black; and white"]


def test_compressed_files_that_are_none_are_named(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(b"no gzip")
    (tmp_path / "x.zip").write_bytes(b"no zip")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 99)[:-9])
    for name in ("x.csv.gz", "x.zip", "cut.csv.gz"):
        with pytest.raises(ValueError, match=rf"{name} cannot be uncompressed"):
            read_table(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(ValueError, match=r"two\.zip holds 2 files; one is needed"):
        read_table(tmp_path / "two.zip")
    (tmp_path / "x.npy.gz").write_bytes(gzip.compress(b"rows"))
    with pytest.raises(ValueError, match=r"x\.npy\.gz ends in '\.npy\.gz'; one of \.csv"):
        read_table(tmp_path / "x.npy.gz")


def test_a_missing_excel_reader_gets_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"needs openpyxl: pip install '\S+\[excel\]'"):
        read_table(FOLDER / "workbook.xlsx")
