"""Words, codes and three-letter pieces of texts, and their tf-idf rows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_CODE_LETTERS, _CODE_DIGITS = 4, 5  # minimum lengths of codes
_LETTER_BITS = 21  # of a code point
_TEXTS_AT_A_TIME = 20_000
_SPACE = ord(" ")


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


@dataclass(frozen=True, eq=False)
class Encoded:
    """Tf-idf rows of texts, whose columns go from rare to common terms.

    Attributes
    ----------
    rows : CSR array of unit length
        Sublinear tf times smooth idf.
    idf : (n_terms,) array
    terms : (n_terms,) array
        Words as objects; three-letter pieces as numbers, see `piece_letters`.
    """

    rows: Any
    idf: np.ndarray
    terms: np.ndarray


def encode(counted: tuple[np.ndarray, Any], n_records: np.ndarray) -> Encoded:
    """Return the tf-idf rows of counted terms.

    Parameters
    ----------
    counted : terms and their counts in each text, as of `count_words` and `count_pieces`
    n_records : (n_texts,) int array
        How many records have each text; the idf is that of records.
    """
    terms, counts = counted
    has = np.repeat(n_records, np.diff(counts.indptr)).astype(np.float64)
    n_with = np.bincount(counts.indices, weights=has, minlength=len(terms))
    order = np.argsort(n_with, kind="stable")  # terms are sorted: among equals, by term
    idf = np.log((1 + n_records.sum()) / (1 + n_with[order])) + 1
    place = np.empty(len(terms), dtype=np.int32)
    place[order] = np.arange(len(terms), dtype=np.int32)
    counts.indices = place[counts.indices].astype(counts.indptr.dtype, copy=False)
    counts.has_sorted_indices = False
    counts.sort_indices()
    return Encoded(tfidf(counts, idf), idf, terms[order])


def tfidf(counts: Any, idf: np.ndarray) -> Any:
    """Return counts as rows of unit length, in place."""
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    squares = np.bincount(
        np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)),
        weights=counts.data**2,
        minlength=counts.shape[0],
    )
    counts.data /= np.repeat(np.sqrt(squares), np.diff(counts.indptr))
    return counts


def presence(rows: Any) -> Any:
    """Return 1 where rows have a term, as a CSR array."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)


def count_words(texts: Iterable[str]) -> tuple[np.ndarray, Any]:
    """Return the different words of texts, sorted, and their counts as a CSR array."""
    number: dict[str, int] = {}
    columns, lengths = [], []
    for part in _parts(texts):
        found = [words(text) for text in part]
        lengths.append(np.fromiter(map(len, found), np.int64, len(found)))
        flat = [number.setdefault(word, len(number)) for row in found for word in row]
        columns.append(np.array(flat, dtype=np.int32))
    if not number:
        number[""] = 0
    terms = np.array(sorted(number), dtype=object)
    place = np.empty(len(terms), dtype=np.int32)
    place[[number[term] for term in terms]] = np.arange(len(terms), dtype=np.int32)
    return terms, _counts([place[part] for part in columns], lengths, len(terms))


def count_pieces(texts: Iterable[str], known: np.ndarray | None = None) -> tuple[np.ndarray, Any]:
    """Return the three-letter pieces of texts, sorted, and their counts as a CSR array.

    Each word is padded by a space on both sides, so that it has as many pieces as letters.

    Parameters
    ----------
    texts : iterable of str
    known : array, optional
        The terms to count, in the order of columns; others are left out.
    """
    pieces, numbers, lengths = [], [], []
    for part in _parts(texts):
        spaced = [f" {' '.join(words(text))} " for text in part]
        code_points = np.frombuffer("".join(spaced).encode("utf-32-le"), dtype=np.uint32)
        letters = code_points.astype(np.int64)
        middle = np.flatnonzero(letters[1:-1] != _SPACE) + 1
        keys = letters[middle - 1]
        for shift in (0, 1):
            keys = (keys << _LETTER_BITS) | letters[middle + shift]
        ends = np.cumsum(np.fromiter(map(len, spaced), np.int64, len(spaced)))
        lengths.append(np.diff(np.searchsorted(middle, ends), prepend=0))
        different, which = np.unique(keys, return_inverse=True)
        pieces.append(different)
        numbers.append(which.astype(np.int32))
    terms = np.unique(np.concatenate([np.empty(0, np.int64), *pieces]))
    terms = terms if len(terms) else np.zeros(1, np.int64)
    if known is not None:
        return known, _known_counts(known, pieces, numbers, lengths)
    columns = [
        np.searchsorted(terms, different).astype(np.int32)[which]
        for different, which in zip(pieces, numbers, strict=True)
    ]
    return terms, _counts(columns, lengths, len(terms))


def piece_letters(pieces: np.ndarray) -> np.ndarray:
    """Return three code points for each piece, (n, 3) uint32.

    >>> bytes(piece_letters(count_pieces(["ab"])[0])[0].astype("uint8"))
    b' ab'
    """
    shifts = np.array([2, 1, 0]) * _LETTER_BITS
    return ((pieces[:, None] >> shifts) & ((1 << _LETTER_BITS) - 1)).astype(np.uint32)


def letters_piece(letters: np.ndarray) -> np.ndarray:
    """Return the pieces of (n, 3) code points."""
    letters = letters.astype(np.int64) & ((1 << _LETTER_BITS) - 1)
    return (letters[:, 0] << 2 * _LETTER_BITS) | (letters[:, 1] << _LETTER_BITS) | letters[:, 2]


def _parts(texts: Iterable[str]) -> Iterable[list[str]]:
    remaining = iter(texts)
    while part := list(islice(remaining, _TEXTS_AT_A_TIME)):
        yield part


def _known_counts(
    known: np.ndarray,
    pieces: Sequence[np.ndarray],
    numbers: Sequence[np.ndarray],
    lengths: Sequence[np.ndarray],
) -> Any:
    """Return counts of known pieces; others are left out."""
    order = np.argsort(known, kind="stable")
    columns, kept_lengths = [], []
    for different, which, length in zip(pieces, numbers, lengths, strict=True):
        places = np.searchsorted(known[order], different)
        column = order[np.minimum(places, len(known) - 1)]
        kept = (known[column] == different)[which]
        rows = np.repeat(np.arange(len(length)), length)
        columns.append(column[which][kept].astype(np.int32))
        kept_lengths.append(np.bincount(rows[kept], minlength=len(length)))
    return _counts(columns, kept_lengths, len(known))


def _counts(columns: list[np.ndarray], lengths: list[np.ndarray], n_terms: int) -> Any:
    """Return counts of columns, given text after text, as a CSR array."""
    from scipy.sparse import csr_array

    indices = np.concatenate([np.empty(0, np.int32), *columns])
    columns.clear()
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]))])
    whole = np.int32 if len(indices) <= np.iinfo(np.int32).max else np.int64
    indices, indptr = indices.astype(whole, copy=False), indptr.astype(whole)
    shape = (len(indptr) - 1, n_terms)
    counts = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    counts.sum_duplicates()
    return counts
