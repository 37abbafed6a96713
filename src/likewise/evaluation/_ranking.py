"""How well a similarity finds what is relevant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._validation import check_whole_number, n_rows, take
from likewise.evaluation._table import Table
from likewise.evaluation._truth import BlockTruth, Truth, check_truth
from likewise.exceptions import require_extra
from likewise.metrics import (
    average_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from likewise.similarities import Similarity, as_similarity
from likewise.similarities._search import best_items, matches_of

# row numbers of queries, and the values of each measure for them
Measured: TypeAlias = tuple[np.ndarray, dict[str, np.ndarray]]

_NUMBERS_IN_BLOCK = 16_000_000
_QUERIES_IN_BLOCK = 8_192  # enough to be worth making the items ready; after each is progress


@dataclass(frozen=True, eq=False)
class RetrievalReport:
    """Ranking measures of every query; indexing by a measure's name gives its mean.

    Attributes
    ----------
    per_query : mapping of str to ndarray
        Values of each measure ("precision@10", "recall@10", "ndcg@10", "mrr", "map"), one for each
        query that has something relevant.
    queries : ndarray
        Row numbers of those queries.
    n_unjudged : int
        Queries left out because nothing is relevant to them.
    k : tuple of int
        The cut-offs.
    """

    per_query: Mapping[str, np.ndarray]
    queries: np.ndarray
    n_unjudged: int
    k: tuple[int, ...]

    def __getitem__(self, measure: str) -> float:
        return float(self.per_query[measure].mean())

    def means(self) -> dict[str, float]:
        """Return the mean of every measure."""
        return {measure: self[measure] for measure in self.per_query}

    def table(self) -> Table:
        """Return measures and means, with the standard error over queries."""
        return Table(
            ("measure", "mean", "std. error"),
            [
                (name, f"{values.mean():.4f}", f"{_standard_error(values):.4f}")
                for name, values in self.per_query.items()
            ],
        )

    def __repr__(self) -> str:
        return f"RetrievalReport({len(self.queries)} queries, map={self['map']:.4f})"

    def __str__(self) -> str:
        left_out = f" ({self.n_unjudged} with nothing relevant left out)" if self.n_unjudged else ""
        return f"{len(self.queries)} queries{left_out}\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw precision, recall and nDCG against the cut-off; returns the axes."""
        pyplot = require_extra("matplotlib.pyplot", "plots", "a plot")
        ax = pyplot.subplots()[1] if ax is None else ax
        for measure in ("precision", "recall", "ndcg"):
            name = measure if label is None else f"{label}: {measure}"
            ax.plot(self.k, [self[f"{measure}@{k}"] for k in self.k], marker="o", label=name)
        ax.set(xlabel="k", ylim=(0, 1), title=f"mAP {self['map']:.3f}, MRR {self['mrr']:.3f}")
        ax.legend()
        return ax


def evaluate_retrieval(
    similarity: Similarity | str,
    queries: Any,
    items: Any = None,
    *,
    labels: Any = None,
    item_labels: Any = None,
    relevance: Any = None,
    k: int | Sequence[int] = (1, 5, 10),
    depth: int | None = None,
    verbose: bool = False,
) -> RetrievalReport:
    """Rank the items for every query and measure the rankings.

    Parameters
    ----------
    similarity : Similarity, fitted learner or name
    queries, items : rows
        Without `items` every query ranks the other queries.
    labels, item_labels : arrays of labels
        Items with the label of the query are relevant. Without `item_labels` (and `items`) both
        sides have `labels`.
    relevance : array or sparse of shape (n_queries, n_items)
        Grades instead of labels: 0 is not relevant, the higher the better.
    k : int or sequence of int, default=(1, 5, 10)
        Cut-offs for precision, recall and nDCG.
    depth : int, optional
        How many ranks to look at for mAP and MRR; all by default.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    RetrievalReport

    Notes
    -----
    Measures are those of trec_eval: nDCG with the grade as gain and log₂(rank + 1) as discount;
    precision@k divides by k always; queries without anything relevant are left out and counted.
    Of equal scores the lower row ranks first. Memory stays flat, however many rows there are.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> report = lw.evaluate_retrieval("euclidean", data.X, labels=data.y)
    >>> round(report["precision@10"], 3), round(report["map"], 3)
    (0.938, 0.881)
    """
    similarity = as_similarity(similarity)
    cutoffs = check_cutoffs(k)
    among_themselves = items is None
    queries = similarity.check_queries(queries, "queries")
    items = (
        _items_among(similarity, queries)
        if among_themselves
        else similarity.check_items(items, "items")
    )
    n_queries, n_items = n_rows(queries), n_rows(items)
    truth = check_truth(labels, item_labels, relevance, queries, items, among_themselves)
    ranks = Ranks.of(n_items, cutoffs, depth, among_themselves)

    parts: list[Measured] = []
    size = queries_in_block(truth, ranks)
    with show_progress(verbose), LongWork("ranking", total=n_queries, unit="queries") as work:
        for block in np.split(np.arange(n_queries), range(size, n_queries, size)):
            found = truth.of(block, block if among_themselves else None)
            wanted = np.flatnonzero(found.n_relevant)
            if len(wanted):
                own = block[wanted] if among_themselves else None
                order = _ranking(similarity, take(queries, block[wanted]), items, own, ranks.n)
                parts.append((block[wanted], measures(found.take(wanted), order, ranks)))
            work.advance(len(block))
    return report_of(parts, n_queries, cutoffs)


