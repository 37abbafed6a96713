"""Pages of feedback as arrays: what is learned from them, and how they judge."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages, in the order in which they came.

    Attributes
    ----------
    Q, P : arrays of shape (n_queries, n_query_features) and (n_items, n_item_features)
        As they are compared; in an order that does not depend on when they came.
    query_revisions : list of int or None
        None where a query is a vector.
    revisions : int array of shape (n_items,)
    query_splits, item_splits : int arrays, a number for each query and for each item
    first : int array of shape (n_pages,)
        Position of the entry that a page came in.
    query : int array of shape (n_pages,)
        Row of Q.
    page, item, chosen : arrays of shape (n_shown,)
        Of each item that was shown, page by page: the page, the row of P, whether it was chosen.
    """

    Q: np.ndarray
    P: np.ndarray
    query_revisions: list[int | None]
    revisions: np.ndarray
    query_splits: np.ndarray
    item_splits: np.ndarray
    first: np.ndarray
    query: np.ndarray
    page: np.ndarray
    item: np.ndarray
    chosen: np.ndarray

    def __len__(self) -> int:
        return len(self.query)

    def comparing(self, first: int) -> np.ndarray:
        """Return the pages from a position on that have both chosen and other items."""
        n_chosen = np.bincount(self.page, self.chosen, minlength=len(self))
        n_other = np.bincount(self.page, ~self.chosen, minlength=len(self))
        return np.flatnonzero((n_chosen > 0) & (n_other > 0) & (self.first >= first))

    def relevance(self, split: int | None = None, until: float = np.inf) -> Any:
        """Return the distinct pairs of a query and a chosen item, as a CSR array of ones.

        Parameters
        ----------
        split : int, optional
            Leave out queries and items of this split.
        until : float
            Leave out pages from this position on.
        """
        from scipy.sparse import csr_array

        query = self.query[self.page]
        kept = self.chosen & (self.first[self.page] < until)
        if split is not None:
            kept &= (self.query_splits[query] != split) & (self.item_splits[self.item] != split)
        pairs = np.unique(query[kept] * len(self.P) + self.item[kept])
        rows, columns = np.divmod(pairs, max(len(self.P), 1))
        shape = len(self.Q), len(self.P)
        return csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)

    def seen(self, split: int) -> np.ndarray:
        """Return a mask of the items that training without a split has."""
        seen = np.zeros(len(self.P), dtype=bool)
        seen[self.relevance(split).indices] = True
        return seen


class JudgedPages:
    """Pages that judge: the share of the other items that each chosen one scores above.

    Parameters
    ----------
    pages : Pages
    which : int array
        Pages that have both chosen and other items.

    Attributes
    ----------
    queries : int array of shape (n_queries,)
        Rows of Q.
    query, item : int arrays of shape (n_shown,)
        Of each item shown: the row of its query in Q, and its row in P.
    pairs : pair of int arrays of shape (n_pairs,)
        The distinct pairs of a query, as a place in `queries`, and an item that was shown for it.
    """

    def __init__(self, pages: Pages, which: np.ndarray) -> None:
        shown = np.flatnonzero(np.isin(pages.page, which))
        self.item, self._chosen = pages.item[shown], pages.chosen[shown]
        self.query = pages.query[pages.page[shown]]
        self._page = np.searchsorted(which, pages.page[shown])
        self.queries, self._of_page = np.unique(pages.query[which], return_inverse=True)
        # Pages of a query often show the same items, which are then scored once.
        keys = np.searchsorted(self.queries, self.query) * len(pages.P) + self.item
        pairs, self._of_shown = np.unique(keys, return_inverse=True)
        self.pairs = np.divmod(pairs, len(pages.P))
        sizes = np.bincount(self._page, minlength=len(which))
        starts = np.cumsum(sizes) - sizes
        # Of each chosen item, all places of its page; then those that were not chosen are kept.
        chosen = np.flatnonzero(self._chosen)
        counts = sizes[self._page[chosen]]
        closer = np.repeat(np.arange(len(chosen)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        farther = place + starts[self._page[chosen]][closer]
        kept = ~self._chosen[farther]
        self._places, self._closer, self._farther = chosen, closer[kept], farther[kept]

    def of_pairs(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of items shown, from those of `pairs`."""
        return scores[..., self._of_shown]

    def comparisons(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the query of every comparison, as a row of Q, and the places of its two items."""
        closer = self._places[self._closer]
        return self.query[closer], closer, self._farther

    def values(self, scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Return the value of every query over all chosen items, over seen ones and over new ones.

        Of several chosen items, of several pages of a query, the mean counts.

        Parameters
        ----------
        scores : array of shape (..., n_shown)
        seen : mask of the rows of P

        Returns
        -------
        array of shape (..., 3, n_queries); NaN where a query has none of a kind
        """
        flat = scores.reshape(-1, scores.shape[-1])
        shares = self._shares(flat)
        known = seen[self.item[self._places]]
        kinds = (np.ones(len(known), dtype=bool), known, ~known)
        found = np.stack([self._by_query(shares, kind) for kind in kinds], axis=1)
        return found.reshape(*scores.shape[:-1], 3, len(self.queries))

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        """Return the share of each chosen item, for each row of scores."""
        margins = scores[:, self._places[self._closer]] - scores[:, self._farther]
        right = (np.sign(margins) + 1) / 2
        n = np.bincount(self._closer, minlength=len(self._places))
        return np.add.reduceat(right, np.cumsum(n) - n, axis=1) / n

    def _by_query(self, shares: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """Return the mean over a query's pages of the mean over a page's chosen items of a kind."""
        page = self._page[self._places[kind]]
        n_chosen = np.bincount(page, minlength=len(self._of_page))
        n_pages = np.bincount(self._of_page, n_chosen > 0, minlength=len(self.queries))
        query = self._of_page[page]
        weights = 1 / (n_chosen[page] * n_pages[query])
        total = np.zeros((len(self.queries), len(shares)))
        np.add.at(total, query, (shares[:, kind] * weights).T)
        total[n_pages == 0] = np.nan
        return total.T
