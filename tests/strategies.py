"""Small problems for Hypothesis: values from short lists, so that ties and duplicates abound."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SCORES = (-2.0, -0.5, 0.0, 0.25, 1.0, 1e300)
GRID = (-3.0, -1.0, 0.0, 1.0, 2.0)


class Scores(NamedTuple):
    """A block of scores, what to keep of each row, and where to cut the block in pieces."""

    block: np.ndarray
    k: int
    skip: np.ndarray
    cuts: list[int]


def tables(n_rows: Any, width: Any, values: Any = GRID) -> st.SearchStrategy[np.ndarray]:
    """Return tables of numbers that are exact in every arithmetic."""
    return hnp.arrays(np.float64, st.tuples(n_rows, width), elements=st.sampled_from(values))


@st.composite
def score_blocks(draw: st.DrawFn, values: Any = SCORES) -> Scores:
    block = draw(tables(st.integers(1, 4), st.integers(1, 12), values))
    n_rows, n_items = block.shape
    skip = draw(hnp.arrays(np.int64, n_rows, elements=st.integers(-1, n_items - 1)))
    cuts = draw(st.lists(st.integers(0, n_items), max_size=3).map(sorted))
    return Scores(block, draw(st.integers(1, n_items)), skip, cuts)


@st.composite
def row_pairs(draw: st.DrawFn, *, most: int = 12) -> tuple[np.ndarray, np.ndarray, int]:
    """Return queries and items of one width, and a k up to two more than there are items."""
    width = draw(st.integers(1, 4))
    queries = draw(tables(st.integers(1, 6), st.just(width)))
    items = draw(tables(st.integers(1, most), st.just(width)))
    return queries, items, draw(st.integers(1, len(items) + 2))


@st.composite
def labelled_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return test rows, labelled rows, their labels from 0 without gaps, and k."""
    width = draw(st.integers(1, 3))
    tests = draw(tables(st.integers(1, 3), st.just(width)))
    rows = draw(tables(st.integers(1, 9), st.just(width)))
    names = draw(hnp.arrays(np.int64, len(rows), elements=st.integers(0, 2)))
    labels = np.unique(names, return_inverse=True)[1].astype(np.int64)
    return tests, rows, labels, draw(st.integers(1, 4))
