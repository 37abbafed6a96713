"""Write the report: check, compute, render, and replace the file atomically."""

import os
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from likewise import _files
from likewise._progress import LongWork, show_progress
from likewise._validation import Rows, check_labels, check_same_length, is_sparse, n_rows
from likewise.exceptions import require_extra
from likewise.report._charts import CLASSES, RANGES
from likewise.report._display import display_of_rows, display_of_table
from likewise.report._findings import feature_weights, learned_matrix, strongest_directions
from likewise.report._held_out import check_validation, held_out_section
from likewise.report._neighbors import neighbors_section
from likewise.report._numbers import errors_section, number_ranges
from likewise.report._plane import plane_section
from likewise.report._sections import (
    Section,
    comparison_section,
    confusion_section,
    curve_section,
    goodness_section,
    map_section,
    matrix_section,
    pixels_section,
    section,
)
from likewise.report._text import default_snippets, origin, shorten
from likewise.selection import Selection, TripletSelection
from likewise.similarities import Similarity
from likewise.tables import Columns, infer_task

# Control characters and halves of surrogate pairs, which HTML does not allow.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a report, or refuse a place that cannot be written."""
    return _files.check_place(path)


def write_report(
    result: Any,
    path: str | os.PathLike[str],
    *,
    title: str,
    X: Any,
    y: Any = None,
    before: Similarity | None,
    model: Any = None,
    feature_names: Sequence[str] | None = None,
    display: Any = None,
    columns: Sequence[str] | None = None,
    model_path: str | os.PathLike[str] = "model.safetensors",
    notes: Sequence[str] = (),
    items: Any = None,
    item_names: Sequence[str] | None = None,
    snippets: Sequence[tuple[str, str]] | None = None,
    encoding: Columns | None = None,
    table: Any = None,
    verbose: bool = False,
) -> None:
    """Write one HTML file that shows what was learned; it needs no network and no script.

    The file is replaced atomically: an error leaves the previous file.

    Parameters
    ----------
    result : Selection, TripletSelection, fitted learner or Similarity
        What to report on. A selection brings its comparison, its verdict and its figures on unseen
        data; a learner its `history_` and `validation_`.
    path : str or path-like
    title : str
        Name of the data.
    X : rows, as the similarities take them
    y : array of labels, optional
        Classes, or numbers that were predicted.
    before : Similarity or None
        The similarity before learning, such as the Euclidean distance.
    model : fitted estimator or Similarity, optional
        The model that was fitted after a selection; needed with a `Selection`.
    feature_names : sequence of str, optional
    display : list of str, or array of shape (n_rows, height, width), optional
        How rows are displayed, where they are texts or images.
    columns : sequence of str, optional
        How the columns were encoded, in sentences.
    model_path : str or path-like, default="model.safetensors"
        The file of the model.
    notes : sequence of str
        Sentences that the reader should not miss, beside those of a selection.
    items : rows, optional
        The rows that are searched, where they are not `X` itself.
    item_names : sequence of str, optional
        Names of the items' features.
    snippets : sequence of (heading, code), optional
        How to use the model, where its file holds neither a similarity nor a learner.
    encoding, table : Columns and frame, optional
        The table that `X` is the encoding of: its rows are displayed by their most informative
        columns of every kind, in their own units. They replace `feature_names` and `display`.
    verbose : bool, default=False
        Show progress.

    Examples
    --------
    >>> import likewise as lw, tempfile, os
    >>> from likewise.report import write_report
    >>> iris = lw.datasets.load("iris")
    >>> learner = lw.LMNN().fit(iris.X, iris.y)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> euclidean = lw.as_similarity("euclidean")
    >>> write_report(learner, path, title="iris", X=iris.X, y=iris.y, before=euclidean)
    """
    page = page_template()
    target = check_report_path(path)
    selection = result if isinstance(result, Selection | TripletSelection) else None
    if model is None:
        model = result.estimator if isinstance(result, TripletSelection) else result
    after, learner = _similarity_of(model), _learner_of(model)
    X, items = _check_rows(X, items, before, after)
    if (encoding is None) != (table is None):
        raise ValueError("encoding and table belong together, but one of them was given.")
    if encoding is not None:
        check_same_length(X, "X", table, "table")
        feature_names, display = encoding.feature_names_, None
    labels = None if y is None else check_labels(y, "y", X, "X")
    has_numbers = labels is not None and infer_task(labels) == "regression"
    data = _describe_data(X, items, None if has_numbers else labels)
    numbers, palette = None, CLASSES
    if labels is not None and has_numbers:
        numbers, labels, palette = labels, number_ranges(labels), RANGES
        notes = [*notes, "Neighbors, margins and maps below compare the numbers in five ranges."]
    feature_name = _namer(feature_names, "feature_names", X, "x")
    item_name = feature_name if items is None else _namer(item_names, "item_names", items, "item x")
    display = _check_display(display, X, after)
    validation = getattr(learner, "validation_", None)
    if isinstance(selection, TripletSelection):
        validation = selection.validation
    held_out = None if validation is None else check_validation(validation)
    history = getattr(learner, "history_", None)

    sections: list[Section | None] = []
    with show_progress(verbose), LongWork("writing the report", total=4, unit="parts") as work:
        if isinstance(selection, Selection):
            sections.append(comparison_section(selection))
        if held_out is not None:
            rows = selection.rows if isinstance(selection, TripletSelection) else ()
            sections.append(held_out_section(held_out, rows))
        if history is not None and len(history):
            sections.append(curve_section(history))
        work.advance()
        weights = feature_weights(after, X, items, 0)
        if encoding is None or is_sparse(table):
            query_display = display_of_rows(X, display, feature_name, weights)
        else:
            query_display = display_of_table(encoding, table, weights)
        item_display = query_display
        if items is not None:
            of_items = feature_weights(after, X, items, 1)
            item_display = display_of_rows(items, None, item_name, of_items)
        sections.append(
            neighbors_section(X, items, labels, before, after, query_display, item_display, numbers)
        )
        work.advance()
        if items is None:
            if labels is not None:
                sections.append(goodness_section(X, labels, before, after))
            sections.append(map_section(X, labels, before, after, palette))
            if labels is not None:
                sections.append(plane_section(X, labels, numbers))
        work.advance()
        learned = learned_matrix(after, X, items) if after.takes == "rows" else None
        if learned is not None:
            images = _image_features(display, encoding, X)
            if images:
                directions = strongest_directions(after, X)
                sections.append(pixels_section(images, weights, directions))
                learned = learned.without(_pixels(images))
        if learned is not None:
            sections.append(matrix_section(learned, feature_name, item_name))
        if isinstance(selection, Selection):
            wrong = errors_section if selection.task == "regression" else confusion_section
            sections.append(wrong(*selection.predictions))
        if columns:
            sections.append(section("columns", "How the columns were encoded", sentences=columns))
        snippets = snippets or default_snippets(after, os.fspath(model_path))
        sections.append(section("use", "How to use it", snippets=snippets))
        write_page(
            page,
            target,
            title=title,
            kind="what was learned",
            lead=_lead(selection, after, data),
            notes=[*notes, *_selection_notes(selection)],
            sections=sections,
        )
        work.advance()


