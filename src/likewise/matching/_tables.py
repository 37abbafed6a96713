"""Two tables, or one, as they were compared, with labels and questions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.matching._candidates import Candidates
from likewise.matching._labels import NO_LABELS, Labels
from likewise.matching._records import Records, fingerprint, read_records
from likewise.matching._vectors import ComparedPairs, Comparison

Sides = tuple[Records, Records | None]


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Tables with their compared candidates, labels and questions.

    Attributes
    ----------
    frame : frame
        The left table, whose library results are given in.
    comparison : Comparison
    fingerprint : str
    compared : ComparedPairs
        The candidates.
    labels : Labels
    asked : dict
        Keys of the pairs that were asked about, and whether they judge.
    """

    frame: Any
    comparison: Comparison
    fingerprint: str
    compared: ComparedPairs
    labels: Labels = NO_LABELS
    asked: dict[int, bool] = field(default_factory=dict)

    @property
    def candidates(self) -> Candidates:
        """The pairs that are compared by default."""
        return self.compared.pairs

    @property
    def sides(self) -> Sides:
        """The records of both tables; None for the right one of one table."""
        comparison = self.comparison
        return comparison.left, None if comparison.one_table else comparison.right

    @property
    def learned(self) -> Labels:
        """Labels that are learned from."""
        return self.labels.part(~self.labels.judging)

    @property
    def judges(self) -> Labels:
        """Labels that only judge."""
        return self.labels.part(self.labels.judging)

    def keys(self, pairs: Candidates) -> np.ndarray:
        """Return one number for each pair, the same for the same pair."""
        return pairs.left.astype(np.int64) * len(self.comparison.right) + pairs.right

    def ids(self, pairs: Candidates) -> dict[str, list[Any]]:
        """Return the ids of pairs, as columns."""
        left, right = self.comparison.left.ids, self.comparison.right.ids
        return {
            "left_id": [left[row] for row in pairs.left.tolist()],
            "right_id": [right[row] for row in pairs.right.tolist()],
        }

    def as_frame(self, columns: dict[str, Any]) -> Any:
        """Return columns as a frame of the library of the left table."""
        nw = require_extra("narwhals", "cli", "reading a frame")
        backend = nw.get_native_namespace(nw.from_native(self.frame, eager_only=True))
        return nw.from_dict(columns, backend=backend).to_native()

    def sentence(self, n_pairs: int) -> str:
        """Return how many pairs were compared."""
        n_left, n_right = len(self.comparison.left), len(self.comparison.right)
        of = f"among {n_left}" if self.comparison.one_table else f"of {n_left} × {n_right}"
        return f"{n_pairs} candidates {of} records; all other pairs were not compared."


def read_sides(left: Any, right: Any, fields: list[str]) -> Sides:
    """Return the records of both tables."""
    return (
        read_records(left, fields, "left"),
        None if right is None else read_records(right, fields, "right"),
    )


def compare_tables(frame: Any, sides: Sides, kinds: dict[str, str], k: int) -> ComparedTables:
    """Find the candidates of two tables, or of one, and compare them."""
    comparison = Comparison(*sides, kinds)
    compared = comparison.compare(comparison.candidates(k))
    return ComparedTables(frame, comparison, fingerprint(*sides), compared)
