"""Distances and scores brought to [−1, 1]: by rank among a sample, or by 1/(1 + d)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._validation import (
    Rows,
    check_rows,
    check_same_length,
    is_sparse,
    n_rows,
    unknown_name,
)
from likewise.similarities._base import Similarity
from likewise.similarities._convert import NAMED, as_similarity
from likewise.similarities._counts import closer_counts, closer_counts_of_pairs
from likewise.similarities._explanation import Explanation, Term
from likewise.similarities._function import from_callable
from likewise.similarities._mahalanobis import Mahalanobis
from likewise.similarities._rows import common_dtype, frozen_rows
from likewise.similarities._search import BlockScorer, Scorer


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ranked(Similarity):
    """K(q, p) = 1 − 2·Prob over z in S of [z is closer to q than p is]: the rank, as a similarity.

    After Rwebangira and Blum (2009). Every query has the full range of scores, from 1 for its
    nearest to −1, whatever the scale of the similarity beneath. Not symmetric: you need not be
    the nearest of the one that is nearest to you.

    Parameters
    ----------
    S : rows, or a list of objects
        The sample in which ranks are counted: all examples, labelled or not. It is kept.
    similarity : str, Similarity or fitted learner, default="euclidean"
        What says which is closer.
    transductive : bool, default=False
        Divide the rank by n − 1 instead of n, so that the farthest of n rows of S has exactly −1:
        for items that are rows of S.

    Notes
    -----
    Items that are equally close share the better rank; a row of S is no closer than itself. One
    pass over S for each query, whatever the number of items.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Ranked([[0.0], [1.0], [10.0], [1000.0]])
    >>> s.score([[0.0]], [[0.0], [10.0], [1000.0]])
    array([[ 1. ,  0. , -0.5]])
    """

    S: Any
    similarity: Similarity
    transductive: bool

    def __init__(self, S: Any, similarity: Any = "euclidean", transductive: bool = False) -> None:
        base = as_similarity(similarity)
        if not isinstance(transductive, bool):
            raise TypeError(f"transductive must be True or False, but {transductive!r} was given.")
        object.__setattr__(self, "S", _frozen(base.check_items(S, "S")))
        object.__setattr__(self, "similarity", base)
        object.__setattr__(self, "transductive", transductive)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.S, self.similarity, self.transductive)

    def __repr__(self) -> str:
        kind = ", transductive" if self.transductive else ""
        return f"Ranked({n_rows(self.S)} rows, {self.similarity!r}{kind})"

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What the similarity beneath takes."""
        return self.similarity.takes

    @property
    def is_symmetric(self) -> bool:
        """Never."""
        return False

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of every query with every item, as an (n_queries, n_items) array."""
        Q, P = self.check_queries(Q), self.check_items(P)
        return self._on_scale(self.closer(Q, P), Q, P)

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of query i with item i, as an (n_queries,) array."""
        Q, P = self.check_queries(Q), self.check_items(P)
        check_same_length(Q, "Q", P, "P")
        counts = closer_counts_of_pairs(self.similarity, Q, *_alike(self.S, P))
        return self._on_scale(self._share(counts), Q, P)

    def closer(self, Q: Any, P: Any) -> np.ndarray:
        """Return which share of S is closer to each query than each item, (n_queries, n_items)."""
        Q, P = self.check_queries(Q), self.check_items(P)
        return self._share(closer_counts(self.similarity, Q, *_alike(self.S, P)))

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Return the score as one term: it comes from all of S, not from features."""
        if self.takes == "rows":
            q, p = (row if is_sparse(row) else np.atleast_2d(row) for row in (q, p))
        else:
            q, p = [q], [p]
        score = float(self.score_pairs(q, p)[0])
        return Explanation(score, (Term("query", "item", score),), 0.0)

    def check_queries(self, Q: Any, name: str = "Q") -> Any:
        """Return `Q` as the similarity beneath wants it."""
        return self._of_width(self.similarity.check_queries(Q, name), name)

    def check_items(self, P: Any, name: str = "P") -> Any:
        """Return `P` as the similarity beneath wants it."""
        return self._of_width(self.similarity.check_items(P, name), name)

    def _of_width(self, rows: Any, name: str) -> Any:
        if self.takes != "rows" or getattr(self.similarity, "W", np.ones(())).ndim == 2:
            return rows  # the similarity has checked the width, which may differ from that of S
        return check_rows(rows, name, n_features=self.S.shape[1])

    def _share(self, counts: np.ndarray) -> np.ndarray:
        n = n_rows(self.S)
        return np.minimum(counts / (max(1, n - 1) if self.transductive else n), 1)

    def _on_scale(self, shares: np.ndarray, Q: Any, P: Any) -> np.ndarray:
        return (1 - 2 * shares).astype(self._dtype(Q, P), copy=False)

    def _dtype(self, Q: Any, P: Any) -> Any:
        return common_dtype(Q, P) if self.takes == "rows" else np.float64

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        Q, P = self.check_queries(Q), self.check_items(P)
        return BlockScorer(
            n_rows(Q),
            n_rows(P),
            ready=lambda chunk: P[chunk],
            score_block=lambda block, items: self.score(Q[block], items),
            parallel=self.takes != "objects",
        ), self._dtype(Q, P)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Naive(Similarity):
    """K(q, p) = 1/(1 + d(q, p)): a distance as a similarity in (0, 1].

    Parameters
    ----------
    similarity : str, Similarity or fitted learner, default="euclidean"
        It must have a distance.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Naive().score([[0.0]], [[0.0], [3.0]])
    array([[1.  , 0.25]])
    """

    similarity: Similarity

    def __init__(self, similarity: Any = "euclidean") -> None:
        base = as_similarity(similarity)
        if not base.has_distance:
            raise ValueError(
                f"similarity must have a distance to make 1/(1 + d) of, but {base!r} has none."
            )
        object.__setattr__(self, "similarity", base)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.similarity,)

    def __repr__(self) -> str:
        return f"Naive({self.similarity!r})"

    @property
    def takes(self) -> Literal["rows", "objects", "matrix"]:
        """What the distance takes."""
        return self.similarity.takes

    @property
    def is_symmetric(self) -> bool:
        """Whether the distance is."""
        return self.similarity.is_symmetric

    def score(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of every query with every item, as an (n_queries, n_items) array."""
        return self._on_scale(self.similarity.score(Q, P))

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        """Return the score of query i with item i, as an (n_queries,) array."""
        return self._on_scale(self.similarity.score_pairs(Q, P))

    def explain(
        self, q: Any, p: Any, query_names: Any = None, item_names: Any = None, top: int | None = 10
    ) -> Explanation:
        """Return the score as one term; `similarity.explain` has the parts of the distance."""
        score = float(self._on_scale(self.similarity.explain(q, p, top=1).score))
        return Explanation(score, (Term("query", "item", score),), 0.0)

    def check_queries(self, Q: Any, name: str = "Q") -> Any:
        """Return `Q` as the distance wants it."""
        return self.similarity.check_queries(Q, name)

    def check_items(self, P: Any, name: str = "P") -> Any:
        """Return `P` as the distance wants it."""
        return self.similarity.check_items(P, name)

    def _on_scale(self, scores: Any) -> Any:
        """Return 1/(1 + d) for scores that are −d, or −d² of a Mahalanobis."""
        is_squared = isinstance(self.similarity, Mahalanobis)
        return 1 / (1 + (np.sqrt(-scores) if is_squared else -scores))

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        scorer, dtype = self.similarity._scorer(Q, P)
        return BlockScorer(
            scorer.n_queries,
            scorer.n_items,
            ready=scorer.ready,
            score_block=lambda block, chunk: self._on_scale(scorer.scores(block, chunk)),
            parallel=scorer.parallel,
            width=scorer.width,
        ), dtype


