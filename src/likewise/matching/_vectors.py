"""Comparison vectors: how two records agree, field by field, and on the whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likewise._threads import slices
from likewise.matching._candidates import Candidates, Nearest, find_candidates, leads, nearest
from likewise.matching._records import WHOLE, Records, number
from likewise.matching._strings import string_features
from likewise.matching._words import Encoded, codes, encode, is_code, pieces, words
from likewise.similarities import paired_products, ratio, sums

_PAIRS_AT_A_TIME = 16_384
_MAX_CODES = 3
_MAX_CODE_LENGTH = 12
Features = Iterator[tuple[str, np.ndarray]]


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
            _Field(name, kind, left.values[name], None if right is None else right.values[name])
            for name, kind in kinds.items()
        ]
        self._whole = _Field(WHOLE, WHOLE, left.whole, None if right is None else right.whole)

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Field and title of each feature."""
        none = Candidates(*np.empty((2, 0), dtype=np.int64))
        return [(field.name, title) for field in self._all for title, _ in field.features(none)]

    def candidates(self, k: int) -> Candidates:
        """Return the pairs of each record with its `k` nearest, in both directions."""
        return find_candidates(self._whole.near("letters", max(k, 2)), k, one_table=self.one_table)

    def vectors(self, pairs: Candidates) -> np.ndarray:
        """Return the comparison vectors of pairs, NaN where a feature has no value."""
        vectors = np.empty((len(pairs), len(self.names)))
        for part in slices(len(pairs), _PAIRS_AT_A_TIME):
            some = Candidates(pairs.left[part], pairs.right[part])
            column = 0
            for field in self._all:
                for _, values in field.features(some):
                    vectors[part, column] = values
                    column += 1
        return vectors

    def appeal(self, vectors: np.ndarray) -> np.ndarray:
        """Return similarity plus lead of comparison vectors, by the letters of whole records."""
        columns = [self.names.index((WHOLE, t)) for t in ("letters", "lead by letters")]
        return np.nan_to_num(vectors[:, columns]).sum(axis=1)

    def letters(self, name: str) -> Encoded:
        """Return the three-letter rows of a field, or of ``*``."""
        return next(field.letters for field in self._all if field.name == name)

    @property
    def _all(self) -> list["_Field"]:
        return [*self._fields, self._whole]


