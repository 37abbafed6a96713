"""The interface of all similarities: immutable values that score, search, explain and save."""

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise import _files
from likewise._execution import current_backend
from likewise._validation import Rows, check_whole_number, n_rows
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._matches import Matches
from likewise.similarities._products import ProductItems
from likewise.similarities._rows import one_row_each
from likewise.similarities._search import Scorer, search

Metric = Literal["inner_product", "cosine", "euclidean"]
Takes = Literal["rows", "objects", "matrix"]


class Similarity(ABC):
    """A measure of how alike two things are: the higher the score, the more alike.

    A distance is a similarity that scores −d and has `distance`. Similarities are immutable:
    `copy.deepcopy` returns the object itself. A subclass defines how pairs are scored; search,
    saving and copying follow from that.
    """

    @property
    def takes(self) -> Takes:
        """The input: rows of numbers, any objects, or rows of a precomputed matrix."""
        return "rows"

    @property
    def has_distance(self) -> bool:
        """Whether `distance` is defined."""
        return False

    @property
    @abstractmethod
    def is_symmetric(self) -> bool:
        """Whether score(a, b) = score(b, a) for all a and b."""

    @abstractmethod
    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Validate and convert queries; `name` is the argument's name in errors."""

    @abstractmethod
    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Validate and convert items; `name` is the argument's name in errors."""

    @abstractmethod
    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of every query with every item.

        Parameters
        ----------
        Q, P : rows of the queries and of the items

        Returns
        -------
        ndarray of shape (n_queries, n_items)
        """

    @abstractmethod
    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of query i with item i, for every i.

        Returns
        -------
        ndarray of shape (n_queries,)
        """

    def distance(self, Q: Any, P: Any) -> np.ndarray:
        """Return the distance of every query to every item, where `has_distance` is true.

        Returns
        -------
        ndarray of shape (n_queries, n_items)
        """
        if not self.has_distance:
            raise TypeError(f"{self!r} has no distance.")
        return self._dissimilarity(self.score(Q, P))

    def fitted(self, X: Any) -> "Similarity":
        """Return this similarity with whatever it derives from training data; usually itself.

        Parameters
        ----------
        X : rows, objects, or a square matrix
        """
        return self

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Break the score of one query with one item into terms.

        Parameters
        ----------
        q, p : one row each
        query_names, item_names : sequences of str, optional
            Names of the features on either side; by default those of the columns, where rows are
            frames or named rows of one.
        top : int or None, default=10
            Number of strongest terms to list; None for all.

        Returns
        -------
        Explanation
            Terms that, with the rest, sum to the score. A similarity that is not a sum over
            features returns its score as a single term.
        """
        if self.takes == "rows":
            q, p = one_row_each(q, p)
        elif self.takes == "matrix":
            q, p = np.atleast_2d(q), np.atleast_1d(p)
        else:
            q, p = [q], [p]
        score = float(self.score_pairs(q, p)[0])
        return Explanation(score, (Term("query", "item", score),), 0.0)

    @abstractmethod
    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        """Return a scorer for `search` from unchecked rows, and the dtype of the scores."""

    def _dissimilarity(self, scores: Any) -> Any:
        """Convert scores to distances, or to −score without a distance."""
        return -scores

    def neighbors(self, Q: Any, P: Any, k: int, *, exclude_self: bool = False) -> Matches:
        """Find the `k` items most similar to each query.

        Memory is bounded, whatever the number of queries and items.

        Parameters
        ----------
        Q, P : rows of the queries and of the items
            Items may be prepared by `prepare_items`.
        k : int
            Number of items to return for each query.
        exclude_self : bool, default=False
            Never match query i with item i: for rows searched among themselves.

        Returns
        -------
        Matches
            Row numbers and scores, best first; ties are ordered by row number. With fewer than k
            items, the remaining entries are None and −inf.
        """
        k = check_whole_number(k, "k")
        if isinstance(P, PreparedItems) and P.similarity is not self:
            raise ValueError(
                f"P must be prepared by prepare_items of this same object, but another object, "
                f"{P.similarity!r}, prepared it."
            )
        backend = current_backend()
        if isinstance(P, PreparedItems) and (backend is not None or P.product is None):
            P = P.rows
        if backend is not None:
            found: Matches = backend.neighbors(self, Q, P, k, exclude_self=exclude_self)
            return found
        scorer, dtype = self._scorer(Q, P)
        return search(scorer, k, exclude_self=exclude_self, dtype=dtype)

    def prepare_items(self, P: Any) -> "PreparedItems":
        """Check and convert items once, for many searches with `neighbors`.

        A search for one query then costs one pass over the items. The answers are the same. The
        prepared items take two to three times the memory of the rows; with sparse rows, objects or
        a similarity that is not a matrix product, they are the rows alone.

        Parameters
        ----------
        P : rows of the items

        Returns
        -------
        PreparedItems
            For `neighbors` of this similarity.

        Examples
        --------
        >>> import likewise as lw
        >>> s = lw.Mahalanobis(1.0)
        >>> items = s.prepare_items([[0.0, 1.0], [2.0, 0.0]])
        >>> s.neighbors([[1.0, 0.0]], items, k=1).ids
        array([[1]])
        """
        rows = self.check_items(P)
        return PreparedItems(self, rows, self._product_items(rows, keep=True))

    def _product_items(self, P: Any, *, keep: bool = False) -> ProductItems | None:
        """Return checked items for a `ProductScorer`; None if this similarity has none for them."""
        return None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this similarity to a file; `likewise.load` reads it back."""
        _files.save(self, path)

    def __copy__(self) -> "Similarity":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Similarity":
        return self