def compared_by(source: Any, base: Any = "euclidean") -> Similarity:
    """Return what compares two rows in `similarity_among`, before it is brought to [−1, 1]."""
    if isinstance(source, str) and source in _MADE:
        return as_similarity(base)
    return similarity_among(source, None)


def similarity_among(source: Any, rows: Any, base: Any = "euclidean") -> Similarity:
    """Return a similarity for use among `rows`.

    Parameters
    ----------
    source : str, Similarity, fitted learner or callable
        "naive" and "ranked" are made of `base`, the latter with `rows` as its sample. A bare
        callable is a similarity, larger for what is more alike. The rest as in `as_similarity`.
    """
    if isinstance(source, str) and source in _MADE:
        return Ranked(rows, base) if source == "ranked" else Naive(base)
    if callable(source) and not isinstance(source, Similarity) and not hasattr(source, "transform"):
        return from_callable(source)
    try:
        return as_similarity(source)
    except ValueError as error:
        if isinstance(source, str):
            raise unknown_name(source, "similarity", [*_MADE, *NAMED]) from error
        raise


_MADE = ("naive", "ranked")


def _frozen(sample: Any) -> Any:
    """Return a copy of rows or objects that nobody can change."""
    if isinstance(sample, list | tuple):
        return tuple(_frozen(entry) if isinstance(entry, np.ndarray) else entry for entry in sample)
    return frozen_rows(sample)


def _alike(S: Rows, P: Rows) -> tuple[Rows, Rows]:
    """Return both sparse or both dense, and of one type: only then do equal rows score equally."""
    if not (hasattr(S, "dtype") and hasattr(P, "dtype")) or S.dtype.kind != "f":
        return S, P
    dtype = common_dtype(S, P)
    S, P = S.astype(dtype, copy=False), P.astype(dtype, copy=False)
    if is_sparse(S) == is_sparse(P):
        return S, P
    if is_sparse(P):
        return S, P.toarray()
    from scipy.sparse import csr_array

    return S, csr_array(P)
