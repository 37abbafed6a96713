"""Write the report: check, find, show, and put the file in its place whole."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from likewise import _files
from likewise._progress import LongWork, show_progress
from likewise._validation import Rows, check_labels, check_same_length, is_sparse, n_rows
from likewise.report._findings import learned_matrix
from likewise.report._held_out import checked_validation, held_out_section
from likewise.report._html import Html, join, tag
from likewise.report._neighbours import Shown, neighbours_section
from likewise.report._sections import (
    Section,
    comparison_section,
    confusion_section,
    curve_section,
    goodness_section,
    map_section,
    matrix_section,
    sentences_section,
    use_section,
)
from likewise.report._words import lead
from likewise.similarities import Similarity

_KINDS = ("baseline", "learned", "reference")
_TELLING = 3  # features that stand for a row

# The page has no script and asks nobody for anything; the browser holds it to that.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """Return the file that a report would be written to, or refuse a place that cannot hold it."""
    return _files.check_place(path)


def write_report(
    path: str | os.PathLike[str],
    *,
    title: str,
    X: Any,
    y: Any = None,
    before: Similarity | None,
    after: Similarity,
    comparison: Sequence[dict[str, Any]] = (),
    feature_names: Sequence[str] | None = None,
    shown: Any = None,
    predictions: tuple[Any, Any] | None = None,
    history: Sequence[Any] | None = None,
    history_label: str | None = None,
    columns: Sequence[str] | None = None,
    model_path: str | os.PathLike[str] = "model.safetensors",
    notes: Sequence[str] = (),
    measure: str = "accuracy",
    items: Any = None,
    item_names: Sequence[str] | None = None,
    snippets: Sequence[tuple[str, str]] | None = None,
    validation: Mapping[str, Any] | None = None,
    validation_rows: Sequence[Mapping[str, Any]] = (),
    summary: str | None = None,
    verbose: bool = False,
) -> None:
    """Write one HTML file that shows what was learned; it needs no network and no script.

    The file is whole or not there: whatever goes wrong leaves what was there before.

    Parameters
    ----------
    path : str or path-like
    title : str
        What the data is called.
    X : rows, as the similarities take them
    y : array of labels, optional
    before : Similarity or None
        What there was before learning, such as Euclid's distance.
    after : Similarity
        What was learned.
    comparison : sequence of dict
        ``name``, ``kind`` (``"baseline"``, ``"learned"`` or ``"reference"``), ``mean``, and where
        they are known ``deviation``, ``scores`` (one a fold) and ``chosen``.
    feature_names : sequence of str, optional
    shown : list of str, or array of shape (n_rows, height, width), optional
        How a row is shown to a person, where it is a text or an image.
    predictions : pair of arrays, optional
        True and predicted labels of rows that were not learned from: the confusion matrix.
    history : list of (x, value), or of dict as `history_` of a learner, optional
        The learning curve, whose value is called `history_label`.
    columns : sequence of str, optional
        What was done to the columns, in sentences.
    model_path : str or path-like, default="model.safetensors"
        The file that holds `after`, or the learner that made it.
    notes : sequence of str
        Sentences that the reader should not miss.
    measure : str, default="accuracy"
        What `comparison` measures.
    items : rows, optional
        What is searched, where it is not `X` itself.
    item_names : sequence of str, optional
        Names of the items' features.
    snippets : sequence of (heading, code), optional
        How to use the model, where its file holds something else.
    validation : mapping, optional
        Figures of queries and items that were held out, such as `validation_` of AROMA, OASIS or
        RidgeSimilarity, or `validation` of a `TripletSelection`.
    validation_rows : sequence of mapping
        What else was judged by them: `rows` of a `TripletSelection`.
    summary : str, optional
        The first paragraph, in place of the one made of `comparison`.
    verbose : bool, default=False
        Show progress.

    Examples
    --------
    >>> import likewise as lw, tempfile, os
    >>> from likewise.report import write_report
    >>> iris = lw.datasets.load("iris")
    >>> learner = lw.LMNN().fit(iris.X, iris.y)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(
    ...     path,
    ...     title="iris",
    ...     X=iris.X,
    ...     y=iris.y,
    ...     before=lw.as_similarity("euclidean"),
    ...     after=learner.similarity_,
    ...     history=learner.history_,
    ... )
    """
    target = check_report_path(path)
    comparison = _checked_comparison(comparison)
    X, items = _checked_rows(X, items, before, after)
    labels = None if y is None else check_labels(y, "y", X, "X")
    feature_name = _namer(feature_names, "feature_names", X, "x")
    item_name = feature_name if items is None else _namer(item_names, "item_names", items, "item x")
    shown = _checked_shown(shown, X, after)
    if predictions is not None:
        predictions = _checked_predictions(predictions)
    held_out = None if validation is None else checked_validation(validation)

    sections: list[Section | None] = []
    with show_progress(verbose), LongWork("writing the report", total=4, unit="parts") as work:
        if comparison:
            sections.append(comparison_section(comparison, measure))
        if held_out is not None:
            sections.append(held_out_section(held_out, validation_rows))
        if history is not None and len(history):
            sections.append(curve_section(history, history_label))
        learned = learned_matrix(after, X, items) if after.takes == "rows" else None
        work.advance()
        of_query = Shown(X, shown, feature_name, _telling_features(X, learned, 0))
        of_item = of_query
        if items is not None:
            of_item = Shown(items, None, item_name, _telling_features(items, learned, 1))
        sections.append(neighbours_section(X, items, labels, before, after, of_query, of_item))
        work.advance()
        if items is None:
            if labels is not None:
                sections.append(goodness_section(X, labels, before, after))
            sections.append(map_section(X, labels, before, after))
        work.advance()
        if learned is not None:
            image_shape = shown.shape[1:] if of_query.is_image else None
            sections.append(matrix_section(learned, feature_name, item_name, image_shape))
        if predictions is not None:
            sections.append(confusion_section(*predictions))
        if columns:
            sections.append(sentences_section("columns", "What was done to the columns", columns))
        sections.append(use_section(after, os.fspath(model_path), snippets))
        sentence = summary or lead(comparison, after, measure, _described(X, items, labels))
        page = _page(title, sentence, notes, [part for part in sections if part is not None])
        with _files.whole_file(target) as unfinished:
            unfinished.write_text(page, encoding="utf-8", newline="\n")
        work.advance()


def _checked_comparison(comparison: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    for number, entry in enumerate(comparison):
        for name in ("name", "kind", "mean"):
            if name not in entry:
                raise ValueError(f"comparison[{number}] has no {name!r}, which is needed.")
        if entry["kind"] not in _KINDS:
            raise ValueError(
                f"comparison[{number}] is of kind {entry['kind']!r}; it must be one of "
                f"{', '.join(map(repr, _KINDS))}."
            )
        if not np.isfinite(entry["mean"]):
            raise ValueError(f"comparison[{number}] has the mean {entry['mean']}, not a number.")
    return list(comparison)


def _checked_rows(
    X: Any, items: Any, before: Similarity | None, after: Similarity
) -> tuple[Rows, Rows | None]:
    for name, similarity in (("before", before), ("after", after)):
        if similarity is None and name == "before":
            continue  # there need not have been one
        if not isinstance(similarity, Similarity):
            raise TypeError(f"{name} must be a similarity, but {similarity!r} was given.")
        if similarity.takes == "matrix":
            raise ValueError(
                f"{name} is a matrix of scores, which a report cannot search in: give a similarity "
                "that compares rows."
            )
    X = after.check_queries(X, "X")
    if n_rows(X) < 2:
        raise ValueError("X has one row; at least two are needed.")
    searched = X if items is None else items
    if before is not None:
        before.check_queries(X, "X")
        before.check_items(searched, "X" if items is None else "items")
    searched = after.check_items(searched, "X" if items is None else "items")
    return X, None if items is None else searched


def _checked_shown(shown: Any, X: Rows, after: Similarity) -> Any:
    """Return images as an array, texts as a list, or None for rows."""
    if shown is None:
        return [str(thing) for thing in X] if after.takes == "objects" else None
    check_same_length(X, "X", shown, "shown")
    dimensions = np.ndim(shown)
    if dimensions not in (1, 3):
        raise ValueError(
            "shown must be a list of texts, or images as an array of shape (n_rows, height, width),"
            f" but {dimensions}-D was given."
        )
    return list(shown) if dimensions == 1 else np.asarray(shown)


def _checked_predictions(predictions: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    y_true, y_pred = (np.asarray(labels) for labels in predictions)
    check_same_length(y_true, "predictions[0]", y_pred, "predictions[1]")
    return y_true, y_pred


def _namer(names: Any, argument: str, rows: Rows, plain: str) -> Callable[[int], str]:
    if names is None:
        return lambda j: f"{plain}{j}"
    given = [str(name) for name in names]
    if len(given) != rows.shape[1]:
        raise ValueError(
            f"{argument} has {len(given)} names, but there are {rows.shape[1]} features."
        )
    return lambda j: given[j]


def _telling_features(X: Rows, learned: Any, side: int) -> list[int]:
    """Return the features that count most, or else those that vary most."""
    if np.ndim(X) != 2 and not is_sparse(X):
        return []  # objects have no features
    if learned is not None:
        numbers = (learned.rows, learned.columns)[side]
        weights = np.abs(learned.matrix).sum(axis=1 - side)
    else:
        numbers = np.arange(X.shape[1])
        squares = X.multiply(X).mean(axis=0) if is_sparse(X) else np.var(X, axis=0)
        weights = np.asarray(squares).ravel()
    return [int(numbers[i]) for i in np.argsort(-weights, kind="stable")[:_TELLING]]


def _described(X: Rows, items: Rows | None, y: np.ndarray | None) -> str:
    said = f"{n_rows(X):,} rows"
    if items is not None:
        said = f"{n_rows(X):,} queries and {n_rows(items):,} items"
    if y is not None:
        said += f" in {len(np.unique(y))} classes"
    return said


def _page(title: str, sentence: str, notes: Sequence[str], sections: list[Section]) -> Html:
    style = files("likewise.report").joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", f"{title}: what was learned"),
        Html(f"<style>{style}</style>"),
    )
    aside = tag("aside", *(tag("p", note) for note in notes), class_="notes") if notes else ""
    top = tag(
        "header",
        tag("p", "likewise · what was learned", class_="over"),
        tag("h1", title),
        tag("p", sentence, class_="lead"),
        aside,
    )
    written = f"Written by likewise {version('likewise')}. This file is whole: it needs no network."
    foot = tag("footer", written)
    links = [tag("li", tag("a", part.heading, href=f"#{part.name}")) for part in sections]
    contents = tag("nav", tag("ul", *links), aria_label="Contents")
    body = tag("body", top, contents, *(part.html for part in sections), foot)
    return join([Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n"])
