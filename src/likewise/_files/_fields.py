"""Declarations of fitted attributes, by which a file is checked before anything uses it.

A class that a file can name declares its fitted attributes beside its methods::

    _file_fields: ClassVar[fields.Declaration] = {
        "classes_": Labels("classes"),
        "firsts_": Array(INTEGERS, "trees", "nodes", minimum=0, below="prototypes"),
    }

Equal names of sizes must have equal values in all attributes. Attributes are checked in the order
of the declaration, so that a size or a similarity is declared before an attribute that needs it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from likewise._validation import check_rows, n_rows

FLOATS = ("float64", "float32")
INTEGERS = ("int64",)
BOOLEANS = ("bool",)


class Sizes:
    """The sizes found so far in a model, by name.

    Attributes
    ----------
    model : the model, with its parameters
    values : dict of str to any
        The fitted attributes of the file.
    """

    def __init__(self, model: Any, values: Mapping[str, Any]) -> None:
        self.model, self.values = model, values
        self._known: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        if name not in self._known:
            raise ValueError(f"its number of {name} is unknown.")
        return self._known[name]

    def bind(self, size: "Size", n: int, what: str) -> None:
        """Refuse a size that differs from an earlier one of the same name."""
        if isinstance(size, str):
            known = self._known.setdefault(size, n)
        else:
            known = size if isinstance(size, int) else size(self)
        if n != known:
            raise ValueError(f"{what} has a length of {n}, but {known} is needed.")

    def copy(self) -> "Sizes":
        """Return a copy, for an attempt that may fail."""
        copied = Sizes(self.model, self.values)
        copied.update(self)
        return copied

    def update(self, other: "Sizes") -> None:
        """Take over the sizes of a copy."""
        self._known = dict(other._known)


Size = str | int | Callable[[Sizes], int]


def _described(value: Any) -> str:
    """Return what was given instead of an array, or of an array of another kind."""
    if isinstance(value, np.ndarray):
        return f"a {value.ndim}-D array of {value.dtype}"
    return f"a {type(value).__name__}"


class Field(ABC):
    """The kind of value that an attribute must have."""

    @abstractmethod
    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """Raise ValueError or TypeError for another value."""


Declaration = dict[str, Field]


@dataclass(frozen=True)
class Optional(Field):
    """A value that may be missing, also from files of earlier editions."""

    field: Field

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        self.field.check(value, name, sizes)


@dataclass(frozen=True)
class OrNone(Field):
    """A value, or None."""

    field: Field

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if value is not None:
            self.field.check(value, name, sizes)


class Record(Field):
    """Anything: what is shown and not computed with."""

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        """Accept any value."""


class Array(Field):
    """An array.

    Parameters
    ----------
    dtypes : names of the dtypes that it may have
    *shape : str, int or callable
        The name of a size, a number, or a function of the sizes found so far.
    minimum, maximum : float, optional
    below : str, optional
        The name of a size that all values must be below.
    finite : bool, default=True
    """

    def __init__(
        self,
        dtypes: tuple[str, ...],
        *shape: Size,
        minimum: float | None = None,
        maximum: float | None = None,
        below: str | None = None,
        finite: bool = True,
    ) -> None:
        self.dtypes, self.shape = dtypes, shape
        self.minimum, self.maximum = minimum, maximum
        self.below, self.finite = below, finite

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.name not in self.dtypes:
            kinds = " or ".join(self.dtypes)
            raise TypeError(f"{name} must be an array of {kinds}, not {_described(value)}.")
        if value.ndim != len(self.shape):
            raise ValueError(
                f"{name} has {value.ndim} dimensions, but {len(self.shape)} are needed."
            )
        for size, n in zip(self.shape, value.shape, strict=True):
            sizes.bind(size, n, name)
        if value.size == 0:
            return
        if value.dtype.kind == "f" and self.finite and not np.isfinite(value).all():
            raise ValueError(f"{name} holds NaN or infinity; it must be finite.")
        if self.minimum is not None and value.min() < self.minimum:
            raise ValueError(f"{name} holds {value.min()}, but must be at least {self.minimum}.")
        if self.maximum is not None and value.max() > self.maximum:
            raise ValueError(f"{name} holds {value.max()}, but must be at most {self.maximum}.")
        if self.below is not None and value.max() >= sizes[self.below]:
            raise ValueError(
                f"{name} holds {value.max()}, but there are {sizes[self.below]} {self.below}."
            )


@dataclass(frozen=True)
class Labels(Field):
    """A 1-D array of classes in ascending order: numbers, booleans or texts."""

    size: Size
    minimum: int = 2

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufUO" or value.ndim != 1:
            raise TypeError(f"{name} must be a 1-D array of classes, not {_described(value)}.")
        if len(value) < self.minimum or any(not a < b for a, b in pairwise(value.tolist())):
            raise ValueError(
                f"{name} must hold {self.minimum} or more classes in order, but holds "
                f"{', '.join(map(repr, value[:5].tolist())) or 'none'}."
            )
        sizes.bind(self.size, len(value), name)


@dataclass(frozen=True)
class Number(Field):
    """A number.

    Attributes
    ----------
    minimum : float or None
    whole : bool
    size : Size or None
        The size that it states.
    maximum : float, str or None
        A number, or the name of a size, that it must not exceed.
    finite : bool
    """

    minimum: float | None = 0
    whole: bool = True
    size: Size | None = None
    maximum: float | str | None = None
    finite: bool = True

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        kinds = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TypeError(f"{name} must be a{' whole' * self.whole} number, not {value!r:.40}.")
        if np.isnan(float(value)) or (self.finite and np.isinf(float(value))):
            raise ValueError(f"{name} is {value}, but must be finite.")
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"{name} is {value}, but must be at least {self.minimum}.")
        if isinstance(self.maximum, str) and value > sizes[self.maximum]:
            raise ValueError(
                f"{name} is {value}, but there are {sizes[self.maximum]} {self.maximum}."
            )
        if isinstance(self.maximum, int | float) and value > self.maximum:
            raise ValueError(f"{name} is {value}, but must be at most {self.maximum}.")
        if self.size is not None:
            sizes.bind(self.size, int(value), name)


class Choice(Field):
    """One of a few values."""

    def __init__(self, *choices: Any) -> None:
        self.choices = choices

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not any(type(value) is type(choice) and value == choice for choice in self.choices):
            choices = ", ".join(map(repr, self.choices))
            raise ValueError(f"{name} must be one of {choices}, not {value!r:.40}.")


class Instance(Field):
    """An object of some classes.

    Parameters
    ----------
    kinds : class or tuple of classes
    **attributes : Size or tuple of Size
        Attributes that state a size, where they are not None, or arrays of a shape.
    """

    def __init__(
        self, kinds: type | tuple[type, ...], **attributes: Size | tuple[Size, ...]
    ) -> None:
        self.kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        self.attributes = attributes

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, self.kinds):
            names = " or ".join(kind.__name__ for kind in self.kinds)
            raise TypeError(f"{name} must be a {names}, not a {type(value).__name__}.")
        for attribute, size in self.attributes.items():
            found, what = getattr(value, attribute), f"{attribute} of {name}"
            if isinstance(size, tuple):
                Array(FLOATS, *size).check(found, what, sizes)
            elif found is not None:
                sizes.bind(size, found, what)


@dataclass(frozen=True)
class ListOf(Field):
    """A list or a tuple of values of one kind, which may have new sizes of their own."""

    field: Field
    size: Size | None = None

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, list | tuple):
            raise TypeError(f"{name} must be a list, not a {type(value).__name__}.")
        if self.size is not None:
            sizes.bind(self.size, len(value), name)
        for number, each in enumerate(value):
            self.field.check(each, f"{name}[{number}]", sizes.copy())


class Text(Field):
    """A string."""

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be text, not a {type(value).__name__}.")


class Parts(Field):
    """A dict with certain keys."""

    def __init__(self, **fields: Field) -> None:
        self.fields = fields

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"{name} must be an object, not a {type(value).__name__}.")
        check_fields(value, self.fields, sizes, f"{name}.")


@dataclass(frozen=True)
class DictOf(Field):
    """A dict of texts to values of one kind, which may have new sizes of their own.

    Attributes
    ----------
    field : Field
    minimum : int
        Number of entries.
    keys : callable or None
        The keys that it must have, in their order, as a function of the sizes found so far.
    """

    field: Field
    minimum: int = 0
    keys: Callable[[Sizes], list[str]] | None = None

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"{name} must be an object, not a {type(value).__name__}.")
        if len(value) < self.minimum:
            raise ValueError(f"{name} has {len(value)} entries, but needs {self.minimum} or more.")
        keys = list(value) if self.keys is None else self.keys(sizes)
        if list(value) != keys:
            raise ValueError(
                f"{name} must have {', '.join(keys)}, but has {', '.join(value) or 'none'}."
            )
        for key, each in value.items():
            self.field.check(each, f"{name}.{key}", sizes.copy())


class Either(Field):
    """A value of one of several kinds."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        refusals = []
        for field in self.fields:
            attempt = sizes.copy()
            try:
                field.check(value, name, attempt)
            except (TypeError, ValueError) as error:
                refusals.append(error)
            else:
                sizes.update(attempt)
                return
        raise refusals[0]


