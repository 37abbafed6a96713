"""Relevance from pairs, random triplets from labels or relevance, and triplets from clicks."""

from typing import Any, Protocol

import numpy as np

from likewise._validation import (
    Rows,
    check_choice,
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
)
from likewise.supervision._pairs import check_pairs
from likewise.supervision._triplets import check_weights

_MAX_TRIES = 100  # repeated draws of a farther item with too high a grade
_MAX_TRIES_HARD = 5  # the top of a good ranking may hold no farther item


class TripletSource(Protocol):
    """Source of an online learner's triplets."""

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets of row numbers (query, closer item, farther item)."""


class LabelTriplets:
    """Random triplets from labels: a query, another row of its class, a row of another class.

    Each is drawn uniformly. The only row of a class is never a query.

    Parameters
    ----------
    y : array of shape (n_rows,)
    queries, items : arrays of row numbers, optional
        Rows to draw queries, and closer and farther items, from; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> source = LabelTriplets(["pear", "fig", "pear", "fig"])
    >>> source.draw(2, np.random.default_rng(0))
    array([[3, 1, 2],
           [2, 0, 1]])
    """

    def __init__(self, y: Any, queries: Any = None, items: Any = None) -> None:
        names, self._classes = check_classes(y)
        all_rows = np.arange(len(self._classes))
        queries, items = (all_rows if rows is None else rows for rows in (queries, items))
        # Items sorted by class; positions in this order are drawn.
        self._order = items[np.argsort(self._classes[items], kind="stable")]
        self._counts = np.bincount(self._classes[items], minlength=len(names))
        self._starts = np.cumsum(self._counts) - self._counts
        self._position = np.full(len(all_rows), -1)
        self._position[self._order] = np.arange(len(self._order))
        others = self._counts[self._classes[queries]] - (self._position[queries] >= 0)
        self._queries = queries[others > 0]
        if len(self._queries) == 0:
            raise ValueError("y has no class of two rows or more, so no row has a closer row.")
        if np.count_nonzero(self._counts) < 2:
            raise ValueError("items are of one class; at least two classes are needed.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets."""
        query = self._queries[rng.integers(len(self._queries), size=n)]
        label, position = self._classes[query], self._position[query]
        start, count = self._starts[label], self._counts[label]
        closer = start + rng.integers(count - (position >= 0))
        closer += (position >= 0) & (closer >= position)  # not the query itself
        farther = rng.integers(len(self._order) - count)
        farther += np.where(farther >= start, count, 0)  # not of its class
        return np.column_stack([query, self._order[closer], self._order[farther]])