def write_page(page: Any, target: Path, *, sections: list[Section | None], **values: Any) -> None:
    """Render a page, and replace the file atomically."""
    parts = [part for part in sections if part is not None]
    html = page.render(sections=parts, version=version("likewise"), **values)
    with _files.whole_file(target) as unfinished:
        unfinished.write_text(html, encoding="utf-8", newline="\n")


def page_template() -> Any:
    """Return the template of the page, in which every value is escaped."""
    jinja2 = require_extra("jinja2", "cli", "a report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("likewise.report"),
        autoescape=True,
        finalize=_without_forbidden,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(px=lambda value: f"{value:.1f}", shorten=shorten)
    return environment.get_template("report.html")


def _without_forbidden(value: Any) -> Any:
    """Replace characters that no HTML file may hold; markup has been through here already."""
    if hasattr(value, "__html__"):
        return value
    return _FORBIDDEN.sub("\ufffd", str(value))


def _lead(selection: Selection | TripletSelection | None, after: Similarity, data: str) -> str:
    """Return the first paragraph: what was learned, and the verdict on it."""
    if isinstance(selection, TripletSelection):
        return selection.verdict
    if selection is None:
        return origin(after, data)
    if selection.family.kind == "learned":
        return f"{origin(after, data)} {selection.verdict}"
    return f"{selection.family.title} was chosen for {data}. {selection.verdict}"


def _selection_notes(selection: Selection | TripletSelection | None) -> list[str]:
    if selection is None:
        return []
    expected = [selection.expectation] if isinstance(selection, Selection) else []
    return [*expected, *selection.notes]


def _similarity_of(model: Any) -> Similarity:
    similarity = None if isinstance(model, Selection) else getattr(model, "similarity_", model)
    if not isinstance(similarity, Similarity):
        raise TypeError(
            "model must be a similarity or an estimator that was fitted with one, but "
            f"{model!r} was given."
        )
    return similarity


def _learner_of(model: Any) -> Any:
    """Return the learner inside a table model or a classifier, or the model itself."""
    estimator = getattr(model, "estimator", model)
    return getattr(estimator, "learner_", None) or estimator


def _check_rows(
    X: Any, items: Any, before: Similarity | None, after: Similarity
) -> tuple[Rows, Rows | None]:
    if before is not None and not isinstance(before, Similarity):
        raise TypeError(f"before must be a similarity, but {before!r} was given.")
    for name, similarity in (("before", before), ("model", after)):
        if similarity is not None and similarity.takes == "matrix":
            raise ValueError(
                f"{name} is a matrix of scores, which a report cannot search: give a similarity "
                "that compares rows."
            )
    X = after.check_queries(X, "X")
    if n_rows(X) < 2:
        raise ValueError("X has one row; at least two are needed.")
    searched, name = (X, "X") if items is None else (items, "items")
    if before is not None:
        before.check_queries(X, "X")
        before.check_items(searched, name)
    searched = after.check_items(searched, name)
    return X, None if items is None else searched


def _check_display(display: Any, X: Rows, after: Similarity) -> Any:
    """Return images as an array, texts as a list, or None for rows."""
    if display is None:
        return [str(value) for value in X] if after.takes == "objects" else None
    check_same_length(X, "X", display, "display")
    dimensions = np.ndim(display)
    if dimensions not in (1, 3):
        raise ValueError(
            "display must be a list of texts, or images as an array of shape (n_rows, height, "
            f"width), but {dimensions}-D was given."
        )
    return list(display) if dimensions == 1 else np.asarray(display)


def _namer(names: Any, argument: str, rows: Rows, prefix: str) -> Callable[[int], str]:
    if names is None:
        return lambda j: f"{prefix}{j}"
    given = [str(name) for name in names]
    if len(given) != rows.shape[1]:
        raise ValueError(
            f"{argument} has {len(given)} names, but there are {rows.shape[1]} features."
        )
    return lambda j: given[j]


def _image_features(
    display: Any, encoding: Columns | None, X: Rows
) -> list[tuple[int, tuple[int, int]]]:
    """Return the first feature, and height and width, of the images that rows consist of."""
    if encoding is not None:
        return encoding.image_features()
    if np.ndim(display) != 3 or int(np.prod(display.shape[1:])) != X.shape[1]:
        return []
    return [(0, display.shape[1:])]


def _pixels(images: Sequence[tuple[int, tuple[int, int]]]) -> set[int]:
    return {feature for first, (h, w) in images for feature in range(first, first + h * w)}


def _describe_data(X: Rows, items: Rows | None, y: np.ndarray | None) -> str:
    text = f"{n_rows(X):,} rows"
    if items is not None:
        text = f"{n_rows(X):,} queries and {n_rows(items):,} items"
    return text if y is None else f"{text} in {len(np.unique(y))} classes"