@dataclass(frozen=True)
class Items(Field):
    """Rows or objects that a similarity compares with queries.

    Attributes
    ----------
    similarity : str
        The attribute that holds the similarity.
    size : str
        Name of the number of items.
    several : str or None
        The attribute that holds a list of similarities, used if the other one is None.
    """

    similarity: str
    size: str
    several: str | None = None

    def check(self, value: Any, name: str, sizes: Sizes) -> None:
        similarity = sizes.values.get(self.similarity)
        others = sizes.values.get(self.several) if self.several is not None else None
        similarities = others if similarity is None else [similarity]
        if not similarities:
            raise ValueError(f"{name} needs a similarity, but {self.similarity} has none.")
        for each in similarities:
            each.check_items(value, name)
        takes = similarities[0].takes
        if takes == "matrix":
            Array(INTEGERS, self.size, minimum=0, below="features").check(value, name, sizes)
            return
        sizes.bind(self.size, n_rows(value), name)
        if takes == "rows":
            check_rows(value, name)
            sizes.bind("features", value.shape[1], name)
            for each in similarities:
                each.check_queries(value[:1], name)


_OF_EVERY_ESTIMATOR: Declaration = {
    "n_features_in_": Optional(Number(minimum=1, size="features")),
    "feature_names_in_": Optional(Array(("object",), "features")),
}


def fields_of(kind: type) -> Declaration:
    """Return the declared fitted attributes of a class; none for a class without any."""
    declared = getattr(kind, "_file_fields", None)
    return {} if declared is None else _OF_EVERY_ESTIMATOR | dict(declared)


def check_fitted(model: Any, fitted: Mapping[str, Any]) -> None:
    """Refuse fitted attributes that are not as the class declares them; none is an unfitted model.

    Parameters
    ----------
    model : the model with its parameters, before its fitted attributes are set
    fitted : mapping of names to values
    """
    if fitted:
        check_fields(fitted, fields_of(type(model)), Sizes(model, fitted), "")


def check_fields(
    values: Mapping[str, Any], fields: Mapping[str, Field], sizes: Sizes, prefix: str
) -> None:
    """Refuse values that are missing, unknown, or of another kind than declared."""
    for name in values:
        if name not in fields:
            raise ValueError(f"it sets {prefix + name[:40]!r}, which is not for a file to set.")
    for name, field in fields.items():
        if name in values:
            field.check(values[name], prefix + name, sizes)
        elif not isinstance(field, Optional):
            raise ValueError(f"it lacks {prefix + name}.")
