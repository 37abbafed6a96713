"""The sections of the report, in the order in which they are read."""

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise._validation import Rows, n_rows, take
from likewise.evaluation import goodness
from likewise.report._charts import (
    Line,
    Scale,
    heat_map,
    interval_axis,
    interval_plot,
    key,
    line_plot,
    number,
    percent,
    reach,
    scatter_plot,
)
from likewise.report._findings import (
    MOST_ON_MAP,
    MOST_QUERIES,
    Learned,
    flat_map,
    sampled_rows,
    turned_like,
)
from likewise.report._html import Html, shortened, tag
from likewise.report._words import Entry, deviation_of, folds_of, kind_of, shown
from likewise.similarities import Foldable, Similarity

_MOST_NAMED = 30  # features whose names fit beside a heat map
_MOST_CLASSES = 30  # in a confusion matrix


class Section(NamedTuple):
    """A section, and what the table of contents needs to point at it."""

    name: str
    heading: str
    html: Html


def section(name: str, heading: str, *parts: Any) -> Section:
    """Return a section with a heading."""
    return Section(name, heading, tag("section", tag("h2", heading), *parts, id=name))


def comparison_section(comparison: Sequence[Entry], measure: str) -> Section:
    """Return the table of what was compared, best first, with error bars."""
    ordered = sorted(comparison, key=lambda entry: -float(entry["mean"]))
    folds = [folds_of(entry) for entry in ordered]
    means = np.array([float(entry["mean"]) for entry in ordered])
    deviations = np.array([deviation_of(entry) for entry in ordered])
    scale = Scale(*reach([means - deviations, means + deviations, *filter(len, folds)]))
    lines = []
    for entry, mean, deviation, scores in zip(ordered, means, deviations, folds, strict=True):
        badge = tag("span", "chosen", class_="badge") if entry.get("chosen") else ""
        plot = interval_plot(mean, deviation, scores, scale, entry["kind"])
        name = [shortened(entry["name"], 60), " ", badge, tag("small", entry["kind"])]
        lines.append(
            tag(
                "tr",
                tag("th", *name, scope="row"),
                tag("td", shown(entry, measure), class_="number"),
                tag("td", plot, class_="interval"),
                class_="chosen" if entry.get("chosen") else None,
            )
        )
    axis = interval_axis(scale, percent if measure == "accuracy" else number)
    heads = tag(
        "tr", tag("th", ""), tag("th", measure, class_="number"), tag("th", axis, class_="interval")
    )
    return section(
        "comparison",
        "How it compares",
        tag(
            "p",
            "Everything was tested on rows that it had not seen. Small dots are single folds, the "
            "large dot is their mean, and the bar is one standard deviation to either side.",
        ),
        scrolling(tag("table", tag("thead", heads), tag("tbody", *lines), class_="comparison")),
    )


def curve_section(history: Any, label: str | None) -> Section | None:
    """Return the learning curve, from (x, value) pairs or from what a learner recorded."""
    x, y, x_label, y_label = learning_curve(history, label)
    if len(x) < 2:
        return None
    plot = line_plot([Line(y_label, x, y, "after")], x_label, y_label, f"{y_label} by {x_label}")
    ends = f"The {y_label} went from {number(y[0])} to {number(y[-1])}."
    if number(y[0]) == number(y[-1]):
        ends = f"The {y_label} was {number(y[0])} at the start and at the end."
    return section("curve", "How it learned", tag("p", ends), tag("figure", plot))


