"""The rank of an item among a sample, as a similarity in [−1, 1].

Ranks compare scores exactly: equal pairs have equal scores, whichever block they are in.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from likewise._progress import LongWork
from likewise._threads import for_each, slices
from likewise._validation import (
    Rows,
    check_bool,
    check_choice,
    check_rows,
    check_same_length,
    is_sparse,
    n_rows,
    take,
)
from likewise.similarities._base import Similarity
from likewise.similarities._convert import as_similarity
from likewise.similarities._rows import common_dtype, frozen_rows
from likewise.similarities._search import (
    BlockScorer,
    Scorer,
    chunks,
    exact_scores,
    query_blocks,
)
from likewise.similarities._transformed import Naive, Wrapped, rescored

_THRESHOLDS_AT_A_TIME = 1_000_000
_PAIRS_IN_BLOCK = 32
_MAX_SORTED = 2**24  # scores of queries with the sample that a search keeps sorted: 128 MiB
_SAMPLE_SIZE = 200

Ties = Literal["min", "average"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Ranked(Wrapped):
    """K(q, p) = 1 − 2·Prob over z in S of [z is closer to q than p is]: the rank, as a similarity.

    After Rwebangira and Blum (2009). Every query has the full range of scores, from 1 for its
    nearest item to −1, whatever the scale of the underlying similarity. Not symmetric: the nearest
    neighbor of a row may have other rows nearer to it.

    Parameters
    ----------
    S : rows, a list of objects, or None
        The sample in which ranks are counted: all examples, labeled or not. A copy is kept. With
        None, `fitted` takes up to 200 of the training objects.
    similarity : str, Similarity, callable or fitted learner, default="euclidean"
        Which similarity to rank by, as in `as_similarity`.
    transductive : bool, default=False
        Divide the rank by n − 1 instead of n, so that the farthest of n rows of S scores exactly
        −1: for items that are rows of S.
    ties : {"min", "average"}, default="min"
        Whether rows of S exactly as close as p count as farther, or half of them as closer; as in
        `scipy.stats.rankdata`.

    Notes
    -----
    Scoring takes one pass over S for each query, whatever the number of items.

    Examples
    --------
    >>> import likewise as lw
    >>> s = lw.Ranked([[0.0], [1.0], [10.0], [1000.0]])
    >>> s.score([[0.0]], [[0.0], [10.0], [1000.0]])
    array([[ 1. ,  0. , -0.5]])
    """

    is_symmetric = False
    S: Any
    similarity: Similarity
    transductive: bool
    ties: Ties

    def __init__(
        self,
        S: Any,
        similarity: Any = "euclidean",
        transductive: bool = False,
        ties: Ties = "min",
    ) -> None:
        base = as_similarity(similarity)
        check_bool(transductive, "transductive")
        sample = None if S is None else _frozen(base.check_items(S, "S"))
        object.__setattr__(self, "S", sample)
        object.__setattr__(self, "similarity", base)
        object.__setattr__(self, "transductive", transductive)
        object.__setattr__(self, "ties", check_choice(ties, "ties", get_args(Ties)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.S, self.similarity, self.transductive, self.ties)

    def __repr__(self) -> str:
        size = "no sample" if self.S is None else f"{n_rows(self.S)} rows"
        kind = ", transductive" if self.transductive else ""
        ties = "" if self.ties == "min" else f", ties={self.ties!r}"
        return f"Ranked({size}, {self.similarity!r}{kind}{ties})"

    def fitted(self, X: Any) -> "Ranked":
        """Return this with up to 200 of the training objects as its sample, if it has none."""
        base = self.similarity.fitted(X)
        sample = self.S
        if sample is None:
            rows = base.check_queries(X, "X")
            chosen = evenly_spaced(n_rows(rows), _SAMPLE_SIZE)
            sample = chosen if base.takes == "matrix" else take(rows, chosen)
        return Ranked(sample, base, self.transductive, self.ties)

    def score(self, Q: Any, P: Any) -> np.ndarray:
        Q, P = self._check(Q, P)
        return (1 - 2 * self.closer(Q, P)).astype(self._dtype(Q, P), copy=False)

    def score_pairs(self, Q: Any, P: Any) -> np.ndarray:
        Q, P = self._check(Q, P)
        check_same_length(Q, "Q", P, "P")
        S, P_like_S = _same_format(self.S, P)
        own = [
            np.diagonal(exact_scores(self.similarity._scorer(Q[block], P_like_S[block])[0]))
            for block in slices(n_rows(Q), _PAIRS_IN_BLOCK)
        ]
        closer = self._count_closer(Q, S, np.concatenate(own)[:, None])[:, 0]
        return (1 - 2 * self._share(closer)).astype(self._dtype(Q, P), copy=False)

    def closer(self, Q: Any, P: Any) -> np.ndarray:
        """Return the share of S closer to each query than each item, (n_queries, n_items)."""
        Q, P = self._check(Q, P)
        S, P = _same_format(self.S, P)
        n_queries, n_items = n_rows(Q), n_rows(P)
        shares = np.empty((n_queries, n_items))
        with LongWork("ranking", total=n_queries, unit="rows") as work:
            for part in slices(n_queries, max(1, _THRESHOLDS_AT_A_TIME // n_items)):
                thresholds = exact_scores(self.similarity._scorer(Q[part], P)[0])
                shares[part] = self._share(self._count_closer(Q[part], S, thresholds))
                work.advance(part.stop - part.start)
        return shares

    def check_queries(self, Q: Any, name: str = "Q") -> Rows:
        """Validate queries as the underlying similarity does, with the width of S."""
        return self._check_width(self.similarity.check_queries(Q, name), name)

    def check_items(self, P: Any, name: str = "P") -> Rows:
        """Validate items as the underlying similarity does, with the width of S."""
        return self._check_width(self.similarity.check_items(P, name), name)

    def _check(self, Q: Any, P: Any) -> tuple[Any, Any]:
        if self.S is None:
            raise ValueError("S is None: give the sample to rank among, or call fitted(X).")
        if self.takes == "matrix":  # only the columns in P and S are read, and checked then
            return Q, self.check_items(P)
        return self.check_queries(Q), self.check_items(P)

    def _check_width(self, rows: Any, name: str) -> Any:
        if (
            self.takes != "rows"
            or self.S is None
            or getattr(self.similarity, "W", np.ones(())).ndim == 2
        ):
            return rows  # the similarity has checked the width, which may differ from that of S
        return check_rows(rows, name, n_features=self.S.shape[1])

    def _count_closer(self, Q: Any, S: Any, thresholds: np.ndarray) -> np.ndarray:
        """Return the number of rows of `S` that score above each threshold of a query."""
        scorer = self.similarity._scorer(Q, S)[0]
        if self.ties == "min":
            return _counts_above(scorer, thresholds)
        both = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf)], axis=1)
        above, not_below = np.split(_counts_above(scorer, both), 2, axis=1)
        return (above + not_below) / 2

    def _share(self, counts: np.ndarray) -> np.ndarray:
        n = n_rows(self.S)
        return np.minimum(counts / (max(1, n - 1) if self.transductive else n), 1)

    def _dissimilarity(self, scores: Any) -> Any:
        """Return the share of S that is closer."""
        return (1 - scores) / 2

    def _dtype(self, Q: Any, P: Any) -> Any:
        return common_dtype(Q, P) if self.takes == "rows" else np.float64

    def _scorer(self, Q: Any, P: Any) -> tuple[Scorer, Any]:
        Q, P = self._check(Q, P)
        dtype = self._dtype(Q, P)
        S, P = _same_format(self.S, P)
        base = self.similarity._scorer(Q, P)[0]
        if base.n_queries * n_rows(S) > _MAX_SORTED:
            return BlockScorer(
                base.n_queries,
                base.n_items,
                ready=lambda which: take(P, which),
                score_block=lambda block, items: self.score(Q[block], items),
                parallel=base.parallel,
            ), dtype
        reference = np.sort(exact_scores(self.similarity._scorer(Q, S)[0]), axis=1)

        def score_block(block: slice, items: Any) -> np.ndarray:
            scores = base.scores(block, items)
            closer = np.empty(scores.shape)
            for i, (row, sample) in enumerate(zip(scores, reference[block], strict=True)):
                closer[i] = len(sample) - np.searchsorted(sample, row, side="right")
                if self.ties == "average":
                    closer[i] = (closer[i] + len(sample) - np.searchsorted(sample, row)) / 2
            return 1 - 2 * self._share(closer)

        return rescored(base, score_block), dtype


def underlying_similarity(source: Any, base: Any = "euclidean") -> Similarity:
    """Return the similarity that `similarity_among` is based on, without a sample."""
    if isinstance(source, str) and source in _MADE_AMONG_ROWS:
        return as_similarity(base)
    return similarity_among(source, None)


def similarity_among(source: Any, rows: Any, base: Any = "euclidean") -> Similarity:
    """Return a similarity for use among `rows`.

    Parameters
    ----------
    source : str, Similarity, callable or fitted learner
        "ranked" ranks `base` among `rows`, "naive" is 1/(1 + d) of `base`; the rest is as in
        `as_similarity`.
    """
    if isinstance(source, str) and source in _MADE_AMONG_ROWS:
        return Ranked(rows, base) if source == "ranked" else Naive(base)
    return as_similarity(source, more_names=_MADE_AMONG_ROWS)


_MADE_AMONG_ROWS = ("naive", "ranked")


def evenly_spaced(n: int, size: int) -> np.ndarray:
    """Return up to `size` of the numbers below n, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, size)).astype(np.int64))


def _counts_above(scorer: Scorer, thresholds: np.ndarray) -> np.ndarray:
    """Return the number of items that score above each threshold of a query."""
    order = np.argsort(thresholds, axis=1)
    ascending = np.take_along_axis(thresholds, order, axis=1)
    placed = np.zeros((len(thresholds), thresholds.shape[1] + 1), np.int64)
    for chunk in chunks(scorer):
        ready = scorer.ready(chunk)

        def work(block: slice, ready: Any = ready) -> None:
            scorer.count(block, ready, ascending[block], placed[block])

        for_each(work, query_blocks(scorer), parallel=scorer.parallel)
    above = placed[:, :0:-1].cumsum(axis=1)[:, ::-1]
    counts = np.empty_like(above)
    np.put_along_axis(counts, order, above, axis=1)
    return counts


def _frozen(sample: Any) -> Any:
    """Return a read-only copy of rows or objects."""
    if isinstance(sample, list | tuple):
        return tuple(_frozen(entry) if isinstance(entry, np.ndarray) else entry for entry in sample)
    return frozen_rows(sample)


def _same_format(S: Rows, P: Rows) -> tuple[Rows, Rows]:
    """Return both sparse or both dense, and of one dtype: only then do equal rows score equally."""
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
