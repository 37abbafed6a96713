"""Candidate pairs by exact search in both directions, and leads of pairs over other records."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.matching._words import Encoded
from likewise.similarities import Bilinear, Matches


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of records that are compared, by row number; iterates over both arrays.

    Attributes
    ----------
    left, right : (n_pairs,) int64 arrays
        Ordered by left, then right. In one table, left < right.
    """

    left: np.ndarray
    right: np.ndarray

    def __post_init__(self) -> None:
        for rows in (self.left, self.right):
            if rows.dtype.kind != "i" or rows.shape != (len(self.left),) or (rows < 0).any():
                raise ValueError("left and right must be as many row numbers, from 0.")

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.left, self.right))

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"Candidates({len(self)} pairs)"


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest records of each record in the other table, in both directions."""

    right_of_left: Matches
    left_of_right: Matches


def nearest(encoded: Encoded, k: int, *, one_table: bool) -> Nearest:
    """Find the `k` nearest records by inner product, exactly; in one table, never the same one."""
    cosine = Bilinear(1.0)  # of rows of unit length
    if one_table:
        found = cosine.neighbors(encoded.left, encoded.left, k, exclude_self=True)
        return Nearest(found, found)
    return Nearest(
        cosine.neighbors(encoded.left, encoded.right, k),
        cosine.neighbors(encoded.right, encoded.left, k),
    )


def find_candidates(near: Nearest, k: int, *, one_table: bool) -> Candidates:
    """Unite the `k` nearest of both directions; records without a common term are no candidates."""
    rows, others = _listed(near.right_of_left, k)
    if one_table:
        pairs = np.stack([np.minimum(rows, others), np.maximum(rows, others)])
    else:
        back_rows, back_others = _listed(near.left_of_right, k)
        pairs = np.stack([np.append(rows, back_others), np.append(others, back_rows)])
    left, right = np.unique(pairs, axis=1)
    return Candidates(left, right)


def _listed(matches: Matches, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their `k` nearest with a positive score, pair by pair."""
    positive = matches.scores[:, :k] > 0
    rows = np.nonzero(positive)[0]
    return rows.astype(np.int64), matches.ids[:, :k][positive].astype(np.int64)


def leads(near: Nearest, pairs: Candidates, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair's cosine minus the best that its left, or right, record has with others."""
    return (
        cosines - _best_other(near.right_of_left, pairs.left, pairs.right),
        cosines - _best_other(near.left_of_right, pairs.right, pairs.left),
    )


def _best_other(matches: Matches, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the best score of each row with any item but the one it is paired with."""
    scores: Any = np.maximum(matches.scores[:, :2], 0.0)  # padded by −inf where there is no other
    first = matches.ids[rows, 0] == others
    return np.where(first, scores[rows, 1], scores[rows, 0])
