"""What every similarity is and does: a value that scores, searches, explains and saves itself."""

import os
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from likewise import _files
from likewise._execution import current_backend
from likewise._validation import check_whole_number
from likewise.similarities._explanation import Explanation
from likewise.similarities._matches import Matches
from likewise.similarities._search import Scorer, search

Metric = Literal["inner_product", "cosine", "euclidean"]


class Similarity(ABC):
    """A measure of how alike two things are: the higher the score, the more alike.

    Similarities are immutable values: `copy.deepcopy` returns the object itself. A subclass says
    how pairs are scored; searching, saving and copying follow from that.
    """

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What it scores: rows of numbers, any objects, or rows of a matrix of scores."""
        return "rows"

    @property
    def has_distance(self) -> bool:
        """Whether there is also a method `distance`."""
        return False

    @property
    @abstractmethod
    def is_symmetric(self) -> bool:
        """Whether score(a, b) = score(b, a) for all a and b."""

    @abstractmethod
    def check_queries(self, Q: Any, name: str = "Q") -> Any:
        """Return `Q` in the form in which it is scored, or refuse it; `name` is for the error."""

    @abstractmethod
    def check_items(self, P: Any, name: str = "P") -> Any:
        """Return `P` in the form in which it is scored, or refuse it; `name` is for the error."""

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

    @abstractmethod
    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Say which parts made the score of one query with one item.

        Parameters
        ----------
        q, p : one row each
        query_names, item_names : sequences of str, optional
            Names of the features on either side.
        top : int or None, default=10
            How many of the strongest terms to name; None for all.

        Returns
        -------
        Explanation
            Terms that, with the rest, sum to the score.
        """

    @abstractmethod
    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        """Return what `search` needs, from unchecked rows, and the type of the scores."""

    def neighbors(self, Q: Any, P: Any, k: int, *, exclude_self: bool = False) -> Matches:
        """Find the `k` items most alike to each query.

        Memory stays flat, however many queries and items there are.

        Parameters
        ----------
        Q, P : rows of the queries and of the items
        k : int
            How many items to return for each query.
        exclude_self : bool, default=False
            Item i is never a match of query i: for rows that search among themselves.

        Returns
        -------
        Matches
            Row numbers and scores, best first; of equal scores the lower row comes first. Where
            there are fewer than k items the rest is None and −inf.
        """
        k = check_whole_number(k, "k")
        backend = current_backend()
        if backend is not None:
            found: Matches = backend.neighbors(self, Q, P, k, exclude_self=exclude_self)
            return found
        scorer, dtype = self._scorer(Q, P)
        return search(scorer, k, exclude_self=exclude_self, dtype=dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this similarity to a file; `likewise.load` reads it back."""
        _files.save(self, path)

    def __copy__(self) -> "Similarity":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Similarity":
        return self


class Foldable(Similarity):
    """A similarity that an index computes by itself, once rows are *folded*.

    `fold_queries` and `fold_items` turn rows into vectors whose `folded_metric`, as any vector
    index computes it, ranks items exactly as the similarity does; `unfold_scores` puts what the
    index returns back on the similarity's own scale.
    """

    @property
    @abstractmethod
    def folded_metric(self) -> Metric:
        """The index metric that serves this similarity with any items."""

    @abstractmethod
    def fold_queries(self, Q: Any, metric: Metric | None = None) -> Any:
        """Return the query vectors to search an index with.

        Parameters
        ----------
        Q : rows of the queries
        metric : {"inner_product", "cosine", "euclidean"}, optional
            What the index computes; `folded_metric` by default. A metric that cannot serve this
            similarity exactly is refused.
        """

    @abstractmethod
    def fold_items(self, P: Any, metric: Metric | None = None) -> Any:
        """Return the item vectors to store in an index; parameters as in `fold_queries`."""

    @abstractmethod
    def unfold_scores(self, values: Any, Q: Any, metric: Metric | None = None) -> np.ndarray:
        """Turn what the index returned into scores of this similarity.

        Parameters
        ----------
        values : array of shape (n_queries, k)
            Inner products, cosines, or Euclidean distances (not squared).
        Q : rows of the queries, before folding
        metric : as in `fold_queries`
        """
