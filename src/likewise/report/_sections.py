"""The sections of the report, in reading order: the values that their templates show."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from likewise._validation import Rows, n_rows, sample_rows, take
from likewise.evaluation import align_map, goodness, plane_map
from likewise.report._charts import (
    CLASSES,
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
from likewise.selection import Selection
from likewise.similarities import Similarity

Section: TypeAlias = dict[str, Any]  # `name`, `heading`, `template` and the template's values

_MAX_ON_MAP = 500
_MAX_NAMED = 30  # features whose names fit beside a heat map
_MAX_CLASSES = 12  # with a color, or a row of the confusion matrix, of their own
_TOP_CLASSES = 10  # of more classes; the rest are others


def section(name: str, heading: str, /, **values: Any) -> Section:
    """Return a section whose template has its name."""
    return {"name": name, "heading": heading, "template": name.replace("-", "_"), **values}


def comparison_section(selection: Selection) -> Section:
    """Return the table of families, with error bars."""
    rows, scoring = selection.rows, selection.scoring
    ends = [row["mean"] + (row["deviation"] or 0.0) * np.array([-1.0, 1.0]) for row in rows]
    scale = Scale(*padded_range([*ends, *(np.array(row["scores"]) for row in rows)]))
    values = [
        {
            **row,
            "value": scoring.text(row["mean"], row["deviation"]),
            "inner_value": scoring.number(row["inner"]),
            "plot": interval(
                row["mean"], row["deviation"] or 0.0, scale, row["kind"], splits=row["scores"]
            ),
        }
        for row in rows
    ]
    return section(
        "comparison",
        "How it compares",
        rows=values,
        axis=scale.axis(percent if scoring.is_share else number),
        scoring=scoring.title,
        lower_is_better=scoring.lower_is_better,
        reason=selection.reason,
    )


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


def class_legend(labels: np.ndarray | None, n: int) -> tuple[list[tuple[int, str]], np.ndarray]:
    """Return the numbers and names of classes for a legend, and the number of each row.

    Of many classes the most frequent keep their own number; the others have −1.
    """
    if labels is None:
        return [], np.zeros(n, dtype=int)
    names, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(names) <= _MAX_CLASSES:
        return list(enumerate(names.tolist())), numbers
    frequent = np.sort(np.argsort(-counts, kind="stable")[:_TOP_CLASSES])
    places = np.full(len(names), -1)
    places[frequent] = np.arange(len(frequent))
    legend = [*enumerate(names[frequent].tolist()), (-1, _others(len(names) - len(frequent)))]
    return legend, places[numbers]


def _others(n: int) -> str:
    return f"{n} others"


def map_section(
    X: Rows,
    y: np.ndarray | None,
    before: Similarity | None,
    after: Similarity,
    palette: str = CLASSES,
) -> Section | None:
    """Return the rows in the plane, before and after, aligned with each other."""
    rows = sample_rows(n_rows(X), _MAX_ON_MAP)
    if len(rows) < 3:
        return None
    legend, kinds = class_legend(None if y is None else y[rows], len(rows))
    titles = [f"row {row}" + ("" if y is None else f": {shorten(y[row], 40)}") for row in rows]
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
                "plot": scatter_plot(points, kinds, titles, f"Map of the rows {when}", palette),
            }
        )
    is_sample = len(rows) < n_rows(X)
    return section(
        "map",
        "A map" if before is None else "A map before and after",
        sample=f"{len(rows)} of {n_rows(X)} rows, drawn at random. " if is_sample else "",
        legend=legend,
        palette=palette,
        maps=maps,
    )


def matrix_section(
    learned: LearnedMatrix,
    row_name: Callable[[int], str],
    column_name: Callable[[int], str],
) -> Section:
    """Return the heat map of the learned matrix, and the strongest pairs of features."""
    named = max(learned.matrix.shape) <= _MAX_NAMED
    plot = heat_map(
        learned.matrix,
        [row_name(i) for i in learned.rows] if named else None,
        [column_name(j) for j in learned.columns] if named else None,
        "The learned matrix",
    )
    tables = []
    if singles := learned.single_features():
        named_weights = [(shorten(row_name(i), 60), weight) for i, _, weight in singles]
        tables.append(weight_table("strongest features", named_weights))
    if pairs := learned.pairs():
        head = "strongest pairs" + (", in both orders" if learned.symmetric else "")
        named_weights = [
            (f"{shorten(row_name(i), 40)} × {shorten(column_name(j), 40)}", weight)
            for i, j, weight in pairs
        ]
        tables.append(weight_table(head, named_weights))
    meaning = (
        "The diagonal is the weight of a difference in one feature. Off the diagonal, two features "
        "in which rows differ in the same direction count more together (blue) or less (orange)."
        if learned.of_distance
        else "Where the query is high in one feature and the item in the other, they are more "
        "similar (blue) or less similar (orange)."
    )
    shape = " × ".join(map(str, learned.matrix.shape))
    return section(
        "matrix", "What it looks at", meaning=meaning, shape=shape, plot=plot, tables=tables
    )


def pixels_section(
    images: Sequence[tuple[int, tuple[int, int]]],
    weights: np.ndarray,
    directions: np.ndarray | None,
) -> Section:
    """Return the weights of pixels as images.

    Parameters
    ----------
    images : sequence of (first feature, (height, width))
    weights : of all features
    directions : ndarray of shape (n_directions, n_features) or None
        The directions in which rows differ most after a learned map.
    """
    parts = []
    for first, (height, width) in images:
        where = slice(first, first + height * width)

        def drawn(values: np.ndarray, title: str, at: slice = where) -> Any:
            return heat_map(values[at].reshape(height, width), None, None, title)  # noqa: B023

        parts.append(
            {
                "weights": drawn(weights, "The weight of each pixel"),
                "directions": [
                    drawn(direction, f"Direction {place}")
                    for place, direction in enumerate([] if directions is None else directions, 1)
                ],
            }
        )
    return section("pixels", "Where it looks", parts=parts)


def weight_table(head: str, weights: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Return a table of features, or pairs of them, with their weights as bars."""
    largest = max(abs(weight) for _, weight in weights) or 1.0  # all weights may be 0
    rows = [
        (name, number(weight), weight < 0, f"{100 * abs(weight) / largest:.0f}")
        for name, weight in weights
    ]
    return {"head": head, "rows": rows}


