"""Labeled pairs: read, checked, and examined for contradictions."""

import numbers
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import numpy as np

from likewise.matching._candidates import Candidates
from likewise.matching._records import Records, id_text
from likewise.matching._vectors import Comparison
from likewise.tables import as_frame

_MIN_TO_JUDGE = 10  # matches and non-matches
_LABELS = {"0": False, "1": True, "false": False, "true": True}
_IDS = str | bytes | numbers.Number | np.generic | date | UUID
_NAMED = 3  # contradictions that a warning names


@dataclass(frozen=True, eq=False)
class Labels:
    """Labeled pairs, by row number.

    Attributes
    ----------
    pairs : Candidates
    is_match : (n_pairs,) bool array
    judging : (n_pairs,) bool array
        Pairs that are never learned from.
    asked : (n_pairs,) bool array
        Pairs that are answers to questions.
    """

    pairs: Candidates
    is_match: np.ndarray
    judging: np.ndarray
    asked: np.ndarray

    def part(self, which: np.ndarray) -> "Labels":
        """Return some of the labels."""
        return Labels(
            self.pairs[which], self.is_match[which], self.judging[which], self.asked[which]
        )

    def __len__(self) -> int:
        return len(self.is_match)

    @property
    def n_matches(self) -> int:
        """Number of labeled matches."""
        return int(self.is_match.sum())

    @property
    def n_others(self) -> int:
        """Number of labeled non-matches."""
        return len(self) - self.n_matches

    @property
    def are_few(self) -> bool:
        """Whether matches or non-matches are too few to judge by."""
        return min(self.n_matches, self.n_others) < _MIN_TO_JUDGE

    @property
    def were_asked(self) -> bool:
        """Whether most labels are answers to questions."""
        return 2 * int(self.asked.sum()) > len(self)


NO_LABELS = Labels(Candidates(*np.empty((2, 0), dtype=np.int64)), *np.empty((3, 0), dtype=bool))


def read_pairs(
    pairs: Any, left: Records, right: Records | None, name: str = "pairs"
) -> tuple[Candidates, dict[str, list[Any]]]:
    """Return the row numbers of pairs of ids, and the other columns of the frame.

    Parameters
    ----------
    pairs : frame with left_id and right_id, or sequence of (left id, right id, ...)
    left, right : Records
    name : str
        Of the argument, for errors.
    """
    columns = _columns(pairs, name)
    tables = [("left", left), ("right" if right else "left", right or left)]
    rows = np.empty((2, len(columns["left_id"])), dtype=np.int64)
    for side, (title, records) in enumerate(tables):
        column = ("left_id", "right_id")[side]
        for number, value in enumerate(columns[column]):
            found = None if value is None else records.rows.get(id_text(value))
            if found is None:
                raise ValueError(
                    f"{name} has the {column} {value!r} in row {number}, but {title} has no such "
                    "id."
                )
            rows[side, number] = found
    if right is None:
        equal = np.flatnonzero(rows[0] == rows[1])
        if len(equal):
            raise ValueError(
                f"{name} pairs the id {columns['left_id'][equal[0]]!r} with itself in row "
                f"{equal[0]}; two different records are needed."
            )
        rows = np.sort(rows, axis=0)
    return Candidates(*rows), columns


def read_pair(a: Any, b: Any, left: Records, right: Records | None) -> Candidates:
    """Return the row numbers of two ids, the arguments a and b."""
    second = ("left", left) if right is None else ("right", right)
    rows = []
    for name, value, (title, records) in (("a", a, ("left", left)), ("b", b, second)):
        if not isinstance(value, _IDS):
            raise TypeError(
                f"{name} must be an id of {title}, but a {type(value).__name__} was given."
            )
        row = records.rows.get(id_text(value))
        if row is None:
            raise ValueError(f"{name} is {value!r}, but {title} has no such id.")
        rows.append([row])
    if right is None and rows[0] == rows[1]:
        raise ValueError(f"a and b are both {a!r}, but two different records are needed.")
    return Candidates(*np.sort(rows, axis=0) if right is None else np.array(rows))


def _columns(pairs: Any, name: str) -> dict[str, list[Any]]:
    if isinstance(pairs, list | tuple):
        if not all(isinstance(row, list | tuple) and len(row) in (2, 3) for row in pairs):
            raise TypeError(
                f"{name} must be a frame with left_id, right_id and label, or a list of tuples."
            )
        titles = ("left_id", "right_id", "label")
        return {title: [row[p] for row in pairs if p < len(row)] for p, title in enumerate(titles)}
    frame = as_frame(pairs)
    for column in ("left_id", "right_id"):
        if column not in frame.names:
            listed = ", ".join(frame.names) or "none"
            raise ValueError(f"{name} needs a column {column!r}, but its columns are {listed}.")
    return {column: frame.values(column) for column in frame.names}


