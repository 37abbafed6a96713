"""One interface to the columns of frames and arrays."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date, time
from typing import Any, Literal

import numpy as np

from likewise.exceptions import require_extra

ValueKind = Literal["numbers", "texts", "dates", "vectors", "images", "others"]


class Frame(ABC):
    """Named columns, all of one length."""

    names: list[str]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def kind(self, name: str) -> ValueKind:
        """Return the kind of values in a column."""

    @abstractmethod
    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Return columns as float64, a missing cell as NaN."""

    @abstractmethod
    def values(self, name: str) -> list[Any]:
        """Return a column as plain Python values, a missing cell as None."""

    def texts(self, name: str) -> list[str | None]:
        """Return a column as text, a missing cell as None."""
        return [None if value is None else _text(value) for value in self.values(name)]


def as_frame(rows: Any) -> Frame:
    """Wrap a frame of any library that narwhals supports, or an array of rows."""
    return NarwhalsFrame(rows) if is_frame(rows) else ArrayFrame(rows)


def is_frame(rows: Any) -> bool:
    """Tell whether rows are a frame, of any library."""
    return hasattr(rows, "columns") or hasattr(rows, "column_names")


def is_image_file(text: str) -> bool:
    """Tell whether a text is the name of an image file."""
    return text.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff"))


class CompletedFrame(Frame):
    """A frame with additional columns in which every cell is missing."""

    def __init__(self, frame: Frame, names: Sequence[str]) -> None:
        self._frame = frame
        self._given = set(frame.names)
        self.names = [*frame.names, *(name for name in names if name not in self._given)]

    def __len__(self) -> int:
        return len(self._frame)

    def kind(self, name: str) -> ValueKind:
        return self._frame.kind(name) if name in self._given else "numbers"

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        columns = np.full((len(self), len(names)), np.nan)
        given = [place for place, name in enumerate(names) if name in self._given]
        columns[:, given] = self._frame.numbers([names[place] for place in given])
        return columns

    def values(self, name: str) -> list[Any]:
        return self._frame.values(name) if name in self._given else [None] * len(self)


class ArrayFrame(Frame):
    """A 2-D array of numbers, its columns named x0, x1 and so on."""

    def __init__(self, rows: Any) -> None:
        self._array = np.asarray(rows, dtype=np.float64)
        self.names = [f"x{column}" for column in range(self._array.shape[1])]

    def __len__(self) -> int:
        return len(self._array)

    def kind(self, name: str) -> ValueKind:
        return "numbers"

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        if list(names) == self.names:
            return self._array
        return self._array[:, [self.names.index(name) for name in names]]

    def values(self, name: str) -> list[Any]:
        column = self._array[:, self.names.index(name)].tolist()
        return [None if value != value else value for value in column]


class NarwhalsFrame(Frame):
    """A frame of pandas, polars, pyarrow or any other library that narwhals supports."""

    def __init__(self, frame: Any) -> None:
        self._nw = require_extra("narwhals", "cli", "reading a frame")
        try:
            self._frame = self._nw.from_native(frame, eager_only=True)
        except TypeError as error:
            raise TypeError(
                f"X must be a frame or an array, but {type(frame).__name__} was given."
            ) from error
        self.names = [str(name) for name in self._frame.columns]
        if len(set(self.names)) < len(self.names):
            repeated = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"there are two columns named {repeated!r}; names must differ.")

    def __len__(self) -> int:
        return len(self._frame)

    def kind(self, name: str) -> ValueKind:
        nw, dtype = self._nw, self._frame[name].dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return "numbers"
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "texts"
        if dtype in (nw.Date, nw.Datetime, nw.Time):
            return "dates"
        if dtype in (nw.List, nw.Array):
            return "vectors"
        if dtype in (nw.Binary, nw.Struct):
            return "images"
        if dtype == nw.Object:
            return _kind_of_objects(self.values(name))
        return "others"

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        columns = np.empty((len(self), len(names)))
        for position, name in enumerate(names):
            if self.kind(name) != "numbers":
                columns[:, position] = _as_numbers(self.values(name), name)
                continue
            columns[:, position] = self._frame[name].cast(self._nw.Float64).to_numpy()
        return columns

    def values(self, name: str) -> list[Any]:
        column = self._frame[name].to_list()
        return [None if value is None or value != value else value for value in column]


def _as_numbers(values: list[Any], name: str) -> list[float]:
    """Convert values to numbers; the error names the first cell that is none."""
    numbers = []
    for row, value in enumerate(values):
        try:
            numbers.append(np.nan if value is None else float(value))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {name!r} must hold numbers, but row {row} holds {str(value)[:40]!r}."
            ) from error
    return numbers


def _kind_of_objects(values: list[Any]) -> ValueKind:
    first = next((value for value in values if value is not None), None)
    if any(isinstance(value, str) for value in values):
        return "texts"
    if isinstance(first, date | time):
        return "dates"
    if isinstance(first, bytes | dict):
        return "images"
    if isinstance(first, list | tuple | np.ndarray):
        return "vectors"
    return "numbers" if isinstance(first, int | float) else "others"


def _text(value: Any) -> str:
    """Return a value as text, a whole number without a decimal point."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
