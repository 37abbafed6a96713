"""Search for the nearest sparse rows of large tables, among rows that share rare pairs of words.

An exact search reads lists that grow with the table, for each of its rows: its time grows with the
square of the table. Pairs of words are rare in tables of any size, so each query reads a bounded
number of entries here, and the nearest rows are nearly always among those that it shortlists.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise import kernels

_WORDS = 10  # the rarest ones of a row, which form pairs
_LIMIT = 2_000  # rows with a pair of words, beyond which it shortlists none
_BUDGET = 16_384  # entries that a query reads
_SHORTLIST = 12  # that are scored for each neighbor
_MIN_SHORTLIST = 64
_BUCKETS_OF_ROW = 16
_MAX_BUCKETS = 1 << 24


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """Items by their columns and by their pairs of words, as `kernels.scan_shortlist` takes them.

    Attributes
    ----------
    rows : tuple of CSR arrays of the items
    by_column : tuple of the items' arrays by column
    by_pair : tuple of the items' arrays by pair of words
    """

    rows: tuple[np.ndarray, ...]
    by_column: tuple[np.ndarray, ...]
    by_pair: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, items: Any, words: Any) -> "InvertedLists":
        """Return the inverted lists of items, from their rows and those of their words."""
        by_column = items.tocsc()
        return cls(
            csr_parts(items),
            (
                by_column.indptr.astype(np.int64),
                by_column.indices.astype(np.int32, copy=False),
                by_column.data.astype(np.float32),
            ),
            _by_pair(words),
        )

    def scan(
        self,
        queries: Any,
        words: Any,
        skip: np.ndarray,
        heap: tuple[np.ndarray, np.ndarray],
    ) -> None:
        """Add the nearest items of queries to their heaps."""
        n_items, k = len(self.rows[0]) - 1, heap[0].shape[1]
        n_best = max(_MIN_SHORTLIST, _SHORTLIST * k)
        scratch = (
            np.zeros(n_items, np.float32),
            np.empty(n_items, np.int32),
            np.zeros(queries.shape[1]),
            np.empty(n_best),
            np.empty(n_best, np.int64),
        )
        kernels.scan_shortlist(
            *csr_parts(queries), *csr_parts(words), _WORDS,
            *self.rows, *self.by_column, *self.by_pair, _BUDGET, skip, *scratch, *heap,
        )  # fmt: skip


def csr_parts(rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of CSR rows as kernels take them."""
    return (
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32, copy=False),
        rows.data.astype(np.float64, copy=False),
    )


def _by_pair(words: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows with each pair of words, and the weights of the pair in them."""
    starts, columns, values = csr_parts(words)
    wanted = _BUCKETS_OF_ROW * max(1, words.shape[0])
    n_buckets = min(_MAX_BUCKETS, 1 << (wanted - 1).bit_length())
    counts = np.zeros(n_buckets, np.int64)
    kernels.count_word_pairs(starts, columns, _WORDS, counts)
    counts[counts > _LIMIT] = 0
    pair_starts = np.zeros(n_buckets + 1, np.int64)
    np.cumsum(counts, out=pair_starts[1:])
    rows = np.empty(pair_starts[-1], np.int32)
    weights = np.empty(pair_starts[-1], np.float32)
    kernels.list_word_pairs(
        starts, columns, values, _WORDS, pair_starts, pair_starts[:-1].copy(), rows, weights
    )
    return pair_starts, rows, weights
