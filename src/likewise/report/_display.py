"""How rows are displayed: images, and texts or the most informative columns beside them."""

from collections.abc import Callable, Sequence
from datetime import date, time
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import Rows, sample_rows
from likewise.report._charts import gray_image, number
from likewise.report._findings import MAX_QUERIES
from likewise.report._text import shorten
from likewise.tables import Columns, as_frame

_MAX_FEATURES = 3  # of rows that are plain numbers
_MAX_FIELDS = 6  # columns of a table
_MAX_CELL = 120  # characters
_MISSING = "–"
_LINE_KINDS = ("numeric", "categorical", "date", "text")
_STYLES = {"numeric": "number", "text": "text"}  # of cells, by the kind of the column


class Field(NamedTuple):
    """One part of the display of a row; `style` is a class of the style sheet."""

    name: str
    style: str
    cell: Callable[[int], str]


class RowDisplay:
    """How rows are displayed.

    Parameters
    ----------
    images : array of shape (n, height, width) or None
    fields : sequence of Field
        Displayed beside the image.
    """

    def __init__(self, images: Any, fields: Sequence[Field]) -> None:
        self._images, self.fields = images, list(fields)
        self.is_text = images is None and [field.name for field in self.fields] == ["text"]
        self.heads = [(field.name, field.style) for field in self.fields]
        if images is not None:
            sample = images[sample_rows(len(images), MAX_QUERIES)]
            self._range = float(sample.min()), float(sample.max())

    @property
    def has_images(self) -> bool:
        """Whether rows are images, or have one."""
        return self._images is not None

    def cells(self, row: int) -> list[tuple[str, str]]:
        """Return a text and its style for each of the fields."""
        return [(field.cell(row), field.style) for field in self.fields]

    def image(self, row: int) -> str | None:
        """Return the address of the image of a row."""
        if self._images is None:
            return None
        return gray_image(np.asarray(self._images[row], dtype=np.float64), *self._range)


def display_of_rows(
    X: Rows, values: Any, name: Callable[[int], str], weights: np.ndarray | None
) -> RowDisplay:
    """Display rows as given texts or images, or else by their strongest features.

    Parameters
    ----------
    X : rows
    values : list of str, array of shape (n, height, width), or None
    name : function from the number of a feature to its name
    weights : of the features; None where rows are objects
    """
    if values is not None and np.ndim(values) == 3:
        return RowDisplay(values, [])
    if values is not None:
        return RowDisplay(None, [Field("text", "text", lambda row: shorten(values[row], 280))])
    order = np.argsort(-np.abs([] if weights is None else weights), kind="stable")
    return RowDisplay(
        None,
        [
            Field(name(int(j)), "number", lambda row, j=j: number(float(X[row, j])))  # type: ignore[misc]
            for j in order[:_MAX_FEATURES]
        ],
    )


def display_of_table(encoding: Columns, rows: Any, weights: np.ndarray) -> RowDisplay:
    """Display the image of each row, and its most informative columns of every kind.

    Parameters
    ----------
    encoding : Columns
        That made the features.
    rows : frame
    weights : of the features
    """
    names = telling_columns(encoding, weights)
    images = encoding.images(rows)
    frame = as_frame(rows)
    if images is None and len(encoding.columns_) == 1 and names and names[0][1] == "text":
        texts = frame.texts(names[0][0])
        return RowDisplay(None, [Field("text", "text", lambda row: shorten(texts[row] or "", 280))])
    return RowDisplay(
        images,
        [Field(name, _STYLES.get(kind, "word"), _cells(frame, name)) for name, kind in names],
    )


def telling_columns(encoding: Columns, weights: np.ndarray) -> list[tuple[str, str]]:
    """Return the columns with the largest weights and their kinds, strongest first.

    The strongest column of each kind is among them.
    """
    totals: dict[tuple[str, str], float] = {}
    for source, weight in zip(encoding.sources(), weights, strict=True):
        if source[1] in _LINE_KINDS:
            totals[source] = totals.get(source, 0.0) + float(abs(weight))
    ranked = sorted(totals, key=lambda source: -totals[source])
    best = {kind: (name, kind) for name, kind in reversed(ranked)}.values()
    chosen = list(dict.fromkeys([*best, *ranked]))[:_MAX_FIELDS]
    return [source for source in ranked if source in chosen]


def _cells(frame: Any, name: str) -> Callable[[int], str]:
    values = frame.values(name)
    return lambda row: _cell(values[row])


def _cell(value: Any) -> str:
    if value is None:
        return _MISSING
    if isinstance(value, bool | str | date | time):
        return shorten(value, _MAX_CELL).removesuffix(" 00:00:00")
    return number(float(value))
