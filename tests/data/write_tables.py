"""Write tests/data/tables: small tables in the formats that people's files have."""

import csv
import gzip
import zipfile
from io import StringIO
from pathlib import Path

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


TEXTS = {
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


if __name__ == "__main__":
    main()
