"""Hold-out splits by query and by item."""

from dataclasses import dataclass

import numpy as np

from likewise._validation import Rows

N_SPLITS = 5


@dataclass(frozen=True, eq=False)
class HoldOut:
    """A split number for every query and for every item.

    A model evaluated on split k is trained on judgments with neither query nor item in split k.

    Attributes
    ----------
    queries : int array of shape (n_queries,)
    items : int array of shape (n_items,)
    """

    queries: np.ndarray
    items: np.ndarray

    @classmethod
    def random(
        cls,
        n_queries: int,
        n_items: int,
        rng: np.random.Generator,
        *,
        same: bool = False,
        n_splits: int = N_SPLITS,
    ) -> "HoldOut":
        """Return random splits of equal size; with `same`, the items are the queries."""
        queries = rng.permutation(np.arange(n_queries) % n_splits)
        items = queries if same else rng.permutation(np.arange(n_items) % n_splits)
        return cls(queries, items)

    @classmethod
    def single(
        cls,
        n_queries: int,
        n_items: int,
        fraction: float,
        rng: np.random.Generator,
        *,
        same: bool = False,
    ) -> "HoldOut":
        """Return a single split, number 0, with a fraction of the queries and of the items."""

        def draw(n: int) -> np.ndarray:
            return np.where(rng.permutation(n) < round(fraction * n), 0, 1)

        queries = draw(n_queries)
        return cls(queries, queries if same else draw(n_items))

    def training(self, grades: Rows, split: int) -> Rows:
        """Return the training grades of a split, as a CSR array of the same shape."""
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
        kept = self.in_training(rows, grades.indices, split)
        return csr_array(
            (grades.data[kept], (rows[kept], grades.indices[kept])), shape=grades.shape
        )

    def in_training(self, queries: np.ndarray, items: np.ndarray, split: int) -> np.ndarray:
        """Return a mask of the pairs of a query and an item that are training pairs of a split."""
        return (self.queries[queries] != split) & (self.items[items] != split)


def relevant_items(grades: Rows) -> np.ndarray:
    """Return a mask of the items that are relevant to some query."""
    relevant = np.zeros(grades.shape[1], dtype=bool)
    relevant[grades.indices[grades.data > 0]] = True
    return relevant
