"""Words, codes and tf-idf rows of the values of a field."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_PIECE = 3  # letters
_CODE_LETTERS, _CODE_DIGITS = 4, 5  # minimum lengths of codes


def words(text: str) -> list[str]:
    """Return the words of a normalized text; a hyphen joins its words into one.

    >>> words("sony ps-lx350h (black)")
    ['sony', 'pslx350h', 'black']
    """
    return [word.replace("-", "") for word in _WORD.findall(text)]


def is_code(word: str) -> bool:
    """Tell whether a word is a code: with a digit and four letters, or of five digits."""
    if word.isdigit():
        return len(word) >= _CODE_DIGITS
    return len(word) >= _CODE_LETTERS and any(letter.isdigit() for letter in word)


def codes(text: str) -> list[str]:
    """Return the different codes of a normalized text."""
    return sorted({word for word in words(text) if is_code(word)})


def pieces(text: str) -> list[str]:
    """Return the three-letter pieces of the words of a text, each word between spaces."""
    return [
        padded[start : start + _PIECE]
        for padded in (f" {word} " for word in words(text))
        for start in range(len(padded) - _PIECE + 1)
    ]


@dataclass(frozen=True, eq=False)
class TfIdf:
    """Sublinear tf-idf of terms, with rows of unit length.

    Attributes
    ----------
    terms : dict of str to int
        Columns, in order of the terms.
    idf : (n_terms,) array
    """

    terms: dict[str, int]
    idf: np.ndarray

    @classmethod
    def fit(cls, documents: list[list[str]]) -> tuple["TfIdf", Any]:
        """Return the encoding of lists of terms, and their counts as a CSR array."""
        terms = {term: place for place, term in enumerate(sorted(set().union(*documents)))}
        counts = count_rows(documents, terms)
        n_with = np.bincount(counts.indices, minlength=max(1, len(terms)))
        return cls(terms, np.log((1 + len(documents)) / (1 + n_with)) + 1), counts

    def rows(self, counts: Any) -> Any:
        """Return counts as rows of unit length."""
        from likewise.similarities import to_unit_length

        weighted = counts.copy()
        weighted.data = (1 + np.log(weighted.data)) * self.idf[weighted.indices]
        return to_unit_length(weighted)


def count_rows(documents: list[list[str]], terms: dict[str, int]) -> Any:
    """Return how often each document has each term, as a CSR array; others are not counted."""
    from scipy.sparse import csr_array

    found = [[terms[term] for term in document if term in terms] for document in documents]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in found])])
    indices = np.fromiter((place for row in found for place in row), np.int64, indptr[-1])
    shape = (len(documents), max(1, len(terms)))
    counts = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    counts.sum_duplicates()
    return counts


@dataclass(frozen=True, eq=False)
class Encoded:
    """Terms of one field in both tables.

    Attributes
    ----------
    left, right : CSR arrays, tf-idf rows of unit length
    sets : pair of CSR arrays, 1 where a record has a term
    tfidf : TfIdf
    """

    left: Any
    right: Any
    sets: tuple[Any, Any]
    tfidf: TfIdf


def encode(
    left: list[str], right: list[str] | None, analyzer: Callable[[str], list[str]]
) -> Encoded:
    """Encode the values of a field in two tables, or in one."""
    documents = [analyzer(text) for text in [*left, *(right or [])]]
    tfidf, counts = TfIdf.fit(documents)
    rows, sets = tfidf.rows(counts), counts.copy()
    sets.data = np.ones_like(sets.data)
    if right is None:
        return Encoded(rows, rows, (sets, sets), tfidf)
    n = len(left)
    return Encoded(rows[:n], rows[n:], (sets[:n], sets[n:]), tfidf)
