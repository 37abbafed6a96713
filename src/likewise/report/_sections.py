"""The sections of the report, in reading order: the values that their templates show."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from likewise._validation import Rows, n_rows, sample_rows, take
from likewise.evaluation import align_map, goodness, plane_map
from likewise.report._charts import (
    Line,
    Scale,
    heat_map,
    interval,
    line_plot,
    number,
    padded_range,
    percent,
    scatter_plot,
)
from likewise.report._findings import MAX_QUERIES, LearnedMatrix
from likewise.report._text import shorten, similarity_name
from likewise.selection import percent_text
from likewise.similarities import Similarity

Section: TypeAlias = dict[str, Any]  # `name`, `heading`, `template` and the template's values

_MAX_ON_MAP = 500
_MAX_NAMED = 30  # features whose names fit beside a heat map
_MAX_CLASSES = 30  # in a confusion matrix


def section(name: str, heading: str, /, **values: Any) -> Section:
    """Return a section whose template has its name."""
    return {"name": name, "heading": heading, "template": name.replace("-", "_"), **values}


def comparison_section(rows: Sequence[Mapping[str, Any]]) -> Section:
    """Return the table of families, with error bars; `rows` are those of a `Selection`."""
    ends = [np.array([row["mean"] - row["deviation"], row["mean"] + row["deviation"]])
            for row in rows]  # fmt: skip
    scale = Scale(*padded_range([*ends, *(np.array(row["scores"]) for row in rows)]))
    values = [
        {
            **row,
            "value": percent_text(row),
            "plot": interval(
                row["mean"], row["deviation"], scale, row["kind"], splits=row["scores"]
            ),
        }
        for row in rows
    ]
    return section("comparison", "How it compares", rows=values, axis=scale.axis(percent))


def curve_section(history: Any) -> Section | None:
    """Return the learning curve, from (x, value) pairs or from the `history_` of a learner."""
    x, y, x_label, y_label = learning_curve(history)
    if len(x) < 2:
        return None
    plot = line_plot([Line(y_label, x, y, "after")], x_label, y_label, f"{y_label} by {x_label}")
    text = f"The {y_label} went from {number(y[0])} to {number(y[-1])}."
    if number(y[0]) == number(y[-1]):
        text = f"The {y_label} was {number(y[0])} at the start and at the end."
    return section("curve", "How it learned", text=text, plot=plot)


def learning_curve(history: Any) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Return x, values and their names. Of dicts the first entry is x."""
    if isinstance(history[0], dict):
        x_label, *names = history[0]
        known = [name for name in names if any(_is_number(e.get(name)) for e in history)]
        preferred = ["validation", "accuracy", "objective", "loss", "mistakes"]
        y_label = next((name for name in [*preferred, *known] if name in known), x_label)
        pairs = [(e[x_label], e[y_label]) for e in history if _is_number(e.get(y_label))]
    else:
        x_label, y_label = "step", "value"
        pairs = [(x, value) for x, value in history if _is_number(value)]
    x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return x, y, str(x_label), str(y_label)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.number)
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
    )


def goodness_section(
    X: Rows, y: np.ndarray, before: Similarity | None, after: Similarity
) -> Section | None:
    """Return the margins in descending order, before and after."""
    rows = sample_rows(n_rows(X), MAX_QUERIES)
    _, numbers, sizes = np.unique(y[rows], return_inverse=True, return_counts=True)
    rows = rows[sizes[numbers] > 1]  # a single row of a class has no margin
    if (sizes > 1).sum() < 2:
        return None
    lines, sentences = [], []
    for when, similarity in (("before", before), ("after", after)):
        if similarity is None:
            continue
        measured = goodness(similarity, take(X, rows), y[rows], form="rank")
        margins, shares = measured.curve
        margins, shares = np.append(margins[:1], margins), np.append(0, shares)
        lines.append(Line(f"{when}: {similarity_name(similarity)}", shares, margins, when))
        sentences.append((when, measured.sentence))
    plot = line_plot(lines, "share of rows", "margin", "Margins in descending order")
    return section("goodness", "How well it separates classes", sentences=sentences, plot=plot)


