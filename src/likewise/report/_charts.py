"""Plots as inline SVG. Colours are classes of the style sheet, so they follow light and dark."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.report._html import Html, join, shortened, tag

N_COLOURS = 8
_MARKS = ("circle", "square", "triangle")


class Line(NamedTuple):
    """One line of a plot; `style` is a class of the style sheet."""

    label: str
    x: np.ndarray
    y: np.ndarray
    style: str


def line_plot(lines: Sequence[Line], x_label: str, y_label: str, title: str) -> Html:
    """Draw lines in one frame; `title` is for those who cannot see the plot."""
    width, height, left, right, top, bottom = 460, 270, 58, 14, 12, 42
    x_ticks = ticks(np.concatenate([line.x for line in lines]))
    y_ticks = ticks(np.concatenate([line.y for line in lines]))
    x_low, x_high = x_ticks[0], x_ticks[-1]
    y_low, y_high = y_ticks[0], y_ticks[-1]

    def across(x: Any) -> Any:
        return left + (x - x_low) / (x_high - x_low) * (width - left - right)

    def down(y: Any) -> Any:
        return height - bottom - (y - y_low) / (y_high - y_low) * (height - top - bottom)

    parts = []
    for tick in y_ticks:
        y = f"{down(tick):.1f}"
        style = "zero" if tick == 0 else "grid"
        parts.append(tag("line", x1=left, x2=width - right, y1=y, y2=y, class_=style))
        parts.append(tag("text", number(tick), x=left - 7, y=y, dy="0.35em", class_="tick end"))
    for tick in x_ticks:
        x, below = f"{across(tick):.1f}", height - bottom + 18
        parts.append(tag("text", number(tick), x=x, y=below, class_="tick middle"))
    middle = (left + width - right) / 2
    parts.append(tag("text", x_label, x=middle, y=height - 5, class_="axis middle"))
    y_place = (top + height - bottom) / 2
    parts.append(
        tag(
            "text",
            y_label,
            x=13,
            y=y_place,
            class_="axis middle",
            transform=f"rotate(-90 13 {y_place})",
        )
    )
    for line in lines:
        shown = zip(*thinned(line.x, line.y), strict=True)
        points = " ".join(f"{across(a):.1f},{down(b):.1f}" for a, b in shown)
        parts.append(tag("polyline", points=points, class_=f"line {line.style}"))
    legend = tag(
        "ul",
        *(
            tag("li", tag("span", class_=f"swatch {line.style}"), line.label)
            for line in lines
            if len(lines) > 1
        ),
        class_="legend",
    )
    return join(
        [legend if len(lines) > 1 else "", _svg(parts, width, height, title, class_="plot")]
    )


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
    style = f"k{kind % N_COLOURS}"
    shape = _MARKS[kind // N_COLOURS % len(_MARKS)]
    if shape == "circle":
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.6", class_=style)
    if shape == "square":
        corner = {"x": f"{x - 3.2:.1f}", "y": f"{y - 3.2:.1f}"}
        return tag("rect", **corner, width="6.4", height="6.4", class_=style)
    path = f"M{x:.1f} {y - 4.4:.1f}l4.2 7.4h-8.4z"
    return tag("path", d=path, class_=style)


def interval_plot(
    mean: float, deviation: float, scores: np.ndarray, low: float, high: float, style: str
) -> Html:
    """Draw one row of a table: the folds as dots, their mean and deviation above them."""
    width, height = 240, 26
    middle = height / 2

    def across(value: float) -> str:
        return f"{8 + (value - low) / (high - low) * (width - 16):.1f}"

    dots = [tag("circle", cx=across(s), cy=middle, r=2.6, class_="fold") for s in scores]
    ends = across(mean - deviation), across(mean + deviation)
    bar = tag("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_="whisker")
    caps = [tag("line", x1=x, x2=x, y1=middle - 5, y2=middle + 5, class_="whisker") for x in ends]
    mark = tag("circle", cx=across(mean), cy=middle, r=5, class_="mean")
    title = f"{number(mean)} ± {number(deviation)}"
    parts = [*dots, bar, *caps, mark] if deviation else [*dots, mark]
    return _svg(parts, width, height, title, class_=f"interval {style}")


def heat_map(matrix: np.ndarray, row_names: Any, column_names: Any, title: str) -> Html:
    """Draw a matrix: one hue for positive, one for negative, and nothing for zero.

    Names are drawn where there is room for them; None where there is not.
    """
    n_rows, n_columns = matrix.shape
    cell = min(24.0, 340 / n_columns)
    left, top = (0, 0) if row_names is None else (118, 112)
    width, height = left + cell * n_columns, top + cell * n_rows
    picture = tag(
        "image",
        href=png_address(_diverging(matrix)),
        x=left,
        y=top,
        width=f"{cell * n_columns:.1f}",
        height=f"{cell * n_rows:.1f}",
        preserveAspectRatio="none",
        class_="pixels",
    )
    frame = tag("rect", x=left, y=top, width=width - left, height=height - top, class_="frame")
    names = []
    if row_names is not None:
        for i, name in enumerate(row_names):
            y = f"{top + (i + 0.5) * cell:.1f}"
            label = shortened(name, 20)
            names.append(tag("text", label, x=left - 6, y=y, dy="0.35em", class_="tick end"))
        for j, name in enumerate(column_names):
            x = f"{left + (j + 0.5) * cell:.1f}"
            turned = f"translate({x} {top - 6}) rotate(-60)"
            names.append(tag("text", shortened(name, 20), transform=turned, class_="tick"))
        width += 50  # the last turned name leans out
    return _svg([picture, frame, *names], width, height, title, class_="plot heat")


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


def ticks(values: np.ndarray, about: int = 5) -> np.ndarray:
    """Return round numbers, evenly apart, that span `values`."""
    low, high = float(np.min(values)), float(np.max(values))
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    rough = (high - low) / about
    step = 10 ** np.floor(np.log10(rough))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= rough * (1 - 1e-9))
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.arange(first, last + 1) * step


def thinned(x: np.ndarray, y: np.ndarray, most: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `most` points of a line, its ends among them."""
    if len(x) <= most:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, most).round().astype(int))
    return x[kept], y[kept]


def number(value: float) -> str:
    """Return a number as people write it, with a true minus sign."""
    return f"{value:.4g}".replace("-", "−") if value else "0"


def _svg(parts: Any, width: float, height: float, title: str, class_: str) -> Html:
    return tag(
        "svg",
        tag("title", title),
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        class_=class_,
    )
