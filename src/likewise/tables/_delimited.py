"""Delimited text: its encoding, separator and quote character are detected, or given."""

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from likewise.exceptions import FormatError
from likewise.tables._values import typed_columns

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_DEFAULT_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_MARKS = {  # byte-order marks
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_ENCODING_TITLES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with a byte-order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
}
_SAMPLE = 1 << 16  # characters from which separator and quote character are detected
_NO_VALUE = [
    *("", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NAN", "-nan", "NaT"),
    *("null", "NULL", "None", "?", "#N/A", "#VALUE!", "#DIV/0!", "#REF!", "#NUM!"),
]


@dataclass(frozen=True)
class Format:
    """Format of delimited text; None is detected.

    Attributes
    ----------
    sep : str or None
        One character, or one of ``tab``, ``comma``, ``semicolon`` and ``pipe``.
    decimal : {",", "."} or None
    encoding : str or None
        A name that Python knows, such as ``cp1252``.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        sep = _NAMED_SEPARATORS.get(self.sep or "", self.sep)
        if sep is not None and (len(sep) != 1 or sep in "\r\n\"'"):
            raise FormatError(
                f"sep must be one character, such as ';', but {self.sep!r} was given."
            )
        object.__setattr__(self, "sep", sep)
        if self.decimal not in (None, ",", "."):
            raise FormatError(f"decimal must be ',' or '.', but {self.decimal!r} was given.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError as error:
                raise FormatError(
                    f"encoding must be one that Python knows, such as cp1252, but "
                    f"{self.encoding!r} was given."
                ) from error


def read_delimited(path: Path, ending: str, given: Format) -> tuple[Any, tuple[str, ...]]:
    """Read delimited text, which may be compressed.

    Parameters
    ----------
    path : Path
    ending : str
        Of the uncompressed file, such as ``.csv``.
    given : Format

    Returns
    -------
    rows : pyarrow.Table
    reading : tuple of str
        Description of the format, in sentences.
    """
    import pyarrow

    content = _uncompressed(path)
    text, encoding = _decoded(content, given.encoding, path)
    sample = _first_lines(text)
    skipped = 0
    sep = given.sep
    if sample.lower().startswith("sep=") and sample[4:6].rstrip("\r\n") in SEPARATORS:
        sep, skipped = sep or sample[4], 1  # Excel's own line
        sample = sample.partition("\n")[2]
    default = sep or _DEFAULT_SEPARATORS.get(ending, ",")
    sep, quote = _detected(sample, [sep] if sep else SEPARATORS, default)
    data = content if encoding == "utf-8" else text.encode()
    del content, text
    try:
        texts = _as_texts(data, sep, quote, skipped)
    except pyarrow.ArrowInvalid as error:
        if given.sep is None:
            raise
        reason = str(error).splitlines()[0][:200]
        raise FormatError(
            f"sep is {given.sep!r}, but {path} cannot be read with it: {reason}"
        ) from error
    rows, decimal, sentences = typed_columns(texts, given.decimal, comma_likely=sep == ";")
    if given.decimal is not None:
        _check_decimal(texts, rows, given.decimal, path)
    named = f"separated by {SEPARATORS.get(sep, repr(sep))}"
    if quote == "'":
        named += ", quoted by '"
    if decimal == ",":
        named += ", decimal comma"
    title = _ENCODING_TITLES.get(encoding, encoding)
    return rows, (f"{path.name}: {title}, {named}.", *sentences)


def _as_texts(data: bytes, sep: str, quote: str, skipped: int) -> Any:
    """Return the table with every cell as text."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    parse = arrow_csv.ParseOptions(delimiter=sep, quote_char=quote, newlines_in_values=True)
    read = arrow_csv.ReadOptions(skip_rows=skipped)
    names = arrow_csv.open_csv(
        pyarrow.BufferReader(data), read_options=read, parse_options=parse
    ).schema.names
    strings = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()),
        null_values=_NO_VALUE,
        strings_can_be_null=True,
    )
    return arrow_csv.read_csv(
        pyarrow.BufferReader(data), read_options=read, parse_options=parse, convert_options=strings
    )


