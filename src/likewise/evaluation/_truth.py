"""What is relevant to a query: the items of its label, or those that were graded."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from likewise._validation import (
    Rows,
    check_labels,
    check_rows,
    check_same_length,
    is_sparse,
    n_rows,
)


class Truth(Protocol):
    """What is relevant to the queries, of which blocks are asked for."""

    @property
    def numbers_a_query(self) -> int:
        """How many numbers a block holds for each of its queries."""

    def of(self, block: Any, own_rows: np.ndarray | None) -> "BlockTruth":
        """Return what is relevant to some queries.

        `own_rows` says which items the queries themselves are: nothing is relevant to itself.
        """


class BlockTruth(Protocol):
    """What is relevant to a block of queries."""

    @property
    def n_relevant(self) -> np.ndarray:
        """How many items are relevant to each."""

    def take(self, which: np.ndarray) -> Self:
        """Return the same for some queries of the block."""

    def gains(self, order: np.ndarray) -> np.ndarray:
        """Return the grades of items, which are given row by row for each query."""

    def ideal(self, k: int) -> np.ndarray:
        """Return the highest `k` grades of each query, or all, in descending order."""


@dataclass(frozen=True, eq=False)
class SameLabel:
    """Items with the label of the query are relevant; labels are numbers from 0.

    Attributes
    ----------
    wanted : of the queries; −1 where no item has it
    held : of the items
    """

    wanted: np.ndarray
    held: np.ndarray

    numbers_a_query = 1

    @classmethod
    def between(cls, labels: np.ndarray, item_labels: np.ndarray) -> "SameLabel":
        """Return labels of any kind as numbers."""
        numbers: dict[Any, int] = {}
        held = [numbers.setdefault(label, len(numbers)) for label in item_labels.tolist()]
        wanted = [numbers.get(label, -1) for label in labels.tolist()]
        return cls(np.array(wanted, np.int64), np.array(held, np.int64))

    def of(self, block: Any, own_rows: np.ndarray | None) -> "BlockTruth":
        """Count the items of each label."""
        wanted = self.wanted[block]
        n_relevant = np.append(np.bincount(self.held), 0)[wanted]
        if own_rows is not None:
            n_relevant -= self.held[own_rows] == wanted
        return _BlockOfLabels(wanted, self.held, n_relevant)


@dataclass(frozen=True, eq=False)
class _BlockOfLabels:
    wanted: np.ndarray
    held: np.ndarray
    n_relevant: np.ndarray

    def take(self, which: np.ndarray) -> Self:
        return type(self)(self.wanted[which], self.held, self.n_relevant[which])

    def gains(self, order: np.ndarray) -> np.ndarray:
        return (self.held[order] == self.wanted[:, None]).astype(np.float64)

    def ideal(self, k: int) -> np.ndarray:
        return (np.arange(k) < self.n_relevant[:, None]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Grades:
    """Relevance that was given, as an array or CSR."""

    grades: Rows

    @property
    def numbers_a_query(self) -> int:
        """As many as there are items."""
        return int(self.grades.shape[1])

    def of(self, block: Any, own_rows: np.ndarray | None) -> "BlockTruth":
        """Return the grades of the block, dense."""
        rows = self.grades[block]
        dense = rows.toarray() if is_sparse(rows) else np.array(rows)
        if own_rows is not None:
            dense[np.arange(len(dense)), own_rows] = 0
        return _BlockOfGrades(dense, np.count_nonzero(dense, axis=1))


@dataclass(frozen=True, eq=False)
class _BlockOfGrades:
    grades: np.ndarray
    n_relevant: np.ndarray

    def take(self, which: np.ndarray) -> Self:
        return type(self)(self.grades[which], self.n_relevant[which])

    def gains(self, order: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self.grades, order, axis=1)

    def ideal(self, k: int) -> np.ndarray:
        k = min(k, self.grades.shape[1])
        return -np.sort(-np.partition(self.grades, -k, axis=1)[:, -k:], axis=1)


def check_truth(
    labels: Any, item_labels: Any, relevance: Any, queries: Any, items: Any, same: bool
) -> SameLabel | Grades:
    """Return what says which items are relevant; with `same` they are the queries."""
    if (labels is None) == (relevance is None):
        raise ValueError("labels or relevance must be given to say what is relevant, not both.")
    if relevance is not None:
        grades = check_rows(relevance, "relevance", n_features=n_rows(items))
        check_same_length(queries, "queries", grades, "relevance")
        values = grades.data if is_sparse(grades) else grades
        if values.size and values.min() < 0:
            raise ValueError(f"relevance holds {values.min():.4g}, but grades start at 0.")
        return Grades(grades)
    if not same and item_labels is None:
        raise ValueError("item_labels is needed beside labels where there are items.")
    left = right = check_labels(labels, "labels", queries, "queries")
    if item_labels is not None:
        right = check_labels(item_labels, "item_labels", items, "items")
    return SameLabel.between(left, right)
