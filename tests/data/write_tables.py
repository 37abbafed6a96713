"""Write tests/data/tables: small tables in the formats that people's files have."""

import csv
import gzip
import zipfile
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path

import numpy as np
import openpyxl

FOLDER = Path(__file__).parent / "tables"
HEADER = ["customer_id", "Ålder", "city", "price", "class"]
ROWS = [
    ["c1", 34, "Malmö", 1234.5, "a"],
    ["c2", 51, "Århus; Midt", 987.25, "b"],
    ["c3", None, "Nantes, Loire", 12.0, "a"],
    ["c4", 28, "Besançon", 45000.75, "b"],
]


def text(sep, quote='"', decimal=".", thousands="", price=None):
    """Return the rows as delimited text."""
    stream = StringIO()
    writer = csv.writer(stream, delimiter=sep, quotechar=quote, lineterminator="\n")
    writer.writerow(HEADER)
    for row in ROWS:
        number = f"{row[3]:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
        writer.writerow([*row[:3], number, row[4]])
    return stream.getvalue()


VISITS = [datetime(2022, 1, 3, 9, 30) + timedelta(days=37 * visit) for visit in range(24)]
DATES = {  # each with the first visits of a year, in one way to write them
    "dates_iso.csv": "%Y-%m-%d",
    "times_iso.csv": "%Y-%m-%dT%H:%M:%S",
    "times_with_zone.csv": "%Y-%m-%d %H:%M:%S+00:00",
    "dates_day_first.csv": "%d/%m/%Y",
    "dates_month_first.csv": "%m/%d/%Y",
    "dates_with_points.csv": "%d.%m.%Y",
    "dates_with_names.csv": "%d %b %Y",
    "times_with_points.csv": "%d.%m.%Y %H:%M",
}


def visits(written):
    """Return dates with the season that they belong to; one date is missing."""
    lines = ["visit,price,season"]
    for number, moment in enumerate(VISITS):
        season = "summer" if 4 <= moment.month <= 9 else "winter"
        date = "" if number == 5 else moment.strftime(written)
        lines.append(f"{date},{10 + number % 7},{season}")
    return "\n".join(lines) + "\n"


AMBIGUOUS = "visit,price,class\n" + "".join(
    f"{1 + i % 12:02d}/{1 + i % 11:02d}/2024,{i},{'ab'[i % 2]}\n" for i in range(12)
)


def messy():
    """Return a table of customers with ids, codes, dates, missing cells and copies of rows."""
    random = np.random.default_rng(0)
    lines = ["Kunden-ID;Eintritt;PLZ;Umsatz;Bemerkung;Klasse"]
    for number in range(60):
        good = number % 3 != 0
        day = datetime(2023, 1, 10) + timedelta(days=int(random.integers(0, 350)) + 350 * good)
        spent = 900 * random.random() + (800 if good else 100)
        postcode = ("01067", "80331", "04109")[int(random.integers(0, 3))]
        remark = ("zahlt pünktlich und kauft gern", "mahnt oft und zahlt spät")[not good]
        cells = [
            f"K-{1000 + number}",
            "" if number % 13 == 5 else f"{day:%d.%m.%Y}",
            postcode,
            "" if number % 11 == 7 else f"{spent:,.2f}".translate({44: ".", 46: ","}),
            remark if random.random() < 0.7 else "nichts zu bemerken bisher",
            "gut" if good else "schlecht",
        ]
        lines.append(";".join(cells))
    lines += [lines[4], lines[9], lines[4]]  # copies
    return "\n".join(lines) + "\n"


TEXTS = {
    **{name: (visits(written), "utf-8") for name, written in DATES.items()},
    "dates_ambiguous.csv": (AMBIGUOUS, "utf-8"),
    "copies.csv": (
        "order_id,x,y,class\n"
        + "".join(f"{i},{i * i},{i % 5},{'ab'[i % 2]}\n" for i in range(20))
        + "3,9,3,b\n7,49,2,b\n",
        "utf-8",
    ),
    "missing.csv": (
        "x,y,city,when,class\n1,,Rom,2024-01-05,a\n2,5.5,,NA,b\n?,6.5,Bern,2024-03-01,a\n"
        "4,n/a,Rom,,b\n5,8.5,Bern,2024-02-03,a\n6,9.5,Rom,2024-02-10,b\n",
        "utf-8",
    ),
    "messy.csv": (messy(), "cp1252"),
    "comma.csv": (text(","), "utf-8"),
    "semicolon.csv": (text(";"), "utf-8"),
    "tab.csv": (text("\t"), "utf-8"),
    "bar.csv": (text("|"), "utf-8"),
    "comma.tsv": (text(","), "utf-8"),
    "single_quotes.csv": (text(",", quote="'"), "utf-8"),
    "byte_order_mark.csv": (text(";"), "utf-8-sig"),
    "utf16.csv": (text("\t"), "utf-16"),
    "utf16_without_mark.csv": (text(","), "utf-16-le"),
    "cp1252.csv": (text(";", decimal=","), "cp1252"),
    "decimal_comma.csv": (text(";", decimal=","), "utf-8"),
    "thousands_point.csv": (text(";", decimal=",", thousands="."), "utf-8"),
    "thousands_comma.csv": (text(",", thousands=","), "utf-8"),
    "thousands_space.csv": (text(";", decimal=",", thousands="\u00a0"), "utf-8"),
    "excel_sep_line.csv": ("sep=|\n" + text("|"), "utf-8"),
    "codes.csv": (
        "postcode,shop,sales,class\n01067,7,1.5,a\n80331,8,2.5,b\n01067,7,3.5,a\n04109,9,0.5,b\n",
        "utf-8",
    ),
}


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (content, encoding) in TEXTS.items():
        (FOLDER / name).write_bytes(content.encode(encoding))
    plain = text(",").encode()
    (FOLDER / "gzip.csv.gz").write_bytes(gzip.compress(plain, mtime=0))
    with zipfile.ZipFile(FOLDER / "zip.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("customers.csv"), plain)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "customers"
    for row in [HEADER, *ROWS]:
        sheet.append(row)
    book.create_sheet("notes").append(["made by hand"])
    book.save(FOLDER / "workbook.xlsx")
    book = openpyxl.Workbook()
    book.active.append(["visit", "price", "season"])
    for number, moment in enumerate(VISITS):
        season = "summer" if 4 <= moment.month <= 9 else "winter"
        book.active.append([None if number == 5 else moment, 10 + number % 7, season])
    book.save(FOLDER / "dates.xlsx")


if __name__ == "__main__":
    main()