@dataclass(frozen=True, eq=False, repr=False)
class PreparedItems:
    """Items that were prepared for `Similarity.neighbors`; see `Similarity.prepare_items`.

    Attributes
    ----------
    similarity : Similarity
    rows : checked rows of the items
    product : ProductItems or None
        The items as a side of a matrix product, if the similarity computes one.
    """

    similarity: Similarity
    rows: Rows
    product: ProductItems | None

    def __len__(self) -> int:
        return n_rows(self.rows)

    def __repr__(self) -> str:
        return f"PreparedItems({len(self)} items, {self.similarity!r})"


class Foldable(Similarity):
    """A similarity that a vector index can compute, once rows are *folded*.

    `fold_queries` and `fold_items` map rows to vectors whose `folded_metric`, as any vector index
    computes it, ranks items exactly as the similarity does; `unfold_scores` converts the values
    returned by the index to the similarity's own scale.
    """

    @property
    @abstractmethod
    def folded_metric(self) -> Metric:
        """The index metric that serves this similarity exactly for any items."""

    @abstractmethod
    def fold_queries(self, Q: Any, metric: Metric | None = None) -> Rows:
        """Return the query vectors to search an index with.

        Parameters
        ----------
        Q : rows of the queries
        metric : {"inner_product", "cosine", "euclidean"}, optional
            The metric of the index; `folded_metric` by default. A metric that cannot serve this
            similarity exactly is refused.
        """

    @abstractmethod
    def fold_items(self, P: Any, metric: Metric | None = None) -> Rows:
        """Return the item vectors to store in an index; parameters as in `fold_queries`."""

    @abstractmethod
    def unfold_scores(self, values: Any, Q: Any, metric: Metric | None = None) -> np.ndarray:
        """Convert values returned by the index to scores of this similarity.

        Parameters
        ----------
        values : array of shape (n_queries, k)
            Inner products, cosines, or Euclidean distances (not squared).
        Q : rows of the queries, before folding
        metric : as in `fold_queries`
        """

    @abstractmethod
    def _fold_queries(self, Q: Rows, metric: Metric) -> Rows:
        """Return `fold_queries` of checked rows, for a metric that serves this similarity."""

    @abstractmethod
    def _unfold_scores(self, values: np.ndarray, Q: Rows, metric: Metric) -> np.ndarray:
        """Return `unfold_scores` for checked rows and a metric that serves this similarity."""