class RelevanceTriplets:
    """Random triplets from grades, such as clicks: a query, an item, and an item of a lower grade.

    Queries with an item of positive grade are drawn uniformly, and the closer item in proportion
    to its grade.

    Parameters
    ----------
    relevance : sparse matrix or array of shape (n_queries, n_items)
        Grades; entries that a sparse matrix does not store are not judged, and a stored 0 is
        judged not relevant.
    weights : sparse matrix or array of the same shape, optional
        Weight of each judgment, such as the inverse probability that a user saw the item
        (`position_weights`): the closer item is drawn in proportion to grade × weight.
    negatives : {"unjudged", "judged"}, default="unjudged"
        The farther item is any item of a lower grade; with "judged" a judged one, for queries
        that have one. Hard negatives may be any item in both cases.
    hard : float, default=0.0
        Share of the farther items that are drawn from the top of the ranking given to
        `set_ranking`.
    items : bool array of shape (n_items,), optional
        The allowed farther items; all by default.

    Attributes
    ----------
    queries : array of row numbers
        The queries with an item of positive grade.

    Examples
    --------
    >>> import numpy as np
    >>> clicks = np.array([[0, 2, 0], [1, 0, 0]])
    >>> RelevanceTriplets(clicks).draw(3, np.random.default_rng(0))
    array([[1, 0, 1],
           [1, 0, 1],
           [1, 0, 2]])
    """

    def __init__(
        self,
        relevance: Any,
        weights: Any = None,
        *,
        negatives: str = "unjudged",
        hard: float = 0.0,
        items: np.ndarray | None = None,
    ) -> None:
        from scipy.sparse import csr_array

        grades = check_relevance(relevance)
        check_choice(negatives, "negatives", ("unjudged", "judged"))
        check_number(hard, "hard", minimum=0, maximum=1)
        self._hard = hard
        self._judged_only = negatives == "judged"
        self._n_items = grades.shape[1]
        self._allowed = np.ones(self._n_items, dtype=bool) if items is None else items
        self._items = np.flatnonzero(self._allowed)
        self._ranking: np.ndarray | None = None
        rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
        chances = grades.data.astype(np.float64)
        if weights is not None:
            chances = chances * weights_at(weights, grades)
        closer = (chances > 0) & (grades.data > _lowest_grades(grades, len(self._items))[rows])
        self._pairs = csr_array(
            (chances[closer], (rows[closer], grades.indices[closer])), shape=grades.shape
        )
        self.queries = np.flatnonzero(np.diff(self._pairs.indptr) > 0)
        if len(self.queries) == 0:
            raise ValueError(
                "relevance has no positive grade above another of its query, so no item is closer "
                "than another."
            )
        self._cumulative = np.concatenate([[0.0], np.cumsum(self._pairs.data)])
        self._keys = rows * self._n_items + grades.indices
        self._grades = grades
        # Judged items of each query in ascending order of grade, and the grades as ranks.
        order = np.lexsort((grades.data, rows))
        self._distinct_grades, ranks = np.unique(grades.data, return_inverse=True)
        self._by_grade = grades.indices[order].astype(np.int64)
        self._grade_keys = (rows * (len(self._distinct_grades) + 1) + ranks)[order]

    def set_ranking(self, ranking: np.ndarray) -> None:
        """Set the highest ranked items of each query, from which hard negatives are drawn."""
        self._ranking = ranking

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets."""
        query = self.queries[rng.integers(len(self.queries), size=n)]
        begin, end = self._pairs.indptr[query], self._pairs.indptr[query + 1]
        target = self._cumulative[begin] + rng.random(n) * (
            self._cumulative[end] - self._cumulative[begin]
        )
        at = np.clip(np.searchsorted(self._cumulative, target, side="right") - 1, begin, end - 1)
        closer = self._pairs.indices[at].astype(np.int64)
        grade = self._grade_of(query, closer)
        farther = self._farther(query, grade, rng)
        return np.column_stack([query, closer, farther])

    def _farther(
        self, query: np.ndarray, grade: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw items of lower grades than the closer items."""
        farther = np.full(len(query), -1)
        if self._judged_only:
            farther = self._judged_below(query, grade, rng)
        if self._ranking is not None:
            hard = np.flatnonzero(rng.random(len(query)) < self._hard)
            for _ in range(_MAX_TRIES_HARD):
                ranks = rng.integers(self._ranking.shape[1], size=len(hard))
                top = self._ranking[query[hard], ranks].astype(np.int64)
                is_lower = self._grade_of(query[hard], top) < grade[hard]
                is_lower &= self._allowed[top]
                farther[hard[is_lower]] = top[is_lower]
                hard = hard[~is_lower]
        pending = np.flatnonzero(farther < 0)
        for _ in range(_MAX_TRIES):
            if len(pending) == 0:
                return farther
            drawn = self._items[rng.integers(len(self._items), size=len(pending))]
            is_lower = self._grade_of(query[pending], drawn) < grade[pending]
            farther[pending[is_lower]] = drawn[is_lower]
            pending = pending[~is_lower]
        for t in pending:  # nearly all items have the grade or a higher one: draw from the rest
            grades = self._grade_of(np.full(len(self._items), query[t]), self._items)
            farther[t] = rng.choice(self._items[grades < grade[t]])
        return farther

    def _judged_below(
        self, query: np.ndarray, grade: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return a judged item of a lower grade for each query; −1 if there is none."""
        begin = self._grades.indptr[query]
        keys = query * (len(self._distinct_grades) + 1) + np.searchsorted(
            self._distinct_grades, grade
        )
        n_lower = np.searchsorted(self._grade_keys, keys) - begin
        drawn = self._by_grade[begin + rng.integers(np.maximum(n_lower, 1))]
        return np.where(n_lower > 0, drawn, -1)

    def _grade_of(self, query: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Return the grade of each pair; 0 for pairs without a judgment."""
        keys = query * self._n_items + item
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._grades.data[at], 0)