def confusion_section(y_true: np.ndarray, y_pred: np.ndarray) -> Section:
    """Return how often each class was predicted as which; of many classes the most frequent."""
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
    heads, n_own, right = names.tolist(), len(names), np.diag(counts)
    if len(names) > _MAX_CLASSES:
        frequent = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_TOP_CLASSES])
        rest = np.setdiff1d(np.arange(len(names)), frequent)
        groups = np.zeros((len(frequent) + 1, len(names)), dtype=int)
        groups[np.arange(len(frequent)), frequent] = 1
        groups[-1, rest] = 1
        counts, n_own, right = groups @ counts @ groups.T, len(frequent), groups @ right
        heads = [*names[frequent].tolist(), _others(len(rest))]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = np.where(counts > 0, np.maximum(shares, 0.2), 0)  # rare mistakes stay visible
    rows = [
        (
            name,
            f"{right[i] / max(counts[i].sum(), 1):.3f}",
            [
                (int(counts[i, j]), _cell_style(i, j, n_own), f"{100 * shares[i, j]:.0f}")
                for j in range(len(heads))
            ],
        )
        for i, name in enumerate(heads)
    ]
    return section("confusion", "Where it is wrong", text=text, names=heads, rows=rows)


def _cell_style(i: int, j: int, n_own: int) -> str:
    """Return the style of a cell; others predicted as others may be right or wrong."""
    if i != j:
        return "wrong"
    return "right" if i < n_own else ""
