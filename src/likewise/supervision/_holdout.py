"""Hold-out splits by query and by item, so that both are new to what is judged by them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

N_SPLITS = 5


@dataclass(frozen=True, eq=False)
class HoldOut:
    """A split number for every query and for every item.

    What is judged in split k is learned from judgements of which neither the query nor the item is
    in split k.

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
        """Return splits of equal size; with `same`, items are the queries and split with them."""
        queries = rng.permutation(np.arange(n_queries) % n_splits)
        items = queries if same else rng.permutation(np.arange(n_items) % n_splits)
        return cls(queries, items)

    @classmethod
    def single(
        cls,
        n_queries: int,
        n_items: int,
        share: float,
        rng: np.random.Generator,
        *,
        same: bool = False,
    ) -> "HoldOut":
        """Return one split, number 0, that holds out a share of the queries and of the items."""

        def drawn(n: int) -> np.ndarray:
            return np.where(rng.permutation(n) < round(share * n), 0, 1)

        queries = drawn(n_queries)
        return cls(queries, queries if same else drawn(n_items))

    def training(self, grades: Any, split: int) -> Any:
        """Return the grades to learn from, as a CSR array of the same shape."""
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
        kept = self.learns_from(rows, grades.indices, split)
        return csr_array(
            (grades.data[kept], (rows[kept], grades.indices[kept])), shape=grades.shape
        )

    def learns_from(self, queries: np.ndarray, items: np.ndarray, split: int) -> np.ndarray:
        """Tell which pairs of a query and an item may be learned from."""
        return (self.queries[queries] != split) & (self.items[items] != split)


def relevant_items(grades: Any) -> np.ndarray:
    """Return a mask of the items that are relevant to some query."""
    relevant = np.zeros(grades.shape[1], dtype=bool)
    relevant[grades.indices[grades.data > 0]] = True
    return relevant
