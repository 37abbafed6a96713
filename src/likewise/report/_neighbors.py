"""The section on neighbors: a few telling rows, before and after."""

from typing import Any

import numpy as np

from likewise._validation import Rows, n_rows, sample_rows
from likewise.report._charts import number
from likewise.report._display import RowDisplay
from likewise.report._findings import MAX_QUERIES, Example, neighbor_rows, telling_examples
from likewise.report._sections import Section, section
from likewise.report._text import similarity_name
from likewise.similarities import Similarity

_K = 5


def neighbors_section(
    X: Rows,
    items: Rows | None,
    y: np.ndarray | None,
    before: Similarity | None,
    after: Similarity,
    query_display: RowDisplay,
    item_display: RowDisplay,
    numbers: np.ndarray | None = None,
) -> Section:
    """Return a few telling rows and their neighbors, before and after.

    Where `y` are ranges of `numbers`, the numbers are displayed.
    """
    shown = y if numbers is None else [number(float(value)) for value in numbers]
    queries = sample_rows(n_rows(X), MAX_QUERIES)
    item_labels = y if items is None else None
    ids = neighbor_rows(after, X, items, queries, _K)
    if before is None:
        text = "The most similar come first."
        examples = [Example(int(queries[i]), ids[i], ids[i]) for i in range(len(queries))[:3]]
    else:
        ids_before = neighbor_rows(before, X, items, queries, _K)
        own = "label" if numbers is None else "range of numbers"
        text = _changes(queries, ids_before, ids, item_labels, own)
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
                "label": None if shown is None else shown[query],
                "image": query_display.image(query),
                "text": cells[0][0] if query_display.is_text else None,
                "features": [
                    (name, text)
                    for (name, _), (text, _) in zip(query_display.heads, cells, strict=True)
                ],
                "sides": [
                    {
                        "heading": f"{when}: {similarity_name(similarity)}",
                        "entries": [
                            _entry(row, query, item_labels, shown, item_display)
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
        has_images=item_display.has_images,
        heads=item_display.heads,
        examples=values,
    )


def _entry(
    row: int, query: int, y: np.ndarray | None, shown: Any, display: RowDisplay
) -> dict[str, Any]:
    sign, style = "", ""
    if y is not None:
        sign, style = ("✓", "fits") if y[row] == y[query] else ("✗", "fails")
    return {
        "row": int(row),
        "label": None if y is None else shown[row],
        "sign": sign,
        "style": style,
        "image": display.image(row),
        "cells": display.cells(row),
    }


def _changes(
    queries: np.ndarray, before: np.ndarray, after: np.ndarray, y: np.ndarray | None, own: str
) -> str:
    gone = [len(np.setdiff1d(b, a)) for b, a in zip(before, after, strict=True)]
    if not any(gone):
        return f"None of the {len(queries)} rows examined has other neighbors than before."
    text = f"On average {np.mean(gone):.1f} of {before.shape[1]} nearest neighbors changed."
    if y is None:
        return f"{text} The rows below changed most."
    shares = [100 * (y[ids] == y[queries][:, None]).mean() for ids in (before, after)]
    return (
        f"{text} {shares[0]:.1f} % of neighbors had the row's own {own} before and "
        f"{shares[1]:.1f} % after, among training rows. The rows below changed most; where any "
        "got worse, the worst is among them."
    )
