"""Lexical scores of items for a text: BM25, by bm25s."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from likewise.exceptions import require_extra
from likewise.server.api._schemas import MAX_CHARACTERS

_DIGITS = 4  # of scores in the journal


class LexicalIndex:
    """BM25 over the texts of items; the best item for a text has the score 1.

    Parameters
    ----------
    revisions : sequence of int
    texts : sequence of str
        Of longer texts the first 20,000 characters count.
    """

    def __init__(self, revisions: Sequence[int], texts: Sequence[str]) -> None:
        self._bm25s: Any = require_extra("bm25s", "hybrid", "a lexical score")
        self._row_of = {revision: row for row, revision in enumerate(revisions)}
        words = [self._words(text) for text in texts]
        self._bm25: Any = None
        if any(words):
            self._bm25 = self._bm25s.BM25(method="lucene")
            self._bm25.index(words, show_progress=False)

    def __len__(self) -> int:
        return len(self._row_of)

    def rows(self, revisions: Iterable[int]) -> np.ndarray:
        """Return the row of each revision; −1 where it is not indexed."""
        return np.array([self._row_of.get(revision, -1) for revision in revisions], dtype=np.int64)

    def scores(self, text: str) -> np.ndarray:
        """Return the score of every row, from 0 to 1."""
        words = [] if self._bm25 is None else self._words(text)
        known = [word for word in dict.fromkeys(words) if word in self._bm25.vocab_dict]
        if not known:
            return np.zeros(len(self), dtype=np.float32)
        scores = np.asarray(self._bm25.get_scores(known), dtype=np.float32)
        best = scores.max()
        return scores / best if best > 0 else np.zeros_like(scores)

    def scores_of(self, text: str, revisions: Sequence[int]) -> tuple[float, ...]:
        """Return the scores of some items for the journal; 0 for items that are not indexed."""
        scores, rows = self.scores(text), self.rows(revisions)
        found = np.where(rows >= 0, scores[np.maximum(rows, 0)], 0.0) if len(scores) else 0.0 * rows
        return tuple(round(float(score), _DIGITS) for score in found)

    def _words(self, text: str) -> list[str]:
        (words,) = self._bm25s.tokenize(
            [text[:MAX_CHARACTERS]], stopwords=None, return_ids=False, show_progress=False
        )
        return list(words)