def learning_curve(
    history: Any, label: str | None = None
) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Return x, value and their names. Of dicts the first entry is x, the most telling is value."""
    if isinstance(history[0], dict):
        names = list(history[0])
        told = [name for name in names[1:] if any(_is_number(e.get(name)) for e in history)]
        wanted = [label, "validation", "accuracy", "objective", "loss", "mistakes"]
        value = next((name for name in wanted if name in told), told[0] if told else names[0])
        pairs = [(e[names[0]], e[value]) for e in history if _is_number(e.get(value))]
        x_label, y_label = str(names[0]), str(label or value)
    else:
        pairs = [(x, value) for x, value in history if _is_number(value)]
        x_label, y_label = "step", label or "value"
    x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return x, y, x_label, y_label


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
    rows = sampled_rows(n_rows(X), MOST_QUERIES)
    _, inverse, sizes = np.unique(y[rows], return_inverse=True, return_counts=True)
    rows = rows[sizes[inverse] > 1]  # a row alone in its class has no margin
    if (sizes > 1).sum() < 2:
        return None
    lines, said = [], []
    for style, similarity in (("before", before), ("after", after)):
        if similarity is None:
            continue
        found = goodness(similarity, take(X, rows), y[rows], form="rank")
        margins, shares = found.curve
        margins, shares = np.append(margins[:1], margins), np.append(0, shares)
        lines.append(Line(f"{style}: {kind_of(similarity)}", shares, margins, style))
        said.append(tag("li", tag("b", f"{style}: "), found.sentence, "."))
    plot = line_plot(lines, "share of rows", "margin", "Margins in descending order")
    return section(
        "goodness",
        "How well it tells classes apart",
        tag(
            "p",
            "A row's margin is 1 where every row of its own class is more alike than any other, 0 "
            "where chance decides, and below 0 where the others are more alike. The higher the "
            "curve, the better.",
        ),
        tag("ul", *said),
        tag("figure", plot),
    )


def map_section(
    X: Rows, y: np.ndarray | None, before: Similarity | None, after: Similarity
) -> Section | None:
    """Return the rows in the plane, before and after, each as faithful as a plane can be."""
    rows = sampled_rows(n_rows(X), MOST_ON_MAP)
    if len(rows) < 3:
        return None
    labels = None if y is None else y[rows]
    names: np.ndarray | None = None
    kinds = np.zeros(len(rows), dtype=int)
    if labels is not None:
        names, kinds = np.unique(labels, return_inverse=True)
    titles = [
        f"row {row}" if labels is None else f"row {row}: {shortened(labels[i], 40)}"
        for i, row in enumerate(rows)
    ]
    figures: list[Html] = []
    model = None
    for when, similarity in (("before", before), ("after", after)):
        if similarity is None:
            continue
        places, kept = flat_map(similarity, take(X, rows))
        places = places if model is None else turned_like(places, model)
        model = places
        caption = tag(
            "figcaption",
            tag("b", f"{when}: {kind_of(similarity)}"),
            tag("span", f"The plane keeps {100 * kept:.0f} % of the spread."),
        )
        plot = scatter_plot(places, kinds, titles, f"Map of the rows {when}")
        figures.append(tag("figure", caption, plot))
    legend = ""
    if names is not None and len(names) <= _MOST_CLASSES:
        keys = [tag("li", key(i), shortened(name, 30)) for i, name in enumerate(names)]
        legend = tag("ul", *keys, class_="legend")
    part = "" if len(rows) == n_rows(X) else f"{len(rows)} of {n_rows(X)} rows, drawn at random. "
    return section(
        "map",
        "A map" if before is None else "A map before and after",
        tag(
            "p",
            part + "Rows that lie close are alike. The plane is the best flat view of all "
            "scores (classical scaling); what lies outside it is not seen.",
        ),
        legend,
        tag("div", *figures, class_="sides"),
    )


def matrix_section(
    learned: Learned,
    row_name: Callable[[int], str],
    column_name: Callable[[int], str],
    image_shape: tuple[int, ...] | None = None,
) -> Section:
    """Return the heat map of the learned matrix, and the strongest pairs of features.

    Where features are the pixels of images, their own weights are also shown as an image.
    """
    named = max(learned.matrix.shape) <= _MOST_NAMED
    plot = heat_map(
        learned.matrix,
        [row_name(i) for i in learned.rows] if named else None,
        [column_name(j) for j in learned.columns] if named else None,
        "The learned matrix",
    )
    figures = [tag("figure", plot)]
    if image_shape is not None and learned.is_square_of(int(np.prod(image_shape))):
        weights = np.diag(learned.matrix).reshape(image_shape)
        caption = tag("figcaption", "The diagonal as an image: how much each pixel counts")
        drawn = heat_map(weights, None, None, "How much each pixel counts")
        figures.append(tag("figure", caption, drawn))
    tables = []
    if alone := learned.alone():
        tables.append(
            _weights("strongest features", alone, lambda i, _: shortened(row_name(i), 60))
        )
    if pairs := learned.pairs():
        head = "strongest pairs" + (", in both orders" if learned.symmetric else "")
        tables.append(
            _weights(
                head,
                pairs,
                lambda i, j: f"{shortened(row_name(i), 40)} × {shortened(column_name(j), 40)}",
            )
        )
    shape = " × ".join(map(str, learned.matrix.shape))
    meaning = (
        "On the diagonal is how much a difference in one feature counts. Beside it, two features "
        "in which rows differ in the same direction count more together (blue) or less (orange)."
        if learned.of_distance
        else "Where the query is high in one feature and the item in the other, they are more "
        "alike (blue) or less (orange)."
    )
    return section(
        "matrix",
        "What it looks at",
        tag(
            "p",
            f"{meaning} The stronger the colour, the more it counts. Each entry is multiplied by "
            f"how much its two features vary, so that units do not matter; {shape} are shown.",
        ),
        tag(
            "div",
            tag("div", *figures),
            tag("div", *tables),
            class_="sides",
        ),
    )


def _weights(head: str, weights: list[tuple[int, int, float]], pair: Callable[..., str]) -> Html:
    """Return a table of features, or pairs of them, with their weights as bars."""
    largest = max(abs(weight) for _, _, weight in weights)
    lines = []
    for i, j, weight in weights:
        style = "bar negative" if weight < 0 else "bar"
        bar = tag("span", class_=style, style=f"width:{100 * abs(weight) / largest:.0f}%")
        cells = tag("td", number(weight), class_="number"), tag("td", bar, class_="bars")
        lines.append(tag("tr", tag("th", pair(i, j), scope="row"), *cells))
    heads = tag("tr", tag("th", head), tag("th", "weight", class_="number"), tag("th", ""))
    return scrolling(tag("table", tag("thead", heads), tag("tbody", *lines)))


def confusion_section(y_true: np.ndarray, y_pred: np.ndarray) -> Section:
    """Return how often each class was taken for which."""
    names, numbers = np.unique(np.concatenate([y_true, y_pred]), return_inverse=True)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (numbers[: len(y_true)], numbers[len(y_true) :]), 1)
    said = f"{np.trace(counts)} of {len(y_true)} rows were put into their own class."
    wrong = counts - np.diag(np.diag(counts))
    worst = np.argsort(-wrong, axis=None, kind="stable")[:3]
    mistakes = [
        f"{shortened(names[i], 30)} taken for {shortened(names[j], 30)} ({wrong[i, j]})"
        for i, j in zip(*np.unravel_index(worst, wrong.shape), strict=True)
        if wrong[i, j]
    ]
    if mistakes:
        said += f" The most frequent mistakes: {', '.join(mistakes)}."
    parts: list[Any] = [tag("p", said)]
    if len(names) <= _MOST_CLASSES:
        parts.append(_confusion_table(names, counts))
    return section("confusion", "Where it is wrong", *parts)


def _confusion_table(names: np.ndarray, counts: np.ndarray) -> Html:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    heads = tag(
        "tr",
        tag("th", "is ↓  taken for →"),
        *(tag("th", shortened(name, 16), scope="col", class_="number") for name in names),
    )
    lines = []
    for i, name in enumerate(names):
        cells = []
        for j, count in enumerate(counts[i]):
            style = "right" if i == j else "wrong"
            # A rare mistake should still be seen.
            shade = f"--share:{100 * max(shares[i, j], 0.2 if count else 0):.0f}%"
            cells.append(tag("td", count or "·", class_=f"number {style}", style=shade))
        lines.append(tag("tr", tag("th", shortened(name, 30), scope="row"), *cells))
    return scrolling(tag("table", tag("thead", heads), tag("tbody", *lines), class_="confusion"))


def use_section(after: Similarity, model_path: str, snippets: Any) -> Section:
    """Return how to use the model: from Python, from the command line, in a vector database."""
    parts = []
    for heading, code in snippets or default_snippets(after, model_path):
        parts.append(tag("h3", heading))
        parts.append(tag("pre", tag("code", code), tabindex=0))
    return section("use", "How to use it", *parts)


def default_snippets(after: Similarity, model_path: str) -> list[tuple[str, str]]:
    """Return headings and code for a file that holds `after`, or the learner that made it."""
    quoted = shlex.quote(model_path)
    python = f"""import likewise as lw

