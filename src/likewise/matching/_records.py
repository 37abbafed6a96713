"""Records: normalized values of the fields that two tables share, and the kinds of these fields."""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from likewise._validation import did_you_mean, unknown_name
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


@dataclass(frozen=True)
class Records:
    """The records of one table.

    Attributes
    ----------
    ids : list
        As in the table; row numbers where it has no column ``id``.
    values : dict of lists of str
        Normalized values of each field; "" is missing.
    shown : dict of lists
        The values as they stand in the table, for explanations and questions.
    """

    ids: list[Any]
    values: dict[str, list[str]]
    shown: dict[str, list[str | None]]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def whole(self) -> list[str]:
        """Values of each record, joined."""
        return [" ".join(filter(None, row)) for row in zip(*self.values.values(), strict=True)]

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
    ids = frame.values(ID) if ID in frame.names else list(range(len(frame)))
    seen: dict[str, int] = {}
    for row, value in enumerate(ids):
        if value is None:
            raise ValueError(f"{name} has no {ID} in row {row}; every record needs one.")
        first = seen.setdefault(id_text(value), row)
        if first != row:
            raise ValueError(
                f"{name} has the {ID} {value!r} in rows {first} and {row}; ids must differ."
            )
    shown = {field: frame.texts(field) for field in fields}
    values = {field: [normalized(text) for text in texts] for field, texts in shown.items()}
    return Records(ids, values, shown)


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
        columns = None if records is None else [list(map(id_text, records.ids)), records.values]
        digest.update(json.dumps(columns).encode())
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
        name: given.get(name) or _kind([*left.values[name], *right.values[name]])
        for name in left.values
    }


def _kind(values: list[str]) -> str:
    present = [value for value in values if value]
    if not present:
        return "string"
    if sum(number(value) is not None for value in present) > _SHARE_OF_NUMBERS * len(present):
        return "number"
    n_words = sum(len(value.split()) for value in present)
    return "text" if n_words > _WORDS_OF_A_TEXT * len(present) else "string"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_LISTED]) + (" ..." if len(names) > _LISTED else "") or "none"