class Ranks(NamedTuple):
    """How far down to look: the ranks to find, the cut-offs, the depth for mAP and MRR."""

    n: int
    cutoffs: tuple[int, ...]
    depth: int

    @classmethod
    def of(cls, n_items: int, cutoffs: tuple[int, ...], depth: int | None, same: bool) -> "Ranks":
        """Return what to look at; with `same` every query is one of the items, and left out."""
        depth = n_items if depth is None else check_whole_number(depth, "depth")
        return cls(min(max(depth, *cutoffs), n_items - same), cutoffs, depth)


def check_cutoffs(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the cut-offs as whole numbers."""
    cutoffs = tuple(check_whole_number(value, "k") for value in np.atleast_1d(k).tolist())
    if not cutoffs:
        raise ValueError("k must hold at least one cut-off, but none was given.")
    return cutoffs


def queries_in_block(truth: Truth, ranks: Ranks) -> int:
    """Return how many queries can be ranked and graded at a time."""
    most = _NUMBERS_IN_BLOCK // max(ranks.n, truth.numbers_a_query)
    return max(1, min(most, _QUERIES_IN_BLOCK))


def _items_among(similarity: Similarity, queries: Any) -> Any:
    """Return the queries as the items: for a precomputed matrix its columns."""
    if similarity.takes != "matrix":
        return similarity.check_items(queries, "queries")
    if queries.shape[0] != queries.shape[1]:
        raise ValueError(
            f"queries must be a square matrix where there are no items, but has shape "
            f"{queries.shape}."
        )
    return np.arange(len(queries))


def _ranking(
    similarity: Similarity, queries: Any, items: Any, own_rows: Any, n_ranks: int
) -> np.ndarray:
    """Return row numbers of the `n_ranks` best items for some queries.

    Also of all items, where sorting `similarity.score` would be faster: only a search knows which
    scores are equal, because a matrix product rounds equal pairs differently.
    """
    scorer, dtype = similarity._scorer(queries, items)
    best = best_items(scorer, n_ranks, own_rows=own_rows)
    return matches_of(best, n_ranks, scorer.n_items, own_rows, dtype).ids


def report_of(
    parts: Sequence[Measured], n_queries: int, cutoffs: tuple[int, ...]
) -> RetrievalReport:
    """Put together what was measured of blocks of queries."""
    if not parts:
        raise ValueError("nothing is relevant to any query, so there is nothing to measure.")
    found = [part for _, part in parts]
    per_query = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    rows = np.concatenate([rows for rows, _ in parts])
    return RetrievalReport(per_query, rows, n_queries - len(rows), cutoffs)


def _standard_error(values: np.ndarray) -> float:
    n = len(values)
    return float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def measures(truth: BlockTruth, order: np.ndarray, ranks: Ranks) -> dict[str, np.ndarray]:
    """Return every measure of rankings, one value a query."""
    cutoffs, depth = ranks.cutoffs, ranks.depth
    gains, n_relevant = truth.gains(order), truth.n_relevant
    ideal = truth.ideal(max(cutoffs))
    return {
        **{f"precision@{k}": precision_at(gains, k) for k in cutoffs},
        **{f"recall@{k}": recall_at(gains, k, n_relevant) for k in cutoffs},
        **{f"ndcg@{k}": ndcg_at(gains, k, ideal) for k in cutoffs},
        "mrr": reciprocal_rank(gains[:, :depth]),
        "map": average_precision(gains[:, :depth], n_relevant),
    }
