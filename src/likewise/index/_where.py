"""Which items a search may find: conditions on their fields, or a choice of ids."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from likewise._validation import unknown_name
from likewise.index._growing import GrowingRows

Values: TypeAlias = str | int | float | bool | None
Where: TypeAlias = "Mapping[str, Values | list[Values]] | Iterable[str | int] | SQL | None"


@dataclass(frozen=True)
class SQL:
    """A condition in the database's own words, for the engine 'pgvector' alone.

    The condition may name the columns ``id`` and ``fields`` (jsonb); values belong in the
    parameters, never in the text.

    Examples
    --------
    >>> from likewise.index import SQL
    >>> SQL("(fields->>'price')::float < %s", (20.0,))
    SQL(condition="(fields->>'price')::float < %s", parameters=(20.0,))
    """

    condition: str
    parameters: tuple[Any, ...] = ()


def check_where(where: Any) -> Any:
    """Refuse what is no filter, before any work."""
    if where is None or isinstance(where, SQL):
        return where
    if isinstance(where, Mapping):
        for name, wanted in where.items():
            for value in wanted if isinstance(wanted, list) else [wanted]:
                if not isinstance(name, str) or not isinstance(value, Values):
                    raise TypeError(
                        f"where[{name!r}] must be a value or a list of values (text, numbers, "
                        f"booleans), but {wanted!r} was given."
                    )
        return where
    if isinstance(where, str | bytes) or not isinstance(where, Iterable):
        raise TypeError(
            "where must be a mapping of fields to values, or the ids to search among, "
            f"but {where!r} was given."
        )
    return list(where.tolist() if isinstance(where, np.ndarray) else where)


def check_fields(fields: Any, n_items: int) -> dict[str, list[Values]]:
    """Return fields as lists of plain values, one for each item."""
    if fields is None:
        return {}
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields must be a mapping of names to values, but {fields!r} was given.")
    checked = {}
    for name, given in fields.items():
        if not isinstance(name, str):
            raise TypeError(f"fields must have names of text, but {name!r} was given.")
        values = given.tolist() if hasattr(given, "tolist") else list(given)
        if len(values) != n_items:
            raise ValueError(
                f"fields[{name!r}] has {len(values)} values, but {n_items} items were given."
            )
        for value in values:
            if not isinstance(value, Values):
                raise TypeError(
                    f"fields[{name!r}] must be text, numbers or booleans, but {value!r} was given."
                )
        checked[name] = values
    return checked


class Fields:
    """The values of each field, slot by slot; None where an item has no such field."""

    def __init__(self) -> None:
        self._columns: dict[str, GrowingRows] = {}

    def put(self, start: int, n_items: int, fields: Mapping[str, list[Values]]) -> None:
        """Set the fields of the slots from `start` on."""
        columns = dict(self._columns)
        for name in {*columns, *fields}:
            column = columns.get(name)
            if column is None or len(column) > start:
                kept = [] if column is None else column.all()[:start]
                column = columns[name] = GrowingRows(as_objects(kept))
            if len(column) < start:
                column.append(as_objects([None] * (start - len(column))))
            column.append(as_objects(fields.get(name, [None] * n_items)))
        self._columns = columns

    def mask(self, where: Mapping[str, Any], n_slots: int) -> np.ndarray:
        """Return which slots satisfy all conditions."""
        columns = self._columns
        chosen = np.ones(n_slots, bool)
        for name, wanted in where.items():
            if name not in columns:
                raise unknown_name(name, "a field in where", sorted(columns))
            values = columns[name].all()[:n_slots]
            hit = np.zeros(n_slots, bool)
            for value in wanted if isinstance(wanted, list) else [wanted]:
                hit[: len(values)] |= values == value
            chosen &= hit
        return chosen

    def of(self, slots: np.ndarray) -> dict[str, list[Values]]:
        """Return the fields of some slots."""
        return {name: column.take(slots).tolist() for name, column in self._columns.items()}


def as_objects(values: Any) -> np.ndarray:
    """Return a 1-D array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
