"""The section on neighbours: a few telling rows, before and after."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from likewise._validation import Rows, n_rows
from likewise.report._charts import number, picture
from likewise.report._findings import (
    MOST_QUERIES,
    Example,
    neighbours,
    sampled_rows,
    telling_examples,
)
from likewise.report._html import Html, shortened, tag
from likewise.report._sections import Section, scrolling, section
from likewise.report._words import kind_of
from likewise.similarities import Similarity

_K = 5


class Shown:
    """How rows are shown to a person: as texts, as images, or by their telling features.

    Parameters
    ----------
    X : rows
    shown : list of str, array of shape (n, height, width), or None
    name : function from the number of a feature to its name
    telling : numbers of the features that stand for a row
    """

    def __init__(
        self, X: Rows, shown: Any, name: Callable[[int], str], telling: Sequence[int]
    ) -> None:
        self.is_image = np.ndim(shown) == 3
        self.is_text = shown is not None and not self.is_image
        self._X = X
        self._shown = shown
        self._telling = [] if shown is not None else telling
        self.heads = ["text"] if self.is_text else [name(j) for j in self._telling]
        if self.is_image:
            seen = shown[sampled_rows(len(shown), MOST_QUERIES)]
            self._range = float(seen.min()), float(seen.max())

    def values(self, row: int) -> list[str]:
        """Return a text for each of `heads`."""
        if self.is_text:
            return [shortened(self._shown[row], 280)]
        return [number(float(self._X[row, j])) for j in self._telling]

    def image(self, row: int) -> Html:
        """Return the picture of a row."""
        return picture(np.asarray(self._shown[row], dtype=np.float64), *self._range)


def neighbours_section(
    X: Rows,
    items: Rows | None,
    y: np.ndarray | None,
    before: Similarity | None,
    after: Similarity,
    of_query: Shown,
    of_item: Shown,
) -> Section:
    """Return a few telling rows and their neighbours, before and after."""
    queries = sampled_rows(n_rows(X), MOST_QUERIES)
    labels = y if items is None else None  # labels of items are not known
    found = neighbours(after, X, items, queries, _K)
    if before is None:
        said = "The most alike come first."
        examples = [Example(int(queries[i]), found[i], found[i]) for i in range(len(queries))[:3]]
    else:
        found_before = neighbours(before, X, items, queries, _K)
        said = _said(queries, found_before, found, labels)
        examples = telling_examples(queries, found_before, found, labels)
    articles = [
        tag(
            "article",
            _query(example.query, y, of_query),
            tag("div", *_panels(example, before, after, labels, of_item), class_="sides"),
            class_="example",
        )
        for example in examples
    ]
    heading = "Neighbours" if before is None else "Neighbours before and after"
    return section("neighbours", heading, tag("p", said), *articles)


def _said(queries: np.ndarray, before: np.ndarray, after: np.ndarray, y: np.ndarray | None) -> str:
    gone = [len(np.setdiff1d(b, a)) for b, a in zip(before, after, strict=True)]
    if not any(gone):
        return f"None of the {len(queries)} rows looked at has other neighbours than before."
    said = f"On average {np.mean(gone):.1f} of {before.shape[1]} nearest neighbours changed."
    if y is None:
        return f"{said} Below are rows for which most changed."
    shares = [100 * (y[ids] == y[queries][:, None]).mean() for ids in (before, after)]
    return (
        f"{said} {shares[0]:.1f} % of neighbours had the row's own label before and "
        f"{shares[1]:.1f} % have it after, among rows that were learned from. Below are rows for "
        "which most changed, and the one that got worst where any did."
    )


def _query(row: int, y: np.ndarray | None, how: Shown) -> Html:
    head = tag("h3", f"Row {row} ", _label(y, row))
    if how.is_image:
        return tag("header", how.image(row), head)
    if how.is_text:
        return tag("header", head, tag("blockquote", *how.values(row)))
    values = [
        tag("span", tag("b", shortened(name, 30)), " ", value)
        for name, value in zip(how.heads, how.values(row), strict=True)
    ]
    return tag("header", head, tag("p", *values, class_="values"))


def _label(y: np.ndarray | None, row: int) -> Html | str:
    return "" if y is None else tag("span", shortened(y[row], 24), class_="label")


def _panels(
    example: Example,
    before: Similarity | None,
    after: Similarity,
    y: np.ndarray | None,
    how: Shown,
) -> list[Html]:
    sides = [("after", "new", after, example.after, example.before)]
    if before is not None:
        sides.insert(0, ("before", "gone", before, example.before, example.after))
    return [
        tag(
            "div",
            tag("h4", f"{when}: {kind_of(by)}"),
            _listed(here, there, mark, example.query, y, how),
            class_="side",
        )
        for when, mark, by, here, there in sides
    ]


def _listed(
    here: np.ndarray, there: np.ndarray, mark: str, query: int, y: np.ndarray | None, how: Shown
) -> Html:
    """Return one list of neighbours; those that the other list lacks get the mark."""
    entries = []
    for row in here:
        sign, style = "", None
        if y is not None:
            sign, style = ("✓", "fits") if y[row] == y[query] else ("✗", "fails")
        moved = "" if row in there else tag("span", mark, class_=f"badge {mark}")
        name = [tag("span", sign, class_="sign"), f" {row} ", _label(y, row), " ", moved]
        if how.is_image:
            entries.append(tag("li", how.image(row), tag("div", *name), class_=style))
        else:
            kind = "text" if how.is_text else "number"
            cells = [tag("td", value, class_=kind) for value in how.values(row)]
            entries.append(tag("tr", tag("th", *name, scope="row"), *cells, class_=style))
    if how.is_image:
        return tag("ol", *entries, class_="tiles")
    side = None if how.is_text else "number"
    heads = [tag("th", shortened(head, 18), class_=side) for head in how.heads]
    head = tag("thead", tag("tr", tag("th", "row"), *heads))
    return scrolling(tag("table", head, tag("tbody", *entries)))
