"""Candidate pairs: each record with its nearest records, in both directions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from likewise.matching._nearest import Nearest


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of records that are compared, by row number; iterates over both arrays.

    Attributes
    ----------
    left, right : (n_pairs,) integer arrays
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

    def __getitem__(self, which: slice | np.ndarray) -> "Candidates":
        return Candidates(self.left[which], self.right[which])

    def rows(self) -> list[tuple[int, int]]:
        """Return the row numbers of each pair."""
        return list(zip(self.left.tolist(), self.right.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Candidates({len(self)} pairs)"


def find_candidates(forth: Nearest, back: Nearest | None, k: int) -> Candidates:
    """Unite the `k` nearest of both directions; in one table there is no way back.

    Records without a common term are no candidates.
    """
    rows, others = _listed(forth, k)
    if back is None:
        rows, others = np.minimum(rows, others), np.maximum(rows, others)
    else:
        back_rows, back_others = _listed(back, k)
        rows, others = np.append(rows, back_others), np.append(others, back_rows)
    n = int(others.max(initial=0)) + 1
    keys = np.unique(rows.astype(np.int64) * n + others)
    return Candidates((keys // n).astype(np.int32), (keys % n).astype(np.int32))


def _listed(near: Nearest, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their `k` nearest, pair by pair."""
    found = near.ids[:, :k] >= 0
    return np.nonzero(found)[0].astype(np.int32), near.ids[:, :k][found]
