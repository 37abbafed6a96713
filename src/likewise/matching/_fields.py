"""The values of one field in both tables, and how two of them compare."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise.matching._candidates import Candidates
from likewise.matching._nearest import Nearest, csr_rows, nearest
from likewise.matching._records import WHOLE, Column, number
from likewise.matching._strings import Strings
from likewise.matching._words import (
    Encoded,
    codes,
    count_pieces,
    count_words,
    encode,
    is_code,
    presence,
)
from likewise.similarities import paired_products, ratio, sums

_MAX_CODES = 3
_MAX_CODE_LENGTH = 12
_EQUAL = 1e-12  # smallest lead
Features = Iterator[tuple[str, np.ndarray]]


class FieldValues:
    """The different values of one field in two tables, or in one, or whole records.

    All features depend on two values and on both tables, so pairs of records with the same values
    are compared once.

    Parameters
    ----------
    name : str
    kind : {"number", "string", "text", "*"}
    values : list of str
        Each once, except for whole records; "" is missing.
    left, right : (n_records,) int32 arrays
        Numbers of the records' values; right is None for one table.
    """

    def __init__(
        self, name: str, kind: str, values: list[str], left: np.ndarray, right: np.ndarray | None
    ) -> None:
        self.name, self.kind, self.values = name, kind, values
        self.left, self.right = left, left if right is None else right
        self.one_table = right is None

    @classmethod
    def of_columns(cls, name: str, kind: str, left: Column, right: Column | None) -> "FieldValues":
        """Return the values of a field."""
        number_of: dict[str, int] = {}

        def numbers(column: Column) -> np.ndarray:
            known = [number_of.setdefault(value, len(number_of)) for value in column.values]
            return np.array(known, dtype=np.int32)[column.codes]

        sides = numbers(left), None if right is None else numbers(right)
        return cls(name, kind, list(number_of), *sides)

    @classmethod
    def of_records(cls, left: list[str], right: list[str] | None) -> "FieldValues":
        """Return whole records, each a value of its own."""
        n_left, n = len(left), len(left) + len(right or [])
        numbers = np.arange(n, dtype=np.int32)
        sides = numbers[:n_left], None if right is None else numbers[n_left:]
        return cls(WHOLE, WHOLE, [*left, *(right or [])], *sides)

    def features(self, pairs: Candidates) -> Features:
        """Yield the titles and values of all features of these pairs."""
        keys = self.left[pairs.left].astype(np.int64) * len(self.values) + self.right[pairs.right]
        different, place = np.unique(keys, return_inverse=True)
        left, right = different // len(self.values), different % len(self.values)
        for title, values in self._features(left, right):
            yield title, values[place]

    def _features(self, left: np.ndarray, right: np.ndarray) -> Features:
        n_missing = self._missing[left].astype(int) + self._missing[right]
        both = n_missing == 0
        if self.kind != WHOLE:
            yield "missing in one", (n_missing == 1).astype(float)
            yield "missing in both", (n_missing == 2).astype(float)
            yield "same", np.where(both, left == right, np.nan)
        for title, values in self._compared(left, right):
            yield title, np.where(both, values, np.nan)

    def _compared(self, left: np.ndarray, right: np.ndarray) -> Features:
        cosines = _cosines(self.letters, left, right)
        yield "letters", cosines
        if self.kind in ("string", "number"):
            jaro_winkler, edit = self._strings.compare(left, right)
            yield "Jaro-Winkler", jaro_winkler
            yield "edits", edit
        if self.kind == "number":
            a, b = self._numbers[left], self._numbers[right]
            size = np.maximum(np.abs(a), np.abs(b))
            yield "difference", np.where(np.isnan(size), np.nan, ratio(np.abs(a - b), size))
            return
        word_cosines = _cosines(self.words, left, right)
        yield "words", word_cosines
        yield from self._shared_words(left, right)
        if self.kind == WHOLE:
            length = self._code_inside(left, right)
            yield "code inside", (length > 0).astype(float)
            yield "length of code inside", length
            for terms, values in (("letters", cosines), ("words", word_cosines)):
                of_left, of_right = self._leads(terms, left, right, values)
                yield f"lead of left by {terms}", of_left
                yield f"lead of right by {terms}", of_right
                yield f"lead by {terms}", np.minimum(of_left, of_right)
        elif self.kind == "string":
            yield "lead", np.minimum(*self._leads("letters", left, right, cosines))
        else:
            yield "lead", np.minimum(*self._leads("words", left, right, word_cosines))

    def cosines(self, pairs: Candidates) -> np.ndarray:
        """Return the three-letter cosines of pairs of records; 0 where a value is missing."""
        return _cosines(self.letters, self.left[pairs.left], self.right[pairs.right])

    def near(self, terms: str, k: int) -> tuple[Nearest, Nearest | None]:
        """Return the nearest different values of each value, by ``words`` or ``letters``.

        Of the left values in the right table and back; in one table there is no way back, and
        whole records leave themselves out.
        """
        found = self._searched.get(terms)
        if found is None or found[0].ids.shape[1] < min(k, len(self._on_right.numbers)):
            rows, words = getattr(self, terms).rows, self.words.rows
            left, right = (
                (_take(rows, side.numbers), _take(words, side.numbers))
                for side in (self._on_left, self._on_right)
            )
            found = self._nearest(left, right, k), None
            if not self.one_table:
                found = found[0], self._nearest(right, left, k)
            self._searched[terms] = found
        return found

    def _nearest(self, queries: tuple[Any, Any], items: tuple[Any, Any], k: int) -> Nearest:
        """Return the nearest of items, by their rows; both come with the rows of their words."""
        alone = self.one_table and self.kind == WHOLE
        return nearest(queries[0], items[0], k, (queries[1], items[1]), exclude_self=alone)

    @cached_property
    def letters(self) -> Encoded:
        """Rows of three-letter pieces."""
        return encode(count_pieces(self.values), self._n_records)

    @cached_property
    def words(self) -> Encoded:
        """Rows of words."""
        return encode(count_words(self.values), self._n_records)

    def _leads(
        self, terms: str, left: np.ndarray, right: np.ndarray, cosines: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return each cosine minus the best of the left, or right, value with other records."""
        forth, back = self.near(terms, 3 if self.one_table else 2)
        on_left, on_right = self._on_left, self._on_right
        best_of_left = self._best_other(forth, on_left, on_right, left, right)
        best_of_right = self._best_other(back or forth, on_right, on_left, right, left)
        return _difference(cosines, best_of_left), _difference(cosines, best_of_right)

    def _best_other(
        self, near: Nearest, side: "_Side", others: "_Side", own: np.ndarray, other: np.ndarray
    ) -> np.ndarray:
        """Return the best cosine of a value with records other than the two of the pair."""
        rows = np.searchsorted(side.numbers, own)
        best = np.zeros(len(own))
        is_open = np.ones(len(own), dtype=bool)
        for rank in range(near.ids.shape[1]):
            ids, scores = near.ids[rows, rank], near.scores[rows, rank]
            value = others.numbers[np.maximum(ids, 0)]
            n_others = others.n_records[value] - (value == other)
            if self.one_table:
                n_others = n_others - (value == own)
            found = is_open & (ids >= 0) & (n_others > 0)
            best[found] = scores[found]
            is_open &= ~found
        return best

    def _shared_words(self, left: np.ndarray, right: np.ndarray) -> Features:
        """Yield how many words and codes the values share, and how rare these are."""
        idf, code = self.words.idf, self._is_code
        has_left, has_right = self._word_sets[left], self._word_sets[right]
        shared = has_left.multiply(has_right).tocsr()
        n_left, n_right, n_shared = sums(has_left), sums(has_right), sums(shared)
        yield "Jaccard", ratio(n_shared, n_left + n_right - n_shared)
        yield "contained", ratio(n_shared, np.minimum(n_left, n_right))
        smaller = np.minimum(has_left @ idf, has_right @ idf)
        yield "contained by idf", ratio(shared @ idf, smaller)
        n_codes = shared @ code
        yield "codes shared", np.minimum(n_codes, _MAX_CODES)
        both_have = (has_left @ code > 0) & (has_right @ code > 0)
        yield "codes differ", ((n_codes == 0) & both_have).astype(float)
        if self.kind != "string":
            yield "rarest shared word", shared.multiply(idf).tocsr().max(axis=1).toarray().ravel()
            yield "lengths", ratio(np.minimum(n_left, n_right), np.maximum(n_left, n_right))

    def _code_inside(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the length of the longest code of one record that the other contains."""
        lengths = np.zeros(len(left))
        known: dict[int, tuple[list[str], str]] = {}  # codes; letters and digits
        has_code = self._has_code[left] | self._has_code[right]
        for pair in np.flatnonzero(has_code).tolist():
            records = int(left[pair]), int(right[pair])
            for record in records:
                if record not in known:
                    text = self.values[record]
                    known[record] = codes(text), "".join(filter(str.isalnum, text))
            (codes_left, text_left), (codes_right, text_right) = (known[r] for r in records)
            inside = [len(code) for code in codes_left if code in text_right]
            inside += [len(code) for code in codes_right if code in text_left]
            lengths[pair] = min(max(inside, default=0), _MAX_CODE_LENGTH)
        return lengths

    @cached_property
    def _searched(self) -> dict[str, tuple[Nearest, Nearest | None]]:
        return {}

    @cached_property
    def _n_records(self) -> np.ndarray:
        """Number of records that have each value."""
        n = self._on_left.n_records
        return n if self.one_table else n + self._on_right.n_records

    @cached_property
    def _on_left(self) -> "_Side":
        return _Side.of(self.left, len(self.values))

    @cached_property
    def _on_right(self) -> "_Side":
        return self._on_left if self.one_table else _Side.of(self.right, len(self.values))

    @cached_property
    def _missing(self) -> np.ndarray:
        return np.array([value == "" for value in self.values])

    @cached_property
    def _strings(self) -> Strings:
        return Strings(self.values)

    @cached_property
    def _numbers(self) -> np.ndarray:
        return np.array([number(value) for value in self.values], dtype=float)

    @cached_property
    def _word_sets(self) -> Any:
        return presence(self.words.rows)

    @cached_property
    def _is_code(self) -> np.ndarray:
        return np.array([is_code(word) for word in self.words.terms], dtype=float)

    @cached_property
    def _has_code(self) -> np.ndarray:
        return np.asarray(self._word_sets @ self._is_code > 0)


class _Side(NamedTuple):
    """The values of one table: their numbers, and how many records have each number."""

    numbers: np.ndarray
    n_records: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, n_values: int) -> "_Side":
        n_records = np.bincount(values, minlength=n_values)
        return cls(np.flatnonzero(n_records), n_records)


def _difference(cosines: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the lead, exactly 0 for equal cosines, which are sums in different orders."""
    lead = cosines - best
    return np.where(np.abs(lead) < _EQUAL, 0.0, lead)


def _cosines(encoded: Encoded, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.minimum(paired_products(encoded.rows[left], encoded.rows[right]), 1.0)


def _take(rows: Any, numbers: np.ndarray) -> Any:
    """Return some rows, without a copy where they are consecutive."""
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first + 1 == len(numbers):
        return csr_rows(rows, slice(first, last + 1))
    return rows[numbers]