def _check_decimal(texts: Any, rows: Any, decimal: str, path: Path) -> None:
    """Refuse a decimal separator that no column needs, where one needs the other."""
    import pyarrow

    if pyarrow.float64() in rows.schema.types:
        return
    other = "." if decimal == "," else ","
    read = typed_columns(texts, other, comma_likely=False)[0]
    names = [name for name in rows.column_names if read.column(name).type == pyarrow.float64()]
    if names:
        first = texts.column(names[0]).drop_null()[0].as_py()
        raise FormatError(
            f"decimal is {decimal!r}, but column {names[0]!r} of {path} has numbers such as "
            f"{first}."
        )


def uncompressed_ending(path: Path) -> str:
    """Return the ending of the file in a .gz or .zip file."""
    name = path.stem
    if path.suffix.lower() == ".zip":
        with _errors_named(path), zipfile.ZipFile(path) as archive:
            name = _only_member(archive, path)
    return Path(name).suffix.lower()


def _uncompressed(path: Path) -> bytes:
    """Return the content of a file; of .gz files, and the one file of a .zip, uncompressed."""
    ending = path.suffix.lower()
    if ending == ".gz":
        with _errors_named(path), gzip.open(path) as stream:
            return stream.read()
    if ending == ".zip":
        with _errors_named(path), zipfile.ZipFile(path) as archive:
            return archive.read(_only_member(archive, path))
    return path.read_bytes()


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Name the file in errors of decompression; an encrypted file is a RuntimeError."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(f"{path} cannot be uncompressed: {error}") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    """Return the name of the only file in an archive."""
    names = [name for name in archive.namelist() if not name.endswith("/")]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise ValueError(f"{path} holds {len(names)} files; one is needed.")
    return names[0]


def _decoded(content: bytes, given: str | None, path: Path) -> tuple[str, str]:
    """Return the text and its encoding."""
    encoding = given or _marked_encoding(content)
    candidates = [encoding] if encoding is not None else ["utf-8", "cp1252"]
    for name in candidates:
        try:
            return content.decode(name), name
        except UnicodeError as error:
            reason = error
    tried = " nor ".join(_ENCODING_TITLES.get(name, name) for name in candidates)
    if given is not None:
        raise FormatError(f"encoding is {given}, but {path} is not {tried} ({reason}).") from reason
    raise ValueError(f"{path} is not {tried} ({reason}); another encoding is needed.") from reason


def _marked_encoding(content: bytes) -> str | None:
    """Return the encoding of a byte-order mark, or UTF-16 by the place of its zero bytes."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            return encoding
    start = np.frombuffer(content[:_SAMPLE], dtype=np.uint8)
    even, odd = (start[first::2] == 0 for first in (0, 1))
    if len(start) < 4 or not (even.any() or odd.any()):
        return None
    if odd.mean() > 0.3 and even.mean() < 0.1:
        return "utf-16-le"
    return "utf-16-be" if even.mean() > 0.3 and odd.mean() < 0.1 else None


def _first_lines(text: str) -> str:
    """Return the start of a text, cut after a whole line."""
    sample = text[:_SAMPLE]
    return sample if len(text) <= _SAMPLE else sample[: sample.rfind("\n") + 1] or sample


def _detected(sample: str, separators: Iterable[str], default: str) -> tuple[str, str]:
    """Return separator and quote character.

    By these most rows are as wide as the header; of equals they give the widest rows, then stand
    around the most cells.
    """
    best, best_score = (default, '"'), (0.5, 0, False, 0)
    for sep in separators:
        for quote in "\"'":
            widths = [len(row) for row in _parsed(sample, sep, quote) if row]
            if not widths or widths[0] < 2:
                continue
            fitting = sum(width == widths[0] for width in widths) / len(widths)
            edge = re.escape(sep)
            quoted = rf"(?:^|{edge}){quote}[^{quote}\n]*{quote}(?={edge}|$)"
            n_quoted = len(re.findall(quoted, sample, re.MULTILINE))
            score = (fitting, widths[0], sep == default, n_quoted)
            if score > best_score:
                best, best_score = (sep, quote), score
    return best


def _parsed(sample: str, sep: str, quote: str) -> list[list[str]]:
    try:
        return list(csv.reader(StringIO(sample), delimiter=sep, quotechar=quote))
    except csv.Error:  # such as a field beyond the limit of the module
        return []
