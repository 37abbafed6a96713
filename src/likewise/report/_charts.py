"""Plots as inline SVG. Colours are classes of the style sheet, so they follow light and dark."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.report._html import Html, join, shortened, tag

_N_COLOURS = 10  # k0, k1, ... of the style sheet
_LETTER = 7.6  # width of a letter at most, in the units of the plots
_MARKS = ("circle", "square", "triangle")


class Line(NamedTuple):
    """One line of a plot; `style` is a class of the style sheet."""

    label: str
    x: np.ndarray
    y: np.ndarray
    style: str


def line_plot(lines: Sequence[Line], x_label: str, y_label: str, title: str) -> Html:
    """Draw lines in one frame; `title` is for those who cannot see the plot."""
    width, height, left, right, top, bottom = 400, 250, 54, 22, 10, 42
    x_low, x_high = reach([line.x for line in lines], pad=0)
    y_low, y_high = reach([line.y for line in lines])

    def across(x: float) -> float:
        return left + (x - x_low) / (x_high - x_low) * (width - left - right)

    def down(y: float) -> float:
        return height - bottom - (y - y_low) / (y_high - y_low) * (height - top - bottom)

    parts = []
    for tick in ticks(y_low, y_high):
        y = f"{down(tick):.1f}"
        style = "zero" if tick == 0 else "grid"
        parts.append(tag("line", x1=left, x2=width - right, y1=y, y2=y, class_=style))
        parts.append(tag("text", number(tick), x=left - 7, y=y, dy="0.35em", class_="end"))
    for tick in ticks(x_low, x_high):
        x, below = f"{across(tick):.1f}", height - bottom + 17
        parts.append(tag("text", number(tick), x=x, y=below, class_="middle"))
    x = f"{(left + width - right) / 2:.1f}"
    parts.append(tag("text", x_label, x=x, y=height - 5, class_="axis middle"))
    turned = f"translate(12 {(top + height - bottom) / 2:.1f}) rotate(-90)"
    parts.append(tag("text", y_label, transform=turned, class_="axis middle"))
    for line in lines:
        shown = zip(*thinned(line.x, line.y), strict=True)
        points = " ".join(f"{across(a):.1f},{down(b):.1f}" for a, b in shown)
        parts.append(tag("polyline", points=points, class_=f"line {line.style}"))
    plot = _svg(parts, width, height, title, class_="plot")
    if len(lines) == 1:
        return plot
    named = [tag("li", tag("span", class_=f"swatch {line.style}"), line.label) for line in lines]
    return join([tag("ul", *named, class_="legend"), plot])


def scatter_plot(places: np.ndarray, kinds: np.ndarray, titles: Sequence[str], title: str) -> Html:
    """Draw rows as marks whose colour and shape tell their kind, a number each."""
    side, edge = 360, 14
    low, high = places.min(axis=0), places.max(axis=0)
    scale = (side - 2 * edge) / max(float((high - low).max()), 1e-12)
    # Both axes have one scale, or distances on the map would not be distances.
    shown = side / 2 + (places - (low + high) / 2) * scale * (1, -1)
    marks = [
        tag("g", tag("title", name), _mark(x, y, int(kind)))
        for (x, y), kind, name in zip(shown, kinds, titles, strict=True)
    ]
    return _svg(marks, side, side, title, class_="plot map")


def key(kind: int) -> Html:
    """Return the mark of a kind, for a legend."""
    return tag("svg", _mark(7, 7, kind), viewBox="0 0 14 14", class_="key", aria_hidden="true")


def _mark(x: float, y: float, kind: int) -> Html:
    style = f"k{kind % _N_COLOURS}"
    shape = _MARKS[kind // _N_COLOURS % len(_MARKS)]
    if shape == "circle":
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.6", class_=style)
    if shape == "square":
        corner = {"x": f"{x - 3.2:.1f}", "y": f"{y - 3.2:.1f}"}
        return tag("rect", **corner, width="6.4", height="6.4", class_=style)
    path = f"M{x:.1f} {y - 4.4:.1f}l4.2 7.4h-8.4z"
    return tag("path", d=path, class_=style)


class Scale(NamedTuple):
    """What the error bars of a table are drawn on, one above the other."""

    low: float
    high: float

    def across(self, value: float) -> str:
        """Return the place of a value, in an interval plot."""
        return f"{10 + (value - self.low) / (self.high - self.low) * (_INTERVAL[0] - 20):.1f}"


_INTERVAL = 400, 28  # width and height of an interval plot


def interval_plot(
    mean: float, deviation: float, scores: np.ndarray, scale: Scale, style: str
) -> Html:
    """Draw one row of a table: the folds as dots, their mean and deviation above them."""
    width, height = _INTERVAL
    middle = height / 2
    parts = [
        tag("line", x1=x, x2=x, y1=0, y2=height, class_="grid")
        for x in map(scale.across, ticks(*scale, about=4))
    ]
    parts += [tag("circle", cx=scale.across(s), cy=middle, r=2.8, class_="fold") for s in scores]
    if deviation:
        parts += _whiskers(mean, deviation, scale, middle)
    parts.append(tag("circle", cx=scale.across(mean), cy=middle, r=5, class_="mean"))
    title = f"{number(mean)} ± {number(deviation)}"
    return _svg(parts, width, height, title, class_=f"interval {style}")


def gain_plot(start: float, learned: float, error: float, scale: Scale) -> Html:
    """Draw the start, what was learned, and the error of the difference between them."""
    width, height = _INTERVAL
    middle = height / 2
    grid = map(scale.across, ticks(*scale, about=4))
    parts = [tag("line", x1=x, x2=x, y1=0, y2=height, class_="grid") for x in grid]
    ends = scale.across(start), scale.across(learned)
    parts.append(tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="change"))
    if error:
        parts += _whiskers(learned, error, scale, middle)
    parts.append(tag("circle", cx=ends[0], cy=middle, r=4.5, class_="start"))
    parts.append(tag("circle", cx=ends[1], cy=middle, r=5, class_="mean"))
    title = f"start {number(start)}, learned {number(learned)} ± {number(error)}"
    return _svg(parts, width, height, title, class_="interval learned")


def _whiskers(mean: float, deviation: float, scale: Scale, middle: float) -> list[Html]:
    ends = scale.across(mean - deviation), scale.across(mean + deviation)
    bar = tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="whisker")
    caps = [tag("line", x1=x, x2=x, y1=middle - 5, y2=middle + 5, class_="whisker") for x in ends]
    return [bar, *caps]


def interval_axis(scale: Scale, label: Callable[[float], str]) -> Html:
    """Draw the numbers that stand above interval plots."""
    numbers = [
        tag("text", label(tick), x=scale.across(tick), y=13, class_="middle")
        for tick in ticks(*scale, about=4)
    ]
    return _svg(numbers, _INTERVAL[0], 18, "scale", class_="interval")


def heat_map(matrix: np.ndarray, row_names: Any, column_names: Any, title: str) -> Html:
    """Draw a matrix: one hue for positive, one for negative, and nothing for zero.

    Names are drawn where there is room for them; None where there is not.
    """
    n_rows, n_columns = matrix.shape
    rows = [] if row_names is None else [shortened(name, 18) for name in row_names]
    columns = [] if column_names is None else [shortened(name, 18) for name in column_names]
    longest = [max(map(len, names), default=0) * _LETTER for names in (rows, columns)]
    left, top = longest[0] + 8, 0.87 * longest[1] + 10  # names of columns lean by 60 degrees
    lean = longest[1] / 2
    # As wide as the other plots, but no cell so small that names run into each other.
    cell = min(56, max((400 - left - lean) / n_columns, 18 if rows else 0))
    wide, high = cell * n_columns, cell * n_rows
    place = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{wide:.1f}", "height": f"{high:.1f}"}
    image = png_address(_diverging(matrix))
    parts = [
        tag("image", href=image, **place, preserveAspectRatio="none", class_="pixels"),
        tag("rect", **place, class_="frame"),
    ]
    for i, name in enumerate(rows):
        y = f"{top + (i + 0.5) * cell:.1f}"
        parts.append(tag("text", name, x=f"{left - 6:.1f}", y=y, dy="0.35em", class_="end"))
    for j, name in enumerate(columns):
        turned = f"translate({left + (j + 0.6) * cell:.1f} {top - 5:.1f}) rotate(-60)"
        parts.append(tag("text", name, transform=turned))
    return _svg(parts, left + wide + lean, top + high + 1, title, class_="plot heat")


def _diverging(matrix: np.ndarray) -> np.ndarray:
    """Return RGBA whose opacity is the size, so that zero is the page's own colour."""
    largest = np.abs(matrix).max() or 1.0
    pixels = np.empty((*matrix.shape, 4), np.uint8)
    pixels[..., :3] = np.where(matrix[..., None] < 0, (214, 96, 38), (38, 122, 196))
    pixels[..., 3] = np.round(255 * np.sqrt(np.abs(matrix) / largest))
    return pixels


