"""Pages of feedback as arrays: relevance for training, and the evaluation on held-out pages."""

from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_ASKED = 2  # items of a question; longer pages are clicks on what a version ranked


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages in order of arrival.

    Attributes
    ----------
    Q, P : arrays of shape (n_queries, n_query_features) and (n_items, n_item_features)
        Queries and items, scaled where the model scales them. Their order does not depend on the
        order of arrival.
    query_revisions : list of int or None
        None for a query that is a vector.
    revisions : int array of shape (n_items,)
    query_splits, item_splits : int arrays of shapes (n_queries,) and (n_items,)
        Numbers of the cross-validation splits.
    first : int array of shape (n_pages,)
        Position of the page's journal entry.
    query : int array of shape (n_pages,)
        Row of Q.
    page, item, chosen : arrays of shape (n_shown,)
        The page of every item shown, its row of P, and whether it was chosen.
    lexical : array of shape (n_shown,)
        The lexical score of every item shown, 0 where it is not known.
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
    lexical: np.ndarray

    def __len__(self) -> int:
        return len(self.query)

    def with_comparisons(self, first: int) -> np.ndarray:
        """Return the pages from a position on that have both chosen and other items."""
        n_chosen = np.bincount(self.page, self.chosen, minlength=len(self))
        n_other = np.bincount(self.page, ~self.chosen, minlength=len(self))
        return np.flatnonzero((n_chosen > 0) & (n_other > 0) & (self.first >= first))

    def with_pairs(self, first: int) -> np.ndarray:
        """Return the pages from a position on of which all items were chosen, or none."""
        n_chosen = np.bincount(self.page, self.chosen, minlength=len(self))
        n_shown = np.bincount(self.page, minlength=len(self))
        is_pairs = (n_shown > 0) & ((n_chosen == 0) | (n_chosen == n_shown))
        return np.flatnonzero(is_pairs & (self.first >= first))

    def questions(self, page_numbers: np.ndarray) -> np.ndarray:
        """Return those of the given pages that are answers to questions."""
        n_shown = np.bincount(self.page, minlength=len(self))
        return page_numbers[n_shown[page_numbers] <= MAX_ASKED]

    def in_split(self, page_numbers: np.ndarray, split: int) -> np.ndarray:
        """Return those of the given pages whose query belongs to a split."""
        return page_numbers[self.query_splits[self.query[page_numbers]] == split]

    def relevance(self, split: int | None = None, until: float = np.inf) -> Any:
        """Return the distinct pairs of a query and a chosen item, as a CSR array of ones.

        Parameters
        ----------
        split : int, optional
            Exclude the queries and items of this split.
        until : float
            Exclude pages from this position on.
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

    def is_training_item(self, split: int) -> np.ndarray:
        """Return a mask of the items in the training set without a split."""
        mask = np.zeros(len(self.P), dtype=bool)
        mask[self.relevance(split).indices] = True
        return mask


class HeldOutPages:
    """Pages that evaluate scores: the share of other items that each chosen item outscores.

    Parameters
    ----------
    pages : Pages
    page_numbers : int array
        Pages that have both chosen and other items.

    Attributes
    ----------
    queries : int array of shape (n_queries,)
        Rows of Q.
    page, query, item : int arrays of shape (n_shown,)
        The position in `page_numbers`, the row of Q and the row of P of every item shown.
    chosen, lexical : arrays of shape (n_shown,)
    pairs : pair of int arrays of shape (n_pairs,)
        The distinct pairs of a query, as a position in `queries`, and an item shown for it.
    """

    def __init__(self, pages: Pages, page_numbers: np.ndarray) -> None:
        shown = np.flatnonzero(np.isin(pages.page, page_numbers))
        self.item, self.chosen = pages.item[shown], pages.chosen[shown]
        self.lexical = pages.lexical[shown]
        self.query = pages.query[pages.page[shown]]
        self.page = np.searchsorted(page_numbers, pages.page[shown])
        self.queries, self._query_of_page = np.unique(
            pages.query[page_numbers], return_inverse=True
        )
        # Pages of a query often show the same items, which are then scored once.
        keys = np.searchsorted(self.queries, self.query) * len(pages.P) + self.item
        pairs, self._pair_of_shown = np.unique(keys, return_inverse=True)
        self.pairs = np.divmod(pairs, len(pages.P))
        sizes = np.bincount(self.page, minlength=len(page_numbers))
        starts = np.cumsum(sizes) - sizes
        # Pair every chosen item with all items of its page, then drop the other chosen ones.
        chosen = np.flatnonzero(self.chosen)
        counts = sizes[self.page[chosen]]
        closer = np.repeat(np.arange(len(chosen)), counts)
        within_page = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        farther = within_page + starts[self.page[chosen]][closer]
        kept = ~self.chosen[farther]
        self._chosen_shown, self._closer, self._farther = chosen, closer[kept], farther[kept]

    def expand(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of all items shown, from the scores of `pairs`."""
        return scores[..., self._pair_of_shown]

    def comparisons(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the row of Q, the closer and the farther item shown of every comparison."""
        closer = self._chosen_shown[self._closer]
        return self.query[closer], closer, self._farther

    def query_means(self, scores: np.ndarray, is_training_item: np.ndarray) -> np.ndarray:
        """Return the mean share of every query, over all chosen items, training items and others.

        A query's mean is over its pages; a page's mean is over its chosen items.

        Parameters
        ----------
        scores : array of shape (..., n_shown)
        is_training_item : mask of the rows of P

        Returns
        -------
        array of shape (..., 3, n_queries); NaN where a query has no chosen item of a kind
        """
        flat = scores.reshape(-1, scores.shape[-1])
        shares = self._shares(flat)
        seen = is_training_item[self.item[self._chosen_shown]]
        kinds = (np.ones(len(seen), dtype=bool), seen, ~seen)
        means = np.stack([self._means(shares, kind) for kind in kinds], axis=1)
        return means.reshape(*scores.shape[:-1], 3, len(self.queries))

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        """Return the share of every chosen item, for every row of scores."""
        margins = scores[:, self._chosen_shown[self._closer]] - scores[:, self._farther]
        correct = (np.sign(margins) + 1) / 2
        n = np.bincount(self._closer, minlength=len(self._chosen_shown))
        return np.add.reduceat(correct, np.cumsum(n) - n, axis=1) / n

    def _means(self, shares: np.ndarray, kind: np.ndarray) -> np.ndarray:
        """Return the mean over a query's pages of the mean over a page's chosen items of a kind."""
        page = self.page[self._chosen_shown[kind]]
        n_chosen = np.bincount(page, minlength=len(self._query_of_page))
        n_pages = np.bincount(self._query_of_page, n_chosen > 0, minlength=len(self.queries))
        query = self._query_of_page[page]
        weights = 1 / (n_chosen[page] * n_pages[query])
        total = np.zeros((len(self.queries), len(shares)))
        np.add.at(total, query, (shares[:, kind] * weights).T)
        total[n_pages == 0] = np.nan
        return total.T


class JudgedItems:
    """Items that were judged for queries, which evaluate forms by their ranks among all items.

    Parameters
    ----------
    pages : Pages
    page_numbers : int array

    Attributes
    ----------
    queries : int array of shape (n_queries,)
        Rows of Q.
    query, item : int arrays of shape (n_judged,)
        A position in `queries`, and a row of P.
    chosen : bool array of shape (n_judged,)
    """

    def __init__(self, pages: Pages, page_numbers: np.ndarray) -> None:
        shown = np.flatnonzero(np.isin(pages.page, page_numbers))
        rows = pages.query[pages.page[shown]]
        self.queries, self.query = np.unique(rows, return_inverse=True)
        self.item, self.chosen = pages.item[shown], pages.chosen[shown]

    def discounted(self, ranks: np.ndarray) -> np.ndarray:
        """Return the discounts of chosen items and of all judged items, summed by query.

        Their ratio is the share of chosen items among the judged ones that a form ranks high,
        wherever other forms rank them: it falls if a form lifts items that were not chosen.

        Parameters
        ----------
        ranks : int array of shape (n_forms, n_judged)

        Returns
        -------
        array of shape (2, n_forms, n_queries)
        """
        discounts = 1 / np.log2(1 + ranks)
        return np.array(
            [
                [np.bincount(self.query, row, minlength=len(self.queries)) for row in of]
                for of in (discounts * self.chosen, discounts)
            ]
        )

    def query_values(self, ranks: np.ndarray, is_training_item: np.ndarray) -> np.ndarray:
        """Return the share of items not chosen that rank below a chosen one, as values of queries.

        All chosen items are compared with all others, of any query. The values are those of
        DeLong, DeLong and Clarke-Pearson (1988): their mean is the share, and their standard error
        its error.

        Parameters
        ----------
        ranks : int array of shape (n_forms, n_judged)
        is_training_item : mask of the rows of P

        Returns
        -------
        array of shape (n_forms, 3, n_queries): over all chosen items, training items and others;
        NaN where there is nothing to compare
        """
        seen = is_training_item[self.item]
        kinds = (self.chosen, self.chosen & seen, self.chosen & ~seen)
        values = np.full((len(ranks), 3, len(self.queries)), np.nan)
        for form, of_form in enumerate(ranks):
            for kind, mask in enumerate(kinds):
                if mask.any() and not self.chosen.all():
                    values[form, kind] = self._shares(of_form, mask)
        return values

    def _shares(self, ranks: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        margins = np.sign(ranks[~self.chosen] - ranks[chosen][:, None])
        above = (margins + 1) / 2  # of shape (n_chosen, n_others)
        mean, n_queries = above.mean(), len(self.queries)
        moved = np.bincount(
            self.query[chosen], (above.mean(axis=1) - mean) / len(above), minlength=n_queries
        ) + np.bincount(
            self.query[~self.chosen],
            (above.mean(axis=0) - mean) / above.shape[1],
            minlength=n_queries,
        )
        return np.asarray(mean + n_queries * moved)
