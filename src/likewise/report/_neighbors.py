"""The section on neighbors: a few telling rows, before and after."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from likewise._validation import Rows, n_rows, sample_rows
from likewise.report._charts import gray_image, number
from likewise.report._findings import MAX_QUERIES, Example, neighbor_rows, telling_examples
from likewise.report._sections import Section, section
from likewise.report._text import shorten, similarity_name
from likewise.similarities import Similarity

_K = 5


class RowDisplay:
    """How rows are displayed: as texts, as images, or by their most important features.

    Parameters
    ----------
    X : rows
    values : list of str, array of shape (n, height, width), or None
    name : function from the number of a feature to its name
    features : numbers of the features that represent a row
    """

    def __init__(
        self, X: Rows, values: Any, name: Callable[[int], str], features: Sequence[int]
    ) -> None:
        is_image = np.ndim(values) == 3
        self.kind = "number" if values is None else "image" if is_image else "text"
        self._X, self._values = X, values
        self._features = features if values is None else []
        self.heads = ["text"] if self.kind == "text" else [name(j) for j in self._features]
        if is_image:
            sample = values[sample_rows(len(values), MAX_QUERIES)]
            self._range = float(sample.min()), float(sample.max())

    def cells(self, row: int) -> list[str]:
        """Return a text for each of `heads`."""
        if self.kind == "text":
            return [shorten(self._values[row], 280)]
        return [number(float(self._X[row, j])) for j in self._features]

    def image(self, row: int) -> str | None:
        """Return the address of the image of a row."""
        if self.kind != "image":
            return None
        return gray_image(np.asarray(self._values[row], dtype=np.float64), *self._range)


def neighbors_section(
    X: Rows,
    items: Rows | None,
    y: np.ndarray | None,
    before: Similarity | None,
    after: Similarity,
    query_display: RowDisplay,
    item_display: RowDisplay,
) -> Section:
    """Return a few telling rows and their neighbors, before and after."""
    queries = sample_rows(n_rows(X), MAX_QUERIES)
    item_labels = y if items is None else None
    ids = neighbor_rows(after, X, items, queries, _K)
    if before is None:
        text = "The most similar come first."
        examples = [Example(int(queries[i]), ids[i], ids[i]) for i in range(len(queries))[:3]]
    else:
        ids_before = neighbor_rows(before, X, items, queries, _K)
        text = _changes(queries, ids_before, ids, item_labels)
        examples = telling_examples(queries, ids_before, ids, item_labels)
    values = []
    for query, of_before, of_after in examples:
        sides = [("after", "new", after, of_after, of_before)]
        if before is not None:
            sides.insert(0, ("before", "gone", before, of_before, of_after))
        cells = query_display.cells(query)
        values.append(
            {
                "row": query,
                "label": None if y is None else y[query],
                "image": query_display.image(query),
                "text": cells[0] if query_display.kind == "text" else None,
                "features": list(zip(query_display.heads, cells, strict=True)),
                "sides": [
                    {
                        "heading": f"{when}: {similarity_name(similarity)}",
                        "entries": [
                            _entry(row, query, item_labels, item_display)
                            | {"moved": None if row in others else badge}
                            for row in rows
                        ],
                    }
                    for when, badge, similarity, rows, others in sides
                ],
            }
        )
    return section(
        "neighbors",
        "Neighbors" if before is None else "Neighbors before and after",
        text=text,
        kind=item_display.kind,
        heads=item_display.heads,
        examples=values,
    )


def _entry(row: int, query: int, y: np.ndarray | None, display: RowDisplay) -> dict[str, Any]:
    sign, style = "", ""
    if y is not None:
        sign, style = ("✓", "fits") if y[row] == y[query] else ("✗", "fails")
    return {
        "row": int(row),
        "label": None if y is None else y[row],
        "sign": sign,
        "style": style,
        "image": display.image(row),
        "cells": [] if display.kind == "image" else display.cells(row),
    }


def _changes(
    queries: np.ndarray, before: np.ndarray, after: np.ndarray, y: np.ndarray | None
) -> str:
    gone = [len(np.setdiff1d(b, a)) for b, a in zip(before, after, strict=True)]
    if not any(gone):
        return f"None of the {len(queries)} rows examined has other neighbors than before."
    text = f"On average {np.mean(gone):.1f} of {before.shape[1]} nearest neighbors changed."
    if y is None:
        return f"{text} The rows below changed most."
    shares = [100 * (y[ids] == y[queries][:, None]).mean() for ids in (before, after)]
    return (
        f"{text} {shares[0]:.1f} % of neighbors had the row's own label before and "
        f"{shares[1]:.1f} % after, among training rows. The rows below changed most; where any "
        "got worse, the worst is among them."
    )
