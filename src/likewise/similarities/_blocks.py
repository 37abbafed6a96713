"""Similarities that are computed block by block, by a library, a compiled loop or a function."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from likewise._threads import slices
from likewise._validation import Rows, check_same_length, n_rows, take
from likewise.similarities._base import Similarity, Takes
from likewise.similarities._rows import common_dtype
from likewise.similarities._search import BlockScorer, Scorer, exact_scores

# A block should keep a thread busy for milliseconds and stay in its cache.
_QUERIES_IN_BLOCK, _ITEMS_IN_BLOCK = 128, 256

NamePair: TypeAlias = Callable[[int, int], str]  # describes pair (i, j) of a block in errors


class BlockSimilarity(Similarity):
    """A similarity defined by the values of a block of pairs.

    The values are distances, which are negated to scores, where `has_distance` is true. A subclass
    defines `check_queries`, for both sides unless it also defines `check_items`, and `block`.
    """

    takes: Takes = "objects"
    parallel = True  # whether several threads may compute blocks

    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Validate and convert items, by default as queries."""
        return self.check_queries(P, name)

    def prepare(self, X: Any) -> Rows:
        """Precompute from checked queries or items whatever all their blocks need."""
        return X

    @abstractmethod
    def block(self, left: Any, right: Any, name_pair: NamePair) -> np.ndarray:
        """Return the values of all pairs of prepared queries and items.

        Parameters
        ----------
        left, right : parts of what `prepare` returned
        name_pair : callable on two positions in the block
            Describes a pair, for errors.

        Returns
        -------
        ndarray of shape (n_left, n_right)
        """

    def score(self, Q: Any, P: Any) -> np.ndarray:
        scorer, dtype = self._scorer(Q, P)
        return exact_scores(scorer).astype(dtype, copy=False)

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        Q, P = self._check(Q, P)
        check_same_length(Q, "Q", P, "P")
        left, right = self.prepare(Q), self.prepare(P)
        scores = np.empty(n_rows(Q), self._dtype(Q, P))
        for pair in slices(len(scores), 1):
            numbers = range(pair.start, pair.stop)
            scores[pair] = self._scores(left[pair], right[pair], numbers, numbers)[0]
        return scores

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        same = Q is P
        Q, P = self._check(Q, P)
        left = self.prepare(Q)
        right = left if same else self.prepare(P)
        numbers = self._item_numbers(P)
        return BlockScorer(
            n_rows(Q),
            n_rows(P),
            ready=lambda which: (take(right, which), numbers[which]),
            score_block=lambda block, items: self._scores(
                left[block], items[0], range(block.start, block.stop), items[1]
            ),
            parallel=self.parallel,
            cell=(_QUERIES_IN_BLOCK, _ITEMS_IN_BLOCK),
        ), self._dtype(Q, P)

    def _check(self, Q: Any, P: Any) -> tuple[Any, Any]:
        return self.check_queries(Q), self.check_items(P)

    def _item_numbers(self, P: Any) -> np.ndarray:
        """Return the numbers that identify checked items in errors."""
        return np.arange(n_rows(P))

    def _scores(self, left: Any, right: Any, queries: range, items: Any) -> np.ndarray:
        """Return the scores of prepared queries and items, which have these numbers in errors."""
        values = np.empty((len(queries), len(items)))
        for rows in slices(len(queries), _QUERIES_IN_BLOCK):
            for columns in slices(len(items), _ITEMS_IN_BLOCK):
                numbers = queries[rows], items[columns]

                def name_pair(i: int, j: int, numbers: Any = numbers) -> str:
                    return f"query {numbers[0][i]} and item {numbers[1][j]}"

                block = self.block(left[rows], right[columns], name_pair)
                self._check_values(block, name_pair)
                values[rows, columns] = block
        return np.negative(values, out=values) if self.has_distance else values

    def _check_values(self, values: np.ndarray, name_pair: NamePair) -> None:
        valid = np.isfinite(values)
        needed = "a score must be finite"
        if self.has_distance:
            valid &= values >= 0
            needed = "a distance must be finite and not negative"
        if not valid.all():
            i, j = np.argwhere(~valid)[0]
            raise ValueError(
                f"{needed}, but {self!r} gave {values[i, j]} on {name_pair(int(i), int(j))}."
            )

    def _dtype(self, Q: Any, P: Any) -> Any:
        """Return the dtype of the scores of checked queries and items."""
        return common_dtype(Q, P) if self.takes == "rows" else np.float64


class Distance(BlockSimilarity):
    """A distance as a similarity: the score is −d.

    A distance is a finite number that is not negative. It need not be symmetric, nor zero between
    equal objects, nor satisfy the triangle inequality.
    """

    has_distance = True
    is_symmetric = True