def _lowest_grades(grades: Any, n_items: int) -> np.ndarray:
    """Return the lowest grade of each query: 0 unless all `n_items` were judged."""
    lowest = np.zeros(grades.shape[0])
    full = np.flatnonzero(np.diff(grades.indptr) >= n_items)
    for row in full:
        lowest[row] = grades.data[grades.indptr[row] : grades.indptr[row + 1]].min()
    return lowest


def check_relevance(
    relevance: Any, queries: Any = None, items: Any = None, *, name: str = "relevance"
) -> Rows:
    """Return grades as a CSR array of finite non-negative numbers with sorted columns."""
    from scipy.sparse import csr_array

    if not is_sparse(relevance):
        relevance = np.asarray(relevance)
    if relevance.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold grades, but {relevance.dtype} was given.")
    if relevance.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, with a row for each query and a column for each item, but "
            f"{relevance.ndim}-D was given."
        )
    for axis, (rows, side) in enumerate(((queries, "queries"), (items, "items"))):
        if rows is not None and relevance.shape[axis] != rows.shape[0]:
            raise ValueError(
                f"{name} is {relevance.shape[0]}×{relevance.shape[1]}, but {side} has "
                f"{rows.shape[0]} rows: it needs a row for each query and a column for each item."
            )
    grades = csr_array(relevance)
    if grades is relevance or not grades.has_canonical_format:
        grades = grades.copy()
        grades.sum_duplicates()
    wrong = np.flatnonzero(~(np.isfinite(grades.data) & (grades.data >= 0)))
    if len(wrong):
        raise ValueError(
            f"{name} holds {grades.data[wrong[0]]}; grades must be finite and not negative."
        )
    return grades.astype(np.float64)


def relevance_from_pairs(
    pairs: Any, y: Any, weights: Any, queries: Rows, items: Rows
) -> tuple[Rows, Rows | None]:
    """Return grades, 1 for similar pairs and a stored 0 for dissimilar ones, and weights."""
    from scipy.sparse import csr_array

    array, is_similar = check_pairs(pairs, y, queries, items)
    shape = queries.shape[0], items.shape[0]
    keys = array[:, 0] * shape[1] + array[:, 1]
    keys, first, pair_of = np.unique(keys, return_index=True, return_inverse=True)
    similar = is_similar.astype(np.float64)
    if not similar.any():
        raise ValueError("y has no similar pair, so no item is closer than another.")
    contradicted = np.flatnonzero(similar != similar[first][pair_of])
    if len(contradicted):
        raise ValueError(
            f"pairs has {tuple(array[contradicted[0]].tolist())} both as similar and dissimilar."
        )
    position = np.divmod(keys, shape[1])
    grades = csr_array((similar[first], position), shape=shape)
    if weights is None:
        return grades, None
    weights = check_weights(weights, array, "pairs")
    return grades, csr_array((np.bincount(pair_of.ravel(), weights), position), shape=shape)


def weights_at(weights: Any, grades: Any) -> np.ndarray:
    """Return the weight of each stored grade."""
    checked = weights.tocsr() if is_sparse(weights) else np.asarray(weights)
    if checked.shape != grades.shape:
        raise ValueError(
            f"weights must have the shape of relevance, {grades.shape}, but has {checked.shape}."
        )
    rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
    values = np.asarray(checked[rows, grades.indices]).ravel()
    wrong = values[~(np.isfinite(values) & (values >= 0))]
    if len(wrong):
        raise ValueError(f"weights must be finite and not negative, but holds {wrong[0]}.")
    return values


