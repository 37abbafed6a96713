"""How far the agreement of a pair is ahead of the other candidates of its records."""

import numpy as np

from likewise.matching._candidates import Candidates
from likewise.matching._guess import Guess
from likewise.matching._records import WHOLE

NAMES = [
    (WHOLE, title)
    for title in ("agreement", "lead of left by agreement", "lead of right by agreement",
                  "lead by agreement")
]  # fmt: skip


class Agreement:
    """The agreement of all candidates by a guess, with which that of other pairs is compared.

    Parameters
    ----------
    guess : Guess
    candidates : Candidates
    levels : (n_candidates, n_fields + 1) int8 array
    n_left, n_right : int
        Numbers of records.
    one_table : bool
    """

    def __init__(
        self,
        guess: Guess,
        candidates: Candidates,
        levels: np.ndarray,
        n_left: int,
        n_right: int,
        *,
        one_table: bool,
    ) -> None:
        self._guess, self._n_right = guess, n_right
        self._keys = self._key(candidates)
        values = guess.agreement(levels)
        if one_table:
            rows = np.concatenate([candidates.left, candidates.right])
            both = _Best(rows, np.concatenate([values, values]), n_left)
            self._best = both, both
        else:
            self._best = (
                _Best(candidates.left, values, n_left),
                _Best(candidates.right, values, n_right),
            )

    def features(self, pairs: Candidates, levels: np.ndarray) -> np.ndarray:
        """Return the agreement of pairs, and its leads over other candidates of their records."""
        values = self._guess.agreement(levels)
        keys = self._key(pairs)
        place = np.minimum(np.searchsorted(self._keys, keys), max(0, len(self._keys) - 1))
        known = self._keys[place] == keys if len(self._keys) else np.zeros(len(pairs), bool)
        leads = [
            values - np.maximum(best.others(rows, values, known), self._guess.lowest)
            for best, rows in zip(self._best, pairs, strict=True)
        ]
        return np.column_stack([values, *leads, np.minimum(*leads)])

    def _key(self, pairs: Candidates) -> np.ndarray:
        return pairs.left.astype(np.int64) * self._n_right + pairs.right


class _Best:
    """The best and the second-best value of each record."""

    def __init__(self, rows: np.ndarray, values: np.ndarray, n_records: int) -> None:
        self._first, self._second = np.full((2, n_records), -np.inf)
        self._n_first = np.zeros(n_records, dtype=np.int64)
        np.maximum.at(self._first, rows, values)
        is_first = values == self._first[rows]
        np.add.at(self._n_first, rows[is_first], 1)
        np.maximum.at(self._second, rows[~is_first], values[~is_first])

    def others(self, rows: np.ndarray, values: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the best value of rows without one of theirs, where that is known among them."""
        alone = known & (values == self._first[rows]) & (self._n_first[rows] == 1)
        return np.where(alone, self._second[rows], self._first[rows])
