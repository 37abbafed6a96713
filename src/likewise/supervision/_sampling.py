"""Triplets without end, drawn from labels or from graded relevance: seeded, a block at a time."""

from typing import Any, Protocol

import numpy as np

from likewise._validation import (
    check_choice,
    check_classes,
    check_number,
    check_whole_number,
    is_sparse,
)

_TRIES = 100  # draws again where an item was drawn that may not be the farther one
_TRIES_AT_HARD = 5  # the top of a good ranking may hold none


class TripletSource(Protocol):
    """What an online learner draws its triplets from."""

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets of row numbers (query, closer item, farther item)."""


class LabelTriplets:
    """Triplets from labels: a query, another row of its class, a row of another class.

    Each is drawn uniformly. A row that is alone in its class is never a query.

    Parameters
    ----------
    y : array of shape (n_rows,)
    queries, items : arrays of row numbers, optional
        The rows that queries, and closer and farther items, are drawn from; all by default.

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
        everyone = np.arange(len(self._classes))
        queries, items = (everyone if rows is None else rows for rows in (queries, items))
        # Items class by class: what is drawn are places in this order.
        self._order = items[np.argsort(self._classes[items], kind="stable")]
        self._counts = np.bincount(self._classes[items], minlength=len(names))
        self._starts = np.cumsum(self._counts) - self._counts
        self._place = np.full(len(everyone), -1)
        self._place[self._order] = np.arange(len(self._order))
        others = self._counts[self._classes[queries]] - (self._place[queries] >= 0)
        self._queries = queries[others > 0]
        if len(self._queries) == 0:
            raise ValueError("y has no class of two rows or more, so no row has a closer one.")
        if np.count_nonzero(self._counts) < 2:
            raise ValueError("items are of one class, so none is farther than another.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets."""
        query = self._queries[rng.integers(len(self._queries), size=n)]
        kind, place = self._classes[query], self._place[query]
        start, count = self._starts[kind], self._counts[kind]
        closer = start + rng.integers(count - (place >= 0))
        closer += (place >= 0) & (closer >= place)  # not the query itself
        farther = rng.integers(len(self._order) - count)
        farther += np.where(farther >= start, count, 0)  # not of its class
        return np.column_stack([query, self._order[closer], self._order[farther]])


class RelevanceTriplets:
    """Triplets from grades, such as clicks: a query, an item of some grade, an item of a lower one.

    Queries are drawn uniformly among those that have an item of a positive grade, and that item
    in proportion to its grade.

    Parameters
    ----------
    relevance : sparse matrix or array of shape (n_queries, n_items)
        Grades; what a sparse matrix does not store is not judged, and a stored 0 is judged not
        relevant.
    weights : sparse matrix or array of the same shape, optional
        How much the judgement of an item counts, such as the inverse of the chance that a user
        looked at it (`position_weights`): the closer item is drawn in proportion to grade × weight.
    negatives : {"unjudged", "judged"}, default="unjudged"
        The farther item is any that is not graded as high as the closer one; or one that was
        judged, for queries that have such (hard ones may be any, all the same).
    hard : float, default=0.0
        Share of the farther items that are drawn from the top of a ranking, once `set_ranking` has
        given one.
    items : bool array of shape (n_items,), optional
        The items that may be the farther ones; all by default.

    Attributes
    ----------
    queries : array of row numbers
        Those with an item of a positive grade, which are drawn from.

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
        if check_number(hard, "hard", minimum=0) > 1:
            raise ValueError(f"hard must be at most 1, but {hard} was given.")
        self._hard = hard
        self._judged_only = negatives == "judged"
        self._n_items = grades.shape[1]
        self._may_be_farther = np.ones(self._n_items, dtype=bool) if items is None else items
        self._items = np.flatnonzero(self._may_be_farther)
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
                "relevance has no positive grade that is above another, so no item is closer than "
                "another."
            )
        self._reach = np.concatenate([[0.0], np.cumsum(self._pairs.data)])
        self._keys = rows * self._n_items + grades.indices
        self._grades = grades
        # The judged items of each query from the lowest grade up, and the grades as ranks.
        order = np.lexsort((grades.data, rows))
        self._steps, ranks = np.unique(grades.data, return_inverse=True)
        self._by_grade = grades.indices[order].astype(np.int64)
        self._grade_keys = (rows * (len(self._steps) + 1) + ranks)[order]

    def set_ranking(self, ranking: np.ndarray) -> None:
        """Give, for each query, the items that rank highest now: hard negatives are among them."""
        self._ranking = ranking

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return `n` triplets."""
        query = self.queries[rng.integers(len(self.queries), size=n)]
        begin, end = self._pairs.indptr[query], self._pairs.indptr[query + 1]
        chance = self._reach[begin] + rng.random(n) * (self._reach[end] - self._reach[begin])
        at = np.clip(np.searchsorted(self._reach, chance, side="right") - 1, begin, end - 1)
        closer = self._pairs.indices[at].astype(np.int64)
        grade = self._grade_of(query, closer)
        farther = self._farther(query, grade, rng)
        return np.column_stack([query, closer, farther])

    def _farther(
        self, query: np.ndarray, grade: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw until every item has a lower grade than its triplet's closer item."""
        farther = np.full(len(query), -1)
        if self._judged_only:
            farther = self._judged_below(query, grade, rng)
        if self._ranking is not None:
            hard = np.flatnonzero(rng.random(len(query)) < self._hard)
            for _ in range(_TRIES_AT_HARD):
                places = rng.integers(self._ranking.shape[1], size=len(hard))
                top = self._ranking[query[hard], places].astype(np.int64)
                fits = self._grade_of(query[hard], top) < grade[hard]
                fits &= self._may_be_farther[top]
                farther[hard[fits]] = top[fits]
                hard = hard[~fits]
        pending = np.flatnonzero(farther < 0)
        for _ in range(_TRIES):
            if len(pending) == 0:
                return farther
            drawn = self._items[rng.integers(len(self._items), size=len(pending))]
            fits = self._grade_of(query[pending], drawn) < grade[pending]
            farther[pending[fits]] = drawn[fits]
            pending = pending[~fits]
        for t in pending:  # nearly every item has the grade or a higher one: look at all of them
            grades = self._grade_of(np.full(len(self._items), query[t]), self._items)
            farther[t] = rng.choice(self._items[grades < grade[t]])
        return farther

    def _judged_below(
        self, query: np.ndarray, grade: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return a judged item of a lower grade for each; −1 where there is none."""
        begin = self._grades.indptr[query]
        keys = query * (len(self._steps) + 1) + np.searchsorted(self._steps, grade)
        n_lower = np.searchsorted(self._grade_keys, keys) - begin
        drawn = self._by_grade[begin + rng.integers(np.maximum(n_lower, 1))]
        return np.where(n_lower > 0, drawn, -1)

    def _grade_of(self, query: np.ndarray, item: np.ndarray) -> np.ndarray:
        """Return the grade of each pair; 0 for pairs that were not judged."""
        keys = query * self._n_items + item
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._grades.data[at], 0)


def _lowest_grades(grades: Any, n_items: int) -> np.ndarray:
    """Return the lowest grade of each query: 0 where one of `n_items` was not judged."""
    lowest = np.zeros(grades.shape[0])
    full = np.flatnonzero(np.diff(grades.indptr) >= n_items)
    for row in full:
        lowest[row] = grades.data[grades.indptr[row] : grades.indptr[row + 1]].min()
    return lowest


def check_relevance(
    relevance: Any, queries: Any = None, items: Any = None, *, name: str = "relevance"
) -> Any:
    """Return grades as a CSR array of finite numbers, not negative, in order of columns."""
    from scipy.sparse import csr_array

    if not is_sparse(relevance):
        relevance = np.asarray(relevance)
    if relevance.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold grades, but {relevance.dtype} was given.")
    if relevance.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, a row a query and a column an item, but {relevance.ndim}-D was "
            "given."
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


def weights_at(weights: Any, grades: Any) -> np.ndarray:
    """Return the weight of each stored grade."""
    checked = weights.tocsr() if is_sparse(weights) else np.asarray(weights)
    if checked.shape != grades.shape:
        raise ValueError(
            f"weights must have the shape of relevance, {grades.shape}, but has {checked.shape}."
        )
    rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
    found = np.asarray(checked[rows, grades.indices]).ravel()
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError("weights must be finite and not negative.")
    return found


def position_weights(positions: Any, *, bias: float = 1.0, most: float = 20.0) -> np.ndarray:
    """Return how much a click at each position counts: positionᵇⁱᵃˢ, at most `most`.

    A result further down is seen less often, so a click on it says more. Weighting by the inverse
    of the chance that it was seen undoes that; the limit keeps a few clicks far down from
    outweighing all others.

    Parameters
    ----------
    positions : array of int
        Places in the list that was shown; 1 is the first.
    bias : float, default=1.0
        The chance that place k is looked at is k⁻ᵇⁱᵃˢ.
    most : float, default=20.0

    Examples
    --------
    >>> position_weights([1, 2, 50])
    array([ 1.,  2., 20.])
    """
    places = np.asarray(positions)
    if places.dtype.kind not in "iu" or (places.size and places.min() < 1):
        raise ValueError("positions must be whole numbers from 1.")
    check_number(bias, "bias", minimum=0)
    check_number(most, "most", minimum=1)
    return np.minimum(places.astype(np.float64) ** bias, most)


def click_triplets(
    impressions: Any, *, bias: float = 1.0, n_after: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return triplets and weights from lists that were shown and what was clicked in them.

    A clicked item is closer than the items above it that were passed over, and than the next
    `n_after` below it. Items further down may not have been seen, and say nothing.

    Parameters
    ----------
    impressions : array of shape (n, 5), or a frame with these columns
        ``impression`` (which list), ``query`` and ``item`` (row numbers), ``position`` (from 1)
        and ``clicked`` (0 or 1).
    bias : float, default=1.0
        See `position_weights`, by which a triplet is weighted at the place of its click.
    n_after : int, default=1

    Returns
    -------
    triplets : int64 array of shape (n_triplets, 3)
    weights : array of shape (n_triplets,)

    Examples
    --------
    >>> shown = [[0, 5, 10, 1, 0], [0, 5, 11, 2, 1], [0, 5, 12, 3, 0], [0, 5, 13, 4, 0]]
    >>> triplets, weights = click_triplets(shown)
    >>> triplets
    array([[ 5, 11, 10],
           [ 5, 11, 12]])
    >>> weights
    array([2., 2.])
    """
    check_whole_number(n_after, "n_after", minimum=0)
    which, query, item, position, clicked = _impressions(impressions)
    weights = position_weights(position, bias=bias)
    order = np.lexsort((position, which))
    begins = np.flatnonzero(np.diff(which[order], prepend=which[order][:1] - 1))
    sizes = np.diff(np.append(begins, len(order)))
    start = np.repeat(begins, sizes)
    clicks = np.flatnonzero(clicked[order])
    # For each click, all places of its list; then those that say something are kept.
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
            raise TypeError(f"impressions must hold whole numbers in {name!r}.")
    which = np.unique(columns[0], return_inverse=True)[1]
    query, item, position = (column.astype(np.int64) for column in columns[1:4])
    return which, query, item, position, columns[4].astype(bool)