def position_weights(positions: Any, *, bias: float = 1.0, maximum: float = 20.0) -> np.ndarray:
    """Return the weight of a click at each position: positionᵇⁱᵃˢ, at most `maximum`.

    Results further down are seen less often. Weighting clicks by the inverse probability of being
    seen corrects this; the maximum limits the influence of a few clicks far down.

    Parameters
    ----------
    positions : array of int
        Positions in the displayed list; 1 is the first.
    bias : float, default=1.0
        The probability that position k is seen is k⁻ᵇⁱᵃˢ.
    maximum : float, default=20.0

    Examples
    --------
    >>> position_weights([1, 2, 50])
    array([ 1.,  2., 20.])
    """
    array = np.asarray(positions)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 1):
        given = array.min() if array.dtype.kind in "iu" else array.dtype
        raise ValueError(f"positions must be whole numbers from 1, but {given} was given.")
    check_number(bias, "bias", minimum=0)
    check_number(maximum, "maximum", minimum=1)
    return np.minimum(array.astype(np.float64) ** bias, maximum)


def click_triplets(
    impressions: Any, *, bias: float = 1.0, n_after: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return triplets and weights from displayed lists and their clicks.

    A clicked item is closer than the items above it that were not clicked, and than the next
    `n_after` items below it. Items further down may not have been seen and are ignored.

    Parameters
    ----------
    impressions : array of shape (n, 5), or a frame with these columns
        ``impression`` (id of the list), ``query`` and ``item`` (row numbers), ``position`` (from 1)
        and ``clicked`` (0 or 1).
    bias : float, default=1.0
        Triplets have the `position_weights` of their click.
    n_after : int, default=1

    Returns
    -------
    triplets : int64 array of shape (n_triplets, 3)
    weights : array of shape (n_triplets,)

    Examples
    --------
    >>> page = [[0, 5, 10, 1, 0], [0, 5, 11, 2, 1], [0, 5, 12, 3, 0], [0, 5, 13, 4, 0]]
    >>> triplets, weights = click_triplets(page)
    >>> triplets
    array([[ 5, 11, 10],
           [ 5, 11, 12]])
    >>> weights
    array([2., 2.])
    """
    check_whole_number(n_after, "n_after", minimum=0)
    list_id, query, item, position, clicked = _impressions(impressions)
    weights = position_weights(position, bias=bias)
    order = np.lexsort((position, list_id))
    starts = np.flatnonzero(np.diff(list_id[order], prepend=list_id[order][:1] - 1))
    sizes = np.diff(np.append(starts, len(order)))
    start = np.repeat(starts, sizes)
    clicks = np.flatnonzero(clicked[order])
    # For each click, all positions of its list; then those without information are dropped.
    counts = np.repeat(sizes, sizes)[clicks]
    click = np.repeat(clicks, counts)
    other = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + start[click]
    seen = position[order][other] <= position[order][click] + n_after
    differ = item[order][other] != item[order][click]
    kept = seen & differ & ~clicked[order][other]
    click, other = order[click[kept]], order[other[kept]]
    return np.column_stack([query[click], item[click], item[other]]), weights[click]


def _impressions(impressions: Any) -> tuple[np.ndarray, ...]:
    names = ("impression", "query", "item", "position", "clicked")
    if hasattr(impressions, "columns"):
        missing = [name for name in names if name not in list(impressions.columns)]
        if missing:
            raise ValueError(f"impressions has no column {missing[0]!r}; it needs {names}.")
        columns = [np.asarray(impressions[name]) for name in names]
    else:
        table = np.asarray(impressions)
        if table.ndim != 2 or table.shape[1] != len(names):
            raise ValueError(
                f"impressions must have the columns {names}, but has shape {table.shape}."
            )
        columns = list(table.T)
    for name, column in zip(names[1:], columns[1:], strict=True):
        if column.dtype.kind not in "iub":
            raise TypeError(
                f"impressions must hold whole numbers in {name!r}, but {column.dtype} was given."
            )
    list_id = np.unique(columns[0], return_inverse=True)[1]
    query, item, position = (column.astype(np.int64) for column in columns[1:4])
    return list_id, query, item, position, columns[4].astype(bool)
