"""The numbers of the charts: positions, ticks and images that ``templates/charts.svg`` draws."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias
from unicodedata import east_asian_width

import numpy as np

from likewise.report._text import shorten

Chart: TypeAlias = dict[str, Any]  # the arguments of a macro
_LETTER_WIDTH = 7.6  # maximum, in the units of the charts
_WIDE_LETTER_WIDTH = 12.5  # of Chinese, Japanese and Korean
_GAP = 10  # between labels
CLASSES, RANGES = "k", "q"  # palettes of the style sheet
_INTERVAL_WIDTH = 400


class Line(NamedTuple):
    """One line of a plot; `style` is a class of the style sheet."""

    label: str
    x: np.ndarray
    y: np.ndarray
    style: str


def line_plot(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    title: str,
    points: Sequence[tuple[float, float]] = (),
) -> Chart:
    """Return lines in one frame, and points within it; `title` is for screen readers."""
    width, height, top, bottom = 400, 250, 10, 208
    drawn = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    beside = [drawn[:, :1], drawn[:, 1:]] if len(drawn) else [np.empty((0, 1))] * 2
    x_low, x_high = padded_range([*(line.x for line in lines), *beside[0]], pad=0)
    y_low, y_high = padded_range([*(line.y for line in lines), *beside[1]])
    y_ticks = ticks(y_low, y_high)
    left = 25 + max([text_width(short_number(tick)) for tick in y_ticks], default=0)
    x_ticks = fitting_ticks(x_low, x_high, 378 - left)
    right = 398 - max([text_width(short_number(tick)) / 2 for tick in x_ticks[-1:]], default=20)

    def across(x: float) -> float:
        return left + (x - x_low) / (x_high - x_low) * (right - left)

    def down(y: float) -> float:
        return bottom - (y - y_low) / (y_high - y_low) * (bottom - top)

    return {
        "title": title,
        "x_label": x_label,
        "y_label": y_label,
        "width": width,
        "height": height,
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "x_ticks": [(across(tick), short_number(tick)) for tick in x_ticks],
        "y_ticks": [(down(tick), short_number(tick), tick == 0) for tick in y_ticks],
        "points": [(across(x), down(y)) for x, y in points],
        "lines": [
            {
                "label": line.label,
                "style": line.style,
                "points": [(across(x), down(y)) for x, y in zip(*_thin(line.x, line.y))],  # noqa: B905
            }
            for line in lines
        ],
    }


def scatter_plot(
    points: np.ndarray,
    kinds: np.ndarray,
    titles: Sequence[str],
    title: str,
    palette: str = CLASSES,
) -> Chart:
    """Return rows as marks; the number of a kind gives its color and shape.

    `palette` is `CLASSES`, or `RANGES` of numbers, whose colors are in order.
    """
    side, edge = 360, 14
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (side - 2 * edge) / max(float((high - low).max()), 1e-12)
    # Both axes have one scale, or distances on the map would not be distances.
    places = side / 2 + (points - (low + high) / 2) * scale * (1, -1)
    marks = [
        (x, y, int(kind), name) for (x, y), kind, name in zip(places, kinds, titles, strict=True)
    ]
    marks.sort(key=lambda mark: mark[2] >= 0)  # the others lie below
    return {"side": side, "title": title, "marks": marks, "palette": palette}


class Scale(NamedTuple):
    """The common axis of the intervals of a table."""

    low: float
    high: float

    def across(self, value: float) -> float:
        """Return the position of a value."""
        return 10 + (value - self.low) / (self.high - self.low) * (_INTERVAL_WIDTH - 20)

    def axis(self, label: Callable[[float], str]) -> list[tuple[float, str]]:
        """Return the ticks above the intervals; their labels stay within the chart."""
        marks = fitting_ticks(*self, _INTERVAL_WIDTH - 20, label, about=4)
        places = []
        for tick in marks:
            half = text_width(label(tick)) / 2
            place = min(max(self.across(tick), half), _INTERVAL_WIDTH - half)
            places.append((place, label(tick)))
        return places


def interval(
    mean: float,
    deviation: float,
    scale: Scale,
    style: str,
    *,
    splits: Sequence[float] = (),
    start: float | None = None,
) -> Chart:
    """Return a mean with its deviation, and single splits or the start of a change beside it."""
    figures = f"{number(mean)} ± {number(deviation)}"
    return {
        "title": figures if start is None else f"start {number(start)}, learned {figures}",
        "style": style,
        "grid": [scale.across(tick) for tick in ticks(*scale, about=4)],
        "splits": [scale.across(score) for score in splits],
        "start": None if start is None else scale.across(start),
        "mean": scale.across(mean),
        "ends": [scale.across(mean - deviation), scale.across(mean + deviation)]
        if deviation
        else [],
    }


def heat_map(matrix: np.ndarray, row_names: Any, column_names: Any, title: str) -> Chart:
    """Return a matrix: one hue for positive, one for negative, nothing for zero.

    Names are None where there is no space for them.
    """
    n_rows, n_columns = matrix.shape
    rows = [] if row_names is None else [shorten(name, 18) for name in row_names]
    columns = [] if column_names is None else [shorten(name, 18) for name in column_names]
    longest = [max(map(text_width, names), default=0) for names in (rows, columns)]
    left, top = longest[0] + 8, 0.87 * longest[1] + 10  # column names are rotated by 60 degrees
    lean = longest[1] / 2
    # As wide as the other charts, but no cell so small that names overlap.
    cell = min(56, max((400 - left - lean) / n_columns, 18 if rows else 0))
    return {
        "title": title,
        "left": left,
        "top": top,
        "inner_width": cell * n_columns,
        "inner_height": cell * n_rows,
        "width": left + cell * n_columns + lean,
        "height": top + cell * n_rows + 1,
        "image": png_address(_diverging(matrix)),
        "rows": [(top + (i + 0.5) * cell, name) for i, name in enumerate(rows)],
        "columns": [(left + (j + 0.6) * cell, name) for j, name in enumerate(columns)],
    }


def _diverging(matrix: np.ndarray) -> np.ndarray:
    """Return RGBA whose opacity is the size, so that zero is the color of the page."""
    largest = np.abs(matrix).max() or 1.0
    pixels = np.empty((*matrix.shape, 4), np.uint8)
    pixels[..., :3] = np.where(matrix[..., None] < 0, (214, 96, 38), (38, 122, 196))
    pixels[..., 3] = np.round(255 * np.sqrt(np.abs(matrix) / largest))
    return pixels


def gray_image(image: np.ndarray, low: float, high: float) -> str:
    """Return the address of a gray image; `low` is black and `high` is white."""
    gray = np.clip((image - low) / max(high - low, 1e-12), 0, 1)
    return png_address(np.round(255 * gray).astype(np.uint8))


def png_address(pixels: np.ndarray) -> str:
    """Return a PNG as a data address, from bytes that are gray (h, w) or RGBA (h, w, 4)."""
    height, width = pixels.shape[:2]
    color_type = 0 if pixels.ndim == 2 else 6
    rows = pixels.reshape(height, -1)
    unfiltered = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(unfiltered, 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return "data:image/png;base64," + b64encode(data).decode()


def padded_range(parts: Sequence[np.ndarray], pad: float = 0.04) -> tuple[float, float]:
    """Return the minimum and the maximum of all values, widened by a share of their range."""
    low = min(float(np.min(part)) for part in parts)
    high = max(float(np.max(part)) for part in parts)
    gap = pad * (high - low)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        gap = 0.5 * abs(high) or 1.0
    return low - gap, high + gap


def ticks(low: float, high: float, about: int = 5) -> np.ndarray:
    """Return evenly spaced round numbers between two; zero is never negative."""
    rough = (high - low) / about
    step = 10 ** np.floor(np.log10(rough))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= rough * (1 - 1e-9))
    return np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0


def fitting_ticks(
    low: float,
    high: float,
    length: float,
    label: Callable[[float], str] | None = None,
    about: int = 5,
) -> np.ndarray:
    """Return as many round numbers, at most `about`, as have labels that do not overlap."""
    label = short_number if label is None else label
    for number_of_ticks in range(about, 0, -1):
        found = ticks(low, high, number_of_ticks)
        gaps = np.diff(found) / (high - low) * length
        widths = np.array([text_width(label(tick)) for tick in found])
        if (gaps >= (widths[1:] + widths[:-1]) / 2 + _GAP).all():
            return found
    return found[:1]


def text_width(text: str) -> float:
    """Return the width of a text, in the units of the charts, at most."""
    wide = sum(east_asian_width(letter) in "WF" for letter in text)
    return wide * _WIDE_LETTER_WIDTH + (len(text) - wide) * _LETTER_WIDTH


def _thin(x: np.ndarray, y: np.ndarray, max_points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `max_points` points of a line, including its ends."""
    if len(x) <= max_points:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, max_points).round().astype(int))
    return x[kept], y[kept]


def number(value: float) -> str:
    """Return a number with three digits and a true minus sign."""
    return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}"


def short_number(value: float) -> str:
    """Return a number for an axis: thousands as k, millions as M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.4g}{letter}".replace("-", "−")
    return number(value)


def percent(value: float) -> str:
    """Return a share in percent."""
    return f"{number(100 * value)} %"