def picture(image: np.ndarray, low: float, high: float) -> Html:
    """Return a grey image; `low` is black and `high` is white."""
    grey = np.clip((image - low) / max(high - low, 1e-12), 0, 1)
    return tag("img", src=png_address(np.round(255 * grey).astype(np.uint8)), alt="", class_="tile")


def png_address(pixels: np.ndarray) -> str:
    """Return a PNG as a data address, from bytes that are grey (h, w) or RGBA (h, w, 4)."""
    height, width = pixels.shape[:2]
    colour_type = 0 if pixels.ndim == 2 else 6
    rows = pixels.reshape(height, -1)
    unfiltered = np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(unfiltered, 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return "data:image/png;base64," + b64encode(data).decode()


def reach(parts: Sequence[np.ndarray], pad: float = 0.04) -> tuple[float, float]:
    """Return the least and the greatest of all values, a little apart from them."""
    low = min(float(np.min(part)) for part in parts)
    high = max(float(np.max(part)) for part in parts)
    gap = pad * (high - low)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        gap = 0.5 * abs(high) or 1.0
    return low - gap, high + gap


def ticks(low: float, high: float, about: int = 5) -> np.ndarray:
    """Return round numbers between two, evenly apart; zero is never negative."""
    rough = (high - low) / about
    step = 10 ** np.floor(np.log10(rough))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= rough * (1 - 1e-9))
    return np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0


def thinned(x: np.ndarray, y: np.ndarray, most: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `most` points of a line, its ends among them."""
    if len(x) <= most:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))
    return x[kept], y[kept]


def number(value: float) -> str:
    """Return a number as people write it, with a true minus sign."""
    return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}"


def percent(value: float) -> str:
    """Return a share as people write it."""
    return f"{number(100 * value)} %"


def _svg(parts: Any, width: float, height: float, title: str, class_: str) -> Html:
    return tag(
        "svg",
        tag("title", title),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        class_=class_,
    )
