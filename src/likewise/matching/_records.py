"""Records: normalized values of the fields that two tables share, and the kinds of these fields."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from likewise._validation import did_you_mean, unknown_name
from likewise.matching._words import words
from likewise.tables import as_frame

ID = "id"
WHOLE = "*"  # name of the whole record among the fields
KINDS = ("number", "string", "text")
_MISSING = frozenset(["-", "n/a", "na", "nan", "none", "null", "?", "unknown"])
_NUMBER = re.compile(r"[-+]?(?:\d+(?:,\d{3})*(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?")
_CURRENCIES = "$€£¥ "
_SHARE_OF_NUMBERS = 0.8
_WORDS_OF_A_TEXT = 3
_LISTED = 10


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one field; each different text is kept once.

    Attributes
    ----------
    texts : list of str or None
        Different values as they stand in the table; None is missing.
    values : list of str
        The same, normalized; "" is missing.
    codes : (n_records,) int32 array
        Place of each record's value in both lists.
    """

    texts: list[str | None]
    values: list[str]
    codes: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> "Column":
        """Return the column of these texts."""
        place: dict[str | None, int] = {}
        codes = np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int32)
        return cls(list(place), [normalized(text) for text in place], codes)

    def __getitem__(self, row: int) -> str:
        """Return the normalized value of a record."""
        return self.values[self.codes[row]]

    def __iter__(self) -> Iterator[str]:
        return (self.values[code] for code in self.codes.tolist())

    def shown(self, row: int) -> str | None:
        """Return the value of a record as it stands in the table."""
        return self.texts[self.codes[row]]


@dataclass(frozen=True, eq=False)
class Records:
    """The records of one table.

    Attributes
    ----------
    ids : list
        As in the table; row numbers where it has no column ``id``.
    columns : dict of Column
    """

    ids: Sequence[Any]
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def whole(self) -> list[str]:
        """Values of each record, joined."""
        return [" ".join(filter(None, row)) for row in zip(*self.columns.values(), strict=True)]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row number of each id, as text."""
        return {id_text(name): row for row, name in enumerate(self.ids)}


def common_fields(left: Any, right: Any, wanted: Any) -> list[str]:
    """Return the columns that are compared: those of both tables, or those that are named."""
    frames = [_frame(left, "left"), _frame(right, "right")]
    if wanted is None:
        names = [n for n in frames[0].names if n in frames[1].names and n != ID]
        names = [n for n in names if all(f.kind(n) not in ("vectors", "images") for f in frames)]
        if not names:
            raise ValueError(
                f"left has the columns {_listed(frames[0].names)} and right has "
                f"{_listed(frames[1].names)}; at least one column of the same name besides "
                f"{ID!r} is needed."
            )
        return names
    for name in wanted:
        for side, frame in zip(("left", "right"), frames, strict=True):
            if name not in frame.names:
                hint = did_you_mean(str(name), frame.names)
                raise ValueError(f"fields names {name!r}, but {side} has no such column.{hint}")
            if name == ID:
                raise ValueError(f"fields names {ID!r}, the ids of the records; a field is needed.")
    if not len(wanted):
        raise ValueError("fields is empty; at least one field is needed.")
    return list(wanted)


def check_wanted(fields: Any) -> None:
    """Refuse fields that are neither None, a list of names nor a dict of names and kinds."""
    if fields is None:
        return
    if isinstance(fields, str) or not isinstance(fields, Sequence | Mapping):
        raise TypeError(
            f"fields must be a list of columns or a dict of columns and kinds, but {fields!r} was "
            "given."
        )
    for name in fields:
        kind = fields[name] if isinstance(fields, Mapping) else None
        if kind is not None and kind not in KINDS:
            raise unknown_name(str(kind), f"fields[{name!r}]", KINDS)


def read_records(table: Any, fields: Sequence[str], name: str) -> Records:
    """Return the records of a table; empty tables, and missing or repeated ids, are refused."""
    frame = _frame(table, name)
    if len(frame) == 0:
        raise ValueError(f"{name} has no rows; at least one is needed.")
    for field in fields:
        if field not in frame.names:
            hint = did_you_mean(field, frame.names)
            raise ValueError(f"{name} has no column {field!r}, which is compared.{hint}")
    ids = frame.values(ID) if ID in frame.names else range(len(frame))
    _check_ids(ids, name)
    return Records(ids, {field: Column.of(frame.texts(field)) for field in fields})


def _check_ids(ids: Sequence[Any], name: str) -> None:
    """Refuse missing and repeated ids."""
    if isinstance(ids, range):
        return
    seen: dict[str, int] = {}
    for row, value in enumerate(ids):
        if value is None:
            raise ValueError(f"{name} has no {ID} in row {row}; every record needs one.")
        first = seen.setdefault(id_text(value), row)
        if first != row:
            raise ValueError(
                f"{name} has the {ID} {value!r} in rows {first} and {row}; ids must differ."
            )


def _frame(table: Any, name: str) -> Any:
    if not (hasattr(table, "columns") or hasattr(table, "column_names")):
        raise TypeError(
            f"{name} must be a frame with named columns, but {type(table).__name__} was given."
        )
    return as_frame(table)


def fingerprint(left: Records, right: Records | None) -> str:
    """Return a digest of the ids and values of both tables."""
    digest = sha256()
    for records in (left, right):
        if records is None:
            digest.update(b"one table")
            continue
        for name in records.ids:
            digest.update(id_text(name).encode() + b"\x1f")
        for field, column in records.columns.items():
            digest.update(f"\x1e{field}\x1f".encode())
            for value in column:
                digest.update(value.encode() + b"\x1f")
    return digest.hexdigest()


def id_text(value: Any) -> str:
    """Return an id as text, by which ids of tables and of labels are compared."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def normalized(text: str | None) -> str:
    """Return a value without accents, in lower case and with single spaces; "" if missing."""
    if text is None:
        return ""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    text = " ".join(text.lower().split())
    return "" if text in _MISSING else text


def number(text: str) -> float | None:
    """Return a normalized value as a number, with or without a currency, or None."""
    bare = text.strip(_CURRENCIES)
    return float(bare.replace(",", "")) if _NUMBER.fullmatch(bare) else None


def kinds_of(left: Records, right: Records, wanted: Any) -> dict[str, str]:
    """Return the kind of each field: as wanted, or from the values of both tables."""
    given = wanted if isinstance(wanted, Mapping) else {}
    return {
        name: given.get(name) or _kind(left.columns[name], right.columns[name])
        for name in left.columns
    }


def _kind(*columns: Column) -> str:
    n_present = n_numbers = n_words = 0
    for column in columns:
        for value, n in zip(column.values, np.bincount(column.codes).tolist(), strict=True):
            if value:
                n_present += n
                n_numbers += n * (number(value) is not None)
                n_words += n * len(words(value))
    if n_numbers > _SHARE_OF_NUMBERS * n_present:
        return "number"
    return "text" if n_words > _WORDS_OF_A_TEXT * n_present else "string"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" ..." if len(names) > _LISTED else "") or "none"
