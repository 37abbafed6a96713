"""Conditions of a search: fields with given values, given ids, or SQL."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from likewise._validation import unknown_name
from likewise.index._checks import is_id, plain_id

Values: TypeAlias = str | int | float | bool | None
Where: TypeAlias = "Mapping[str, Values | list[Values]] | Iterable[str | int] | SQL | None"


@dataclass(frozen=True)
class SQL:
    """A condition in SQL, for the engine 'pgvector' only.

    The condition may name the columns ``id`` and ``fields`` (jsonb). Pass values as parameters,
    never in the text.

    Examples
    --------
    >>> from likewise.index import SQL
    >>> SQL("(fields->>'price')::float < %s", (20.0,))
    SQL(condition="(fields->>'price')::float < %s", parameters=(20.0,))
    """

    condition: str
    parameters: tuple[Any, ...] = ()


def check_where(where: Any) -> Any:
    """Return a condition with plain values."""
    if where is None or isinstance(where, SQL):
        return where
    if isinstance(where, Mapping):
        return {name: _accepted(name, values) for name, values in where.items()}
    if isinstance(where, str | bytes) or not isinstance(where, Iterable):
        raise TypeError(
            "where must be a mapping of fields to values, or the ids to search among, "
            f"but {where!r} was given."
        )
    listed = where.tolist() if isinstance(where, np.ndarray) else list(where)
    if not all(map(is_id, listed)):
        wrong = next(identifier for identifier in listed if not is_id(identifier))
        raise TypeError(f"where must name ids (text or whole numbers), but {wrong!r} was given.")
    return [plain_id(identifier) for identifier in listed]


def _accepted(name: Any, given: Any) -> list[Values]:
    values = [
        value.item() if isinstance(value, np.generic) else value
        for value in (given if isinstance(given, list) else [given])
    ]
    if not isinstance(name, str) or not all(isinstance(value, Values) for value in values):
        raise TypeError(
            f"where[{name!r}] must be a value or a list of values (text, numbers, booleans), "
            f"but {given!r} was given."
        )
    return values


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
        if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
            raise TypeError(f"fields[{name!r}] must be a list, but {given!r} was given.")
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
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"fields[{name!r}] must be finite, but {value!r} was given.")
        checked[name] = values
    return checked


def unknown_field(name: str, known: Iterable[str]) -> ValueError:
    """Return the error for a field that no item has."""
    return unknown_name(name, "a field in where", sorted(known))