model = lw.load({json.dumps(model_path, ensure_ascii=False)})
similarity = getattr(model, "similarity_", model)  # a learner carries what it learned
matches = similarity.neighbors(queries, items, k=10)
matches.ids, matches.scores"""
    shell = f"""likewise search {quoted} --items items.csv --query "row 17" -k 10
likewise explain {quoted} --items items.csv 17 42
likewise evaluate {quoted} held_out.csv --target class"""
    return [
        ("Python", python),
        ("Command line", shell),
        ("Vector database", _database_snippet(after)),
    ]


_OPERATORS = {"euclidean": "<->", "inner_product": "<#>", "cosine": "<=>"}


def _database_snippet(after: Similarity) -> str:
    metric = _served_by(after)
    if metric is None:
        return """# No vector database computes this similarity: rank the candidates that one finds.
matches = similarity.neighbors(queries, candidates, k=10)"""
    return f"""stored = similarity.fold_items(items)    # once: the vectors that the database holds
sent = similarity.fold_queries(queries)  # for each search: the vectors to search with

# Metric of the index: {metric}. In PostgreSQL with pgvector:
# SELECT id FROM items ORDER BY vector {_OPERATORS[metric]} %s LIMIT 10;"""


def _served_by(similarity: Similarity) -> str | None:
    if not isinstance(similarity, Foldable):
        return None
    try:
        return similarity.folded_metric
    except ValueError:  # Dice and Jaccard do not fold
        return None


def sentences_section(name: str, heading: str, sentences: Sequence[str]) -> Section:
    """Return sentences as a list."""
    return section(name, heading, tag("ul", *(tag("li", sentence) for sentence in sentences)))


def scrolling(table: Html) -> Html:
    """Let a table scroll by itself where it is wider than the page."""
    return tag("div", table, class_="scroll", tabindex=0)
