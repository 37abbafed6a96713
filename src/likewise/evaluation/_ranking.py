"""How well a similarity finds what is relevant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._progress import LongWork, show_progress
from likewise._validation import (
    check_labels,
    check_rows,
    check_same_length,
    check_whole_number,
    is_sparse,
    n_rows,
    take,
)
from likewise.evaluation._table import Table
from likewise.exceptions import require_extra
from likewise.metrics import (
    average_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from likewise.similarities import Similarity, as_similarity

_SCORES_IN_BLOCK = 16_000_000


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
    cutoffs = tuple(check_whole_number(value, "k") for value in np.atleast_1d(k).tolist())
    if not cutoffs:
        raise ValueError("k must hold at least one cut-off, but none was given.")
    among_themselves = items is None
    queries = similarity.check_queries(queries, "queries")
    items = (
        _items_among(similarity, queries)
        if among_themselves
        else similarity.check_items(items, "items")
    )
    n_queries, n_items = n_rows(queries), n_rows(items)
    truth = _truth(labels, item_labels, relevance, queries, items, among_themselves)
    depth = n_items if depth is None else check_whole_number(depth, "depth")
    n_ranks = min(max(depth, *cutoffs), n_items - among_themselves)

    judged: list[np.ndarray] = []
    parts: list[dict[str, np.ndarray]] = []
    size = max(1, _SCORES_IN_BLOCK // n_items)
    with show_progress(verbose), LongWork("ranking", total=n_queries, unit="queries") as work:
        for block in np.split(np.arange(n_queries), range(size, n_queries, size)):
            grades = truth(block)
            if among_themselves:
                grades[np.arange(len(block)), block] = 0
            wanted = np.flatnonzero((grades > 0).any(axis=1))
            if len(wanted):
                order = _ranking(
                    similarity, queries, items, block[wanted], n_ranks, among_themselves
                )
                parts.append(_measures(grades[wanted], order, cutoffs, depth))
                judged.append(block[wanted])
            work.advance(len(block))
    if not parts:
        raise ValueError("nothing is relevant to any query, so there is nothing to measure.")
    per_query = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rows = np.concatenate(judged)
    return RetrievalReport(per_query, rows, n_queries - len(rows), cutoffs)


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


def _truth(
    labels: Any, item_labels: Any, relevance: Any, queries: Any, items: Any, same: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what gives the grades of a block of queries with all items, dense and its own."""
    if (labels is None) == (relevance is None):
        raise ValueError("labels or relevance must be given to say what is relevant, not both.")
    if relevance is not None:
        grades = check_rows(relevance, "relevance", n_features=n_rows(items))
        check_same_length(queries, "queries", grades, "relevance")
        values = grades.data if is_sparse(grades) else grades
        if values.size and values.min() < 0:
            raise ValueError(f"relevance holds {values.min():.4g}, but grades start at 0.")
        return lambda block: grades[block].toarray() if is_sparse(grades) else grades[block]
    if not same and item_labels is None:
        raise ValueError("item_labels is needed beside labels where there are items.")
    left = right = check_labels(labels, "labels", queries, "queries")
    if item_labels is not None:
        right = check_labels(item_labels, "item_labels", items, "items")
    return lambda block: (left[block][:, None] == right).astype(np.float64)


def _ranking(
    similarity: Similarity, queries: Any, items: Any, block: np.ndarray, n_ranks: int, same: bool
) -> np.ndarray:
    """Return row numbers of the `n_ranks` best items for a block of queries.

    Also of all items, where sorting `similarity.score` would be faster: only a search knows which
    scores are equal, because a matrix product rounds equal pairs differently.
    """
    order = similarity.neighbors(take(queries, block), items, n_ranks + same).ids
    if same:
        others = order != block[:, None]
        others[others.all(axis=1), -1] = False  # not among its own best: the last goes instead
        order = order[others].reshape(len(block), -1)
    return order


def _standard_error(values: np.ndarray) -> float:
    n = len(values)
    return float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def _measures(
    grades: np.ndarray, order: np.ndarray, cutoffs: Sequence[int], depth: int
) -> dict[str, Any]:
    gains = np.take_along_axis(grades, order, axis=1)
    n_relevant = np.count_nonzero(grades, axis=1)
    deepest = min(max(cutoffs), grades.shape[1])
    ideal = -np.sort(-np.partition(grades, -deepest, axis=1)[:, -deepest:], axis=1)
    return {
        **{f"precision@{k}": precision_at(gains, k) for k in cutoffs},
        **{f"recall@{k}": recall_at(gains, k, n_relevant) for k in cutoffs},
        **{f"ndcg@{k}": ndcg_at(gains, k, ideal) for k in cutoffs},
        "mrr": reciprocal_rank(gains[:, :depth]),
        "map": average_precision(gains[:, :depth], n_relevant),
    }
