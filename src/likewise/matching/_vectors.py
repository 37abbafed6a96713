"""Comparison vectors: how two records agree, field by field, and on the whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from likewise._execution import current_backend
from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise.matching._candidates import Candidates, find_candidates
from likewise.matching._fields import FieldValues
from likewise.matching._guess import Guess, LevelColumns, fit_guess
from likewise.matching._records import WHOLE, Records
from likewise.matching._words import Encoded

_PAIRS_AT_A_TIME = 16_384
_KEPT_BYTES = 1 << 29  # comparison vectors of more are computed again when they are needed


class Comparison:
    """Two tables, or one with itself, encoded for comparison.

    The names and number of features depend on the fields alone, and their values on the two
    records and both tables.

    Parameters
    ----------
    left : Records
    right : Records or None
        None: pairs of different records of `left`.
    kinds : dict of field to kind
    """

    def __init__(self, left: Records, right: Records | None, kinds: dict[str, str]) -> None:
        self.left, self.right, self.kinds = left, right or left, kinds
        self.one_table = right is None
        self._fields = [
            FieldValues.of_columns(
                name, kind, left.columns[name], right.columns[name] if right else None
            )
            for name, kind in kinds.items()
        ]
        self._whole = FieldValues.of_records(left.whole, right.whole if right else None)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Field and title of each feature."""
        none = Candidates(*np.empty((2, 0), dtype=np.int32))
        return [(field.name, title) for field in self._all for title, _ in field.features(none)]

    @cached_property
    def level_columns(self) -> LevelColumns:
        """The features that levels of agreement are read from."""
        return LevelColumns(self.names, self.kinds)

    def candidates(self, k: int) -> Candidates:
        """Return the pairs of each record with its `k` nearest, in both directions."""
        return find_candidates(*self._whole.near("letters", max(k, 3)), k)

    def vectors(self, pairs: Candidates) -> np.ndarray:
        """Return the comparison vectors of pairs, NaN where a feature has no value."""
        return _vectors(pairs, self._all)

    def compare(self, pairs: Candidates) -> "ComparedPairs":
        """Compare pairs in blocks; keep their vectors if they fit into the limit of memory."""
        keep = 4 * len(pairs) * len(self.names) <= _KEPT_BYTES
        appeal = [self.names.index((WHOLE, title)) for title in ("letters", "lead by letters")]
        found = list(self.map(_examined, pairs, self.level_columns, appeal, keep))
        levels, appeals, vectors = (np.concatenate(side) for side in zip(*found, strict=True))
        return ComparedPairs(pairs, levels, appeals, vectors if keep else None)

    def map(
        self, function: Callable[..., Any], pairs: Candidates, *arguments: Any
    ) -> Iterator[Any]:
        """Yield ``function(vectors, block, *arguments)`` for blocks of pairs, in order.

        Vectors are float32, and a block is a slice of the pairs.
        """
        blocks = list(slices(len(pairs), _PAIRS_AT_A_TIME)) or [slice(0, 0)]
        self.prepare()
        backend = current_backend()
        if backend is not None:
            tasks = [(pairs[block], block) for block in blocks]
            return backend.map_tasks(_apply, tasks, self._all, function, arguments)
        results: dict[int, Any] = {}

        def work(block: slice) -> None:
            results[block.start] = _apply((pairs[block], block), self._all, function, arguments)

        with LongWork("comparing records", total=len(blocks), unit="blocks") as progress:
            for_each(work, blocks, on_done=progress.advance)
        return (results[block.start] for block in blocks)

    def prepare(self) -> None:
        """Encode the tables and search for the nearest values, which all blocks need."""
        self.vectors(Candidates(*np.zeros((2, min(1, len(self.left))), dtype=np.int32)))

    def cosines(self, name: str, pairs: Candidates) -> np.ndarray:
        """Return the three-letter cosines of a field, or of ``*``; 0 where a value is missing."""
        return next(field.cosines(pairs) for field in self._all if field.name == name)

    def letters(self, name: str) -> Encoded:
        """Return the three-letter rows of a field, or of ``*``."""
        return next(field.letters for field in self._all if field.name == name)

    @property
    def _all(self) -> list[FieldValues]:
        return [*self._fields, self._whole]


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """Pairs, and what is kept of their comparison vectors.

    Attributes
    ----------
    pairs : Candidates
    levels : (n_pairs, n_fields + 1) int8 array
        Levels of agreement of each field and the lead.
    appeal : (n_pairs,) float32 array
        Similarity plus lead, by the letters of whole records.
    vectors : (n_pairs, n_features) float32 array or None
        None where there are too many.
    """

    pairs: Candidates
    levels: np.ndarray
    appeal: np.ndarray
    vectors: np.ndarray | None

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def guess(self) -> Guess:
        """The guess without labels, of these pairs."""
        return fit_guess(self.levels)

    def vectors_of(self, comparison: Comparison, which: np.ndarray) -> np.ndarray:
        """Return the comparison vectors of some of the pairs."""
        if self.vectors is not None:
            return self.vectors[which]
        return comparison.vectors(self.pairs[which]).astype(np.float32)


def _examined(
    vectors: np.ndarray, block: slice, columns: LevelColumns, appeal: list[int], keep: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return levels, appeal, and the vectors that are kept."""
    sums = np.nan_to_num(vectors[:, appeal]).sum(axis=1)
    return columns.levels(vectors), sums, vectors if keep else vectors[:0]


def _apply(
    task: tuple[Candidates, slice],
    fields: list[FieldValues],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> Any:
    """Compare a block of pairs: a task of a cluster, too."""
    pairs, block = task
    return function(_vectors(pairs, fields).astype(np.float32), block, *arguments)


def _vectors(pairs: Candidates, fields: list[FieldValues]) -> np.ndarray:
    """Return one row for each pair, and a column for each feature of the fields."""
    columns = [values for field in fields for _, values in field.features(pairs)]
    return np.stack(columns, axis=1)