@dataclass(frozen=True, eq=False)
class _Field:
    """The values of one field in both tables, or of the whole records."""

    name: str
    kind: str
    left: list[str]
    right: list[str] | None

    @cached_property
    def letters(self) -> Encoded:
        return encode(self.left, self.right, pieces)

    @cached_property
    def words(self) -> Encoded:
        return encode(self.left, self.right, words)

    @cached_property
    def _searched(self) -> dict[str, Nearest]:
        return {}

    def near(self, terms: str, k: int = 2) -> Nearest:
        """Return the nearest records by ``words`` or ``letters``, searched once."""
        found = self._searched.get(terms)
        if found is None or found.right_of_left.ids.shape[1] < k:
            encoded = getattr(self, terms)
            found = self._searched[terms] = nearest(encoded, k, one_table=self.right is None)
        return found

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of both tables as arrays of objects."""
        left = np.array(self.left, dtype=object)
        return left, left if self.right is None else np.array(self.right, dtype=object)

    def features(self, pairs: Candidates) -> Features:
        """Yield the titles and values of all features of these pairs."""
        left, right = (c[rows] for c, rows in zip(self._columns, pairs, strict=True))
        n_missing = (left == "").astype(int) + (right == "")
        both = n_missing == 0
        if self.kind != WHOLE:
            yield "missing in one", (n_missing == 1).astype(float)
            yield "missing in both", (n_missing == 2).astype(float)
            yield "same", np.where(both, left == right, np.nan)
        for title, values in self._compared(left, right, pairs):
            yield title, np.where(both, values, np.nan)

    def _compared(self, left: np.ndarray, right: np.ndarray, pairs: Candidates) -> Features:
        cosines = _cosines(self.letters, pairs)
        yield "letters", cosines
        if self.kind in ("string", "number"):
            jaro_winkler, edit = string_features(left, right)
            yield "Jaro-Winkler", jaro_winkler
            yield "edits", edit
        if self.kind == "number":
            yield "difference", _relative_difference(left, right)
            return
        word_cosines = _cosines(self.words, pairs)
        yield "words", word_cosines
        yield from _shared_words(self.words, pairs, with_lengths=self.kind != "string")
        if self.kind == WHOLE:
            length = self._code_inside(pairs)
            yield "code inside", (length > 0).astype(float)
            yield "length of code inside", length
            yield from _sided_leads("letters", self.near("letters"), pairs, cosines)
            yield from _sided_leads("words", self.near("words"), pairs, word_cosines)
        elif self.kind == "string":
            yield "lead", np.minimum(*leads(self.near("letters"), pairs, cosines))
        else:
            yield "lead", np.minimum(*leads(self.near("words"), pairs, word_cosines))

    @cached_property
    def _codes(self) -> list[tuple[list[list[str]], list[str]]]:
        """Codes of each record, and its letters and digits alone, for both tables."""
        sides = [self.left] if self.right is None else [self.left, self.right]
        found = [([codes(t) for t in texts], [_letters_and_digits(t) for t in texts])
                 for texts in sides]  # fmt: skip
        return [found[0], found[-1]]

    def _code_inside(self, pairs: Candidates) -> np.ndarray:
        """Return the length of the longest code of one record that the other contains."""
        (left_codes, left_texts), (right_codes, right_texts) = self._codes
        lengths = np.zeros(len(pairs))
        for p, (i, j) in enumerate(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)):
            longest = 0
            for found, text in ((left_codes[i], right_texts[j]), (right_codes[j], left_texts[i])):
                for code in found:
                    if len(code) > longest and code in text:
                        longest = len(code)
            lengths[p] = min(longest, _MAX_CODE_LENGTH)
        return lengths


def _cosines(encoded: Encoded, pairs: Candidates) -> np.ndarray:
    return np.minimum(paired_products(encoded.left[pairs.left], encoded.right[pairs.right]), 1.0)


def _sided_leads(terms: str, near: Nearest, pairs: Candidates, cosines: np.ndarray) -> Features:
    left, right = leads(near, pairs, cosines)
    yield f"lead of left by {terms}", left
    yield f"lead of right by {terms}", right
    yield f"lead by {terms}", np.minimum(left, right)


def _shared_words(encoded: Encoded, pairs: Candidates, *, with_lengths: bool) -> Features:
    """Yield how many words and codes the records share, and how rare these are."""
    idf = encoded.tfidf.idf
    code = np.zeros(len(idf))
    code[[place for term, place in encoded.tfidf.terms.items() if is_code(term)]] = 1
    left, right = (s[rows] for s, rows in zip(encoded.sets, pairs, strict=True))
    shared = left.multiply(right).tocsr()
    n_left, n_right, n_shared = sums(left), sums(right), sums(shared)
    yield "Jaccard", ratio(n_shared, n_left + n_right - n_shared)
    yield "contained", ratio(n_shared, np.minimum(n_left, n_right))
    yield "contained by idf", ratio(shared @ idf, np.minimum(left @ idf, right @ idf))
    n_codes = shared @ code
    yield "codes shared", np.minimum(n_codes, _MAX_CODES)
    yield "codes differ", ((n_codes == 0) & (left @ code > 0) & (right @ code > 0)).astype(float)
    if with_lengths:
        yield "rarest shared word", shared.multiply(idf).tocsr().max(axis=1).toarray().ravel()
        yield "lengths", ratio(np.minimum(n_left, n_right), np.maximum(n_left, n_right))


def _relative_difference(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return |a − b| / max(|a|, |b|) of values that are numbers, else NaN."""
    a, b = (np.array([number(text) for text in side], dtype=float) for side in (left, right))
    size = np.maximum(np.abs(a), np.abs(b))
    return np.where(np.isnan(size), np.nan, ratio(np.abs(a - b), size))


def _letters_and_digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