def map_section(
    X: Rows, y: np.ndarray | None, before: Similarity | None, after: Similarity
) -> Section | None:
    """Return the rows in the plane, before and after, aligned with each other."""
    rows = sample_rows(n_rows(X), _MAX_ON_MAP)
    if len(rows) < 3:
        return None
    names, kinds = np.array([]), np.zeros(len(rows), dtype=int)
    titles = [f"row {row}" for row in rows]
    if y is not None:
        names, kinds = np.unique(y[rows], return_inverse=True)
        titles = [f"row {row}: {shorten(y[row], 40)}" for row in rows]
    maps: list[dict[str, Any]] = []
    target = None
    for when, similarity in (("before", before), ("after", after)):
        if similarity is None:
            continue
        sample = take(X, rows)
        points, kept = plane_map(similarity.score(sample, sample))
        points = points if target is None else align_map(points, target)
        target = points
        maps.append(
            {
                "heading": f"{when}: {similarity_name(similarity)}",
                "kept": f"{100 * kept:.0f}",
                "plot": scatter_plot(points, kinds, titles, f"Map of the rows {when}"),
            }
        )
    is_sample = len(rows) < n_rows(X)
    return section(
        "map",
        "A map" if before is None else "A map before and after",
        sample=f"{len(rows)} of {n_rows(X)} rows, drawn at random. " if is_sample else "",
        legend=names.tolist() if len(names) <= _MAX_CLASSES else [],
        maps=maps,
    )


def matrix_section(
    learned: LearnedMatrix,
    row_name: Callable[[int], str],
    column_name: Callable[[int], str],
    image_shape: tuple[int, ...] | None = None,
) -> Section:
    """Return the heat map of the learned matrix, and the strongest pairs of features.

    Where features are the pixels of images, their own weights are also shown as an image.
    """
    named = max(learned.matrix.shape) <= _MAX_NAMED
    plot = heat_map(
        learned.matrix,
        [row_name(i) for i in learned.rows] if named else None,
        [column_name(j) for j in learned.columns] if named else None,
        "The learned matrix",
    )
    pixels = None
    if image_shape is not None and learned.is_square_of(int(np.prod(image_shape))):
        weights = np.diag(learned.matrix).reshape(image_shape)
        pixels = heat_map(weights, None, None, "The weight of each pixel")
    tables = []
    if singles := learned.single_features():
        named_weights = [(shorten(row_name(i), 60), weight) for i, _, weight in singles]
        tables.append(_weight_table("strongest features", named_weights))
    if pairs := learned.pairs():
        head = "strongest pairs" + (", in both orders" if learned.symmetric else "")
        named_weights = [
            (f"{shorten(row_name(i), 40)} × {shorten(column_name(j), 40)}", weight)
            for i, j, weight in pairs
        ]
        tables.append(_weight_table(head, named_weights))
    meaning = (
        "The diagonal is the weight of a difference in one feature. Off the diagonal, two features "
        "in which rows differ in the same direction count more together (blue) or less (orange)."
        if learned.of_distance
        else "Where the query is high in one feature and the item in the other, they are more "
        "similar (blue) or less similar (orange)."
    )
    shape = " × ".join(map(str, learned.matrix.shape))
    return section(
        "matrix",
        "What it looks at",
        meaning=meaning,
        shape=shape,
        plot=plot,
        pixels=pixels,
        tables=tables,
    )


def _weight_table(head: str, weights: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return a table of features, or pairs of them, with their weights as bars."""
    largest = max(abs(weight) for _, weight in weights)
    rows = [
        (name, number(weight), weight < 0, f"{100 * abs(weight) / largest:.0f}")
        for name, weight in weights
    ]
    return {"head": head, "rows": rows}


def confusion_section(y_true: np.ndarray, y_pred: np.ndarray) -> Section:
    """Return how often each class was predicted as which."""
    from sklearn.metrics import confusion_matrix

    names = np.unique(np.concatenate([y_true, y_pred]))
    counts = confusion_matrix(y_true, y_pred, labels=names)
    text = f"{np.trace(counts)} of {len(y_true)} rows were classified correctly."
    wrong = counts - np.diag(np.diag(counts))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:3]
    mistakes = [
        f"{shorten(names[i], 30)} predicted as {shorten(names[j], 30)} ({wrong[i, j]})"
        for i, j in zip(*np.unravel_index(worst, wrong.shape), strict=True)
        if wrong[i, j]
    ]
    if mistakes:
        text += f" The most frequent mistakes: {', '.join(mistakes)}."
    rows = []
    if len(names) <= _MAX_CLASSES:
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        shares = np.where(counts > 0, np.maximum(shares, 0.2), 0)  # rare mistakes stay visible
        rows = [
            (
                name,
                [
                    (int(counts[i, j]), "right" if i == j else "wrong", f"{100 * shares[i, j]:.0f}")
                    for j in range(len(names))
                ],
            )
            for i, name in enumerate(names)
        ]
    return section("confusion", "Where it is wrong", text=text, names=names.tolist(), rows=rows)