def read_labels(pairs: Any, left: Records, right: Records | None, name: str = "pairs") -> Labels:
    """Return labeled pairs; rows without a label are left out, repeated ones are united.

    A column ``judge`` marks the answers to questions, and is true for those that only judge.
    """
    found, columns = read_pairs(pairs, left, right, name)
    if len(columns.get("label", ())) < len(found):
        raise ValueError(f"{name} needs a label, 0 or 1, for each pair, but has no column 'label'.")
    labels: dict[tuple[int, int], tuple[bool, bool, bool]] = {}
    rows = zip(found.left.tolist(), found.right.tolist(), strict=True)
    judges = columns.get("judge", [None] * len(found))
    for number, (pair, label, judge) in enumerate(zip(rows, columns["label"], judges, strict=True)):
        is_match = _label(label, number, name)
        if is_match is None:
            continue
        judging = _label(judge, number, name, "judge")
        before = labels.setdefault(pair, (is_match, bool(judging), judging is not None))
        if before[0] != is_match:
            a, b = columns["left_id"][number], columns["right_id"][number]
            raise ValueError(
                f"{name} says that {a!r} and {b!r} match and, in row {number}, that they do not; "
                "one label is needed."
            )
    if not labels:
        raise ValueError(f"{name} has no label; give labels of both kinds, or none with None.")
    pairs_ = np.array(list(labels), dtype=np.int64).T
    values = np.array(list(labels.values()), dtype=bool)
    return Labels(Candidates(pairs_[0], pairs_[1]), *values.T)


def _label(value: Any, row: int, name: str, column: str = "label") -> bool | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    found = _LABELS.get(id_text(value).strip().lower())
    if found is None:
        raise ValueError(f"{name} has the {column} {value!r} in row {row}; 0 or 1 is needed.")
    return found


def check_both_kinds(labels: Labels, name: str = "pairs") -> None:
    """Refuse labels of one kind only."""
    if labels.n_matches and labels.n_others:
        return
    matches, others = f"{labels.n_matches} matches", f"{labels.n_others} non-matches"
    counts = f"{matches}, no non-match" if labels.n_matches else f"{others}, no match"
    raise ValueError(f"{name} has {counts}: both are needed, or none.")


def merge_labels(old: Labels, new: Labels) -> Labels:
    """Return old and new labels; a new label replaces an old one of the same pair.

    A pair that judged goes on judging.
    """
    rows, judges = new.pairs.rows(), set(old.part(old.judging).pairs.rows())
    judging = new.judging | np.array([pair in judges for pair in rows], dtype=bool)
    known = set(rows)
    kept = old.part(np.array([pair not in known for pair in old.pairs.rows()], dtype=bool))
    return Labels(
        Candidates(
            np.append(kept.pairs.left, new.pairs.left), np.append(kept.pairs.right, new.pairs.right)
        ),
        np.append(kept.is_match, new.is_match),
        np.append(kept.judging, judging),
        np.append(kept.asked, new.asked),
    )


def contradictions(labels: Labels, left: Records, right: Records | None) -> list[str]:
    """Return a sentence on non-matches that follow as matches from other labels, if any."""
    offset = 0 if right is None else len(left)
    parents: dict[int, int] = {}

    def root(node: int) -> int:
        while (parent := parents.get(node, node)) != node:
            node = parent
        return node

    rows = list(zip(labels.pairs.left.tolist(), (labels.pairs.right + offset).tolist(),
                    labels.is_match.tolist(), strict=True))  # fmt: skip
    for a, b, is_match in rows:
        if is_match:
            parents[root(a)] = root(b)
    ids = (right or left).ids
    against = [
        f"{left.ids[a]!r} and {ids[b - offset]!r}"
        for a, b, is_match in rows
        if not is_match and root(a) == root(b)
    ]
    if not against:
        return []
    more = f" and {len(against) - _NAMED} more" if len(against) > _NAMED else ""
    return [
        f"Labels contradict each other: {', '.join(against[:_NAMED])}{more} are labeled as "
        "different, but other labels make them the same."
    ]


def names_the_answer(comparison: Comparison, labels: Labels) -> list[str]:
    """Return sentences on fields that are equal in all labeled matches and in no non-match."""
    if labels.are_few:
        return []
    named = []
    for field in comparison.kinds:
        left, right = comparison.left.columns[field], comparison.right.columns[field]
        rows = zip(labels.pairs.left.tolist(), labels.pairs.right.tolist(), strict=True)
        same = np.array([left[a] == right[b] != "" for a, b in rows])
        if same[labels.is_match].all() and not same[~labels.is_match].any():
            named.append(
                f"{field} is equal in all labeled matches and in no non-match: if it names the "
                "answer, leave it out."
            )
    return named
