"""Relevance: the items with the label of a query, or those with a grade."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from likewise._validation import (
    Rows,
    check_labels,
    check_rows,
    check_same_length,
    is_sparse,
    n_rows,
)
from likewise.supervision import check_relevance, relevant_items


@dataclass(frozen=True, eq=False)
class SameLabel:
    """Relevance by labels, as numbers from 0.

    Attributes
    ----------
    query_labels : −1 where no item has the label
    item_labels : ndarray
    """

    query_labels: np.ndarray
    item_labels: np.ndarray

    numbers_per_query = 1

    @classmethod
    def between(cls, labels: np.ndarray, item_labels: np.ndarray) -> "SameLabel":
        """Convert labels of any kind to numbers."""
        numbers: dict[Any, int] = {}
        of_items = [numbers.setdefault(label, len(numbers)) for label in item_labels.tolist()]
        of_queries = [numbers.get(label, -1) for label in labels.tolist()]
        return cls(np.array(of_queries, np.int64), np.array(of_items, np.int64))

    @property
    def max_relevant(self) -> int:
        """The size of the largest class of a query."""
        return int(_label_sizes(self.item_labels)[self.query_labels].max())

    def of(self, block: Any, own_rows: np.ndarray | None) -> "_LabelBlock":
        """Return the relevance for a block of queries.

        `own_rows` are the items that the queries are themselves; no item is relevant to itself.
        """
        return _LabelBlock(self.query_labels[block], self.item_labels, own_rows)


@dataclass(frozen=True, eq=False)
class _LabelBlock:
    """The relevance of items to a block of queries, by labels.

    `take` keeps some queries, `among` makes only the items of a mask relevant, `gains` returns the
    grades of ranked items, and `ideal` the `k` highest grades of each query, descending.
    """

    query_labels: np.ndarray
    item_labels: np.ndarray
    own_rows: np.ndarray | None

    @cached_property
    def n_relevant(self) -> np.ndarray:
        n_relevant = _label_sizes(self.item_labels)[self.query_labels]
        if self.own_rows is not None:
            n_relevant -= self.item_labels[self.own_rows] == self.query_labels
        return n_relevant

    def take(self, which: np.ndarray) -> Self:
        own_rows = None if self.own_rows is None else self.own_rows[which]
        return type(self)(self.query_labels[which], self.item_labels, own_rows)

    def among(self, items: np.ndarray) -> Self:
        no_label = self.item_labels.max() + 1
        return replace(self, item_labels=np.where(items, self.item_labels, no_label))

    def gains(self, order: np.ndarray) -> np.ndarray:
        return (self.item_labels[order] == self.query_labels[:, None]).astype(np.float64)

    def ideal(self, k: int) -> np.ndarray:
        return (np.arange(k) < self.n_relevant[:, None]).astype(np.float64)


def _label_sizes(labels: np.ndarray) -> np.ndarray:
    """Return the number of items of each label; the last entry, for label −1, is 0."""
    return np.append(np.bincount(labels), 0)


@dataclass(frozen=True, eq=False)
class Grades:
    """Relevance by grades, as an array or CSR."""

    grades: Rows

    @property
    def numbers_per_query(self) -> int:
        """The number of items."""
        return int(self.grades.shape[1])

    @property
    def max_relevant(self) -> int:
        """The largest number of grades of a query."""
        if is_sparse(self.grades):
            return int(np.diff(self.grades.indptr).max())
        return max(int(np.count_nonzero(row)) for row in self.grades)

    def of(self, block: Any, own_rows: np.ndarray | None) -> "_GradeBlock":
        """Return the relevance for a block of queries, dense."""
        rows = self.grades[block]
        dense = rows.toarray() if is_sparse(rows) else np.array(rows)
        if own_rows is not None:
            dense[np.arange(len(dense)), own_rows] = 0
        return _GradeBlock(dense)


@dataclass(frozen=True, eq=False)
class _GradeBlock:
    """The relevance of items to a block of queries, by grades; its methods are as above."""

    grades: np.ndarray

    @cached_property
    def n_relevant(self) -> np.ndarray:
        return np.count_nonzero(self.grades, axis=1)

    def take(self, which: np.ndarray) -> Self:
        return type(self)(self.grades[which])

    def among(self, items: np.ndarray) -> Self:
        return type(self)(np.where(items, self.grades, 0))

    def gains(self, order: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self.grades, order, axis=1)

    def ideal(self, k: int) -> np.ndarray:
        k = min(k, self.grades.shape[1])
        return -np.sort(-np.partition(self.grades, -k, axis=1)[:, -k:], axis=1)


Truth: TypeAlias = SameLabel | Grades
BlockTruth: TypeAlias = _LabelBlock | _GradeBlock


def check_truth(
    labels: Any, item_labels: Any, relevance: Any, queries: Any, items: Any, same: bool
) -> Truth:
    """Return the relevance by labels or grades; with `same` the items are the queries."""
    if (labels is None) == (relevance is None):
        given = "neither" if labels is None else "both"
        raise ValueError(f"one of labels and relevance must be given, but {given} was given.")
    if relevance is not None:
        grades = check_rows(relevance, "relevance", n_features=n_rows(items))
        check_same_length(queries, "queries", grades, "relevance")
        values = grades.data if is_sparse(grades) else grades
        if values.size and values.min() < 0:
            raise ValueError(
                f"relevance holds {values.min():.4g}, but grades must not be negative."
            )
        return Grades(grades)
    if not same and item_labels is None:
        raise ValueError("labels and items were given without item_labels, which are needed too.")
    left = right = check_labels(labels, "labels", queries, "queries")
    if item_labels is not None:
        right = check_labels(item_labels, "item_labels", items, "items")
    return SameLabel.between(left, right)


def check_seen(trained_on: Any, n_items: int) -> np.ndarray:
    """Return a mask of the training items, from a mask or from grades."""
    given = trained_on if is_sparse(trained_on) else _as_array(trained_on)
    if given.ndim not in (1, 2):
        raise ValueError(
            "trained_on must be a mask of items (1-D) or grades (2-D, a row a training query and a "
            f"column an item), but {given.ndim}-D was given."
        )
    if given.ndim == 1 and (is_sparse(given) or given.dtype != bool):
        kind = f"{'sparse ' if is_sparse(given) else ''}{given.dtype}"
        raise TypeError(
            f"trained_on must be a boolean array where it is 1-D, a mask of items, but {kind} was "
            "given."
        )
    if given.shape[-1] != n_items:
        what = "entries" if given.ndim == 1 else "columns"
        raise ValueError(
            f"trained_on has {given.shape[-1]} {what}, but {n_items} are needed, one for each item."
        )
    return given if given.ndim == 1 else relevant_items(check_relevance(given, name="trained_on"))


def _as_array(trained_on: Any) -> np.ndarray:
    try:
        return np.asarray(trained_on)
    except ValueError as error:  # rows of unequal length
        raise ValueError(
            f"trained_on must be a mask of items or rows of grades: {error}"
        ) from error
