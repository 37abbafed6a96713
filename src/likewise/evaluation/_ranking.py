"""Retrieval quality of a similarity: rankings, and their measures for every query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from likewise._execution import Backend, current_backend
from likewise._progress import LongWork, show_progress
from likewise._validation import check_square, check_whole_number, n_rows, take
from likewise.evaluation._table import Table
from likewise.evaluation._truth import (
    BlockTruth,
    Grades,
    SameLabel,
    Truth,
    check_seen,
    check_truth,
)
from likewise.exceptions import require_extra
from likewise.metrics import (
    average_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from likewise.similarities import Matches, Similarity, as_similarity, best_items, to_matches

# row numbers of queries, and the values of each measure for them
Measured: TypeAlias = tuple[np.ndarray, dict[str, np.ndarray]]

_NUMBERS_IN_BLOCK = 16_000_000
_QUERIES_IN_BLOCK = 8_192  # amortizes the preparation of the items; progress after each block


@dataclass(frozen=True, eq=False)
class RetrievalReport:
    """Ranking measures of every query; indexing by a measure's name gives its mean.

    The mean over no queries is NaN, and the table shows it as "–".

    Attributes
    ----------
    per_query : mapping of str to ndarray
        Values of each measure ("precision@10", "recall@10", "ndcg@10", "mrr", "map"), one for each
        query with a relevant item.
    queries : ndarray
        Row numbers of those queries.
    n_unjudged : int
        Queries left out because they have no relevant item.
    k : tuple of int
        The cut-offs.
    seen, new : RetrievalReport, optional
        The same measures for the items of the training, and for all others; only with
        `trained_on`. Each holds the queries with a relevant item of its kind, possibly none.
    """

    per_query: Mapping[str, np.ndarray]
    queries: np.ndarray
    n_unjudged: int
    k: tuple[int, ...]
    seen: "RetrievalReport | None" = None
    new: "RetrievalReport | None" = None

    def __getitem__(self, measure: str) -> float:
        values = self.per_query[measure]
        return float(values.mean()) if len(values) else np.nan

    def means(self) -> dict[str, float]:
        """Return the mean of every measure."""
        return {measure: self[measure] for measure in self.per_query}

    def table(self) -> Table:
        """Return measures and means, with the standard error over queries.

        Where there are `seen` and `new`, they are columns beside the overall means.
        """
        if self.seen is None or self.new is None:
            rows = [(name, *_mean_and_error(values)) for name, values in self.per_query.items()]
            return Table(("measure", "mean", "std. error"), rows)
        kinds = (self, self.seen, self.new)
        return Table(
            ("mean ± std. error", "overall", "seen", "new"),
            [
                ("queries", *(str(len(kind.queries)) for kind in kinds)),
                *(
                    (name, *(_mean_with_error(kind.per_query[name]) for kind in kinds))
                    for name in self.per_query
                ),
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
        """Draw precision, recall and nDCG against the cut-off; return the axes."""
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
    trained_on: Any = None,
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
        Items with the label of the query are relevant. Without `items` and `item_labels`, the
        items have `labels`.
    relevance : array or sparse of shape (n_queries, n_items)
        Grades instead of labels: 0 is not relevant, higher is more relevant.
    trained_on : array or sparse of shape (any, n_items), or mask of shape (n_items,), optional
        The relevance of the training, a row for each training query, or a mask of its relevant
        items. The report then also measures these items, `seen`, and all others, `new`,
        separately.
    k : int or sequence of int, default=(1, 5, 10)
        Cut-offs for precision, recall and nDCG.
    depth : int, optional
        Number of ranks for mAP and MRR; all by default.
    verbose : bool, default=False
        Show progress.

    Returns
    -------
    RetrievalReport

    Notes
    -----
    Measures are those of trec_eval: nDCG with the grade as gain and log₂(rank + 1) as discount;
    precision@k always divides by k; queries without a relevant item are left out and counted. Of
    equal scores the lower row ranks first. Memory does not grow with the number of rows.

    With `trained_on`, only relevant items of a kind count for it. Relevant items of the other kind
    are left out of the ranking, and items below them move up; irrelevant items stay. Queries
    without a relevant item of a kind are left out of its measures; where no query has one, the
    means are NaN.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> report = lw.evaluate_retrieval("euclidean", data.X, labels=data.y)
    >>> round(report["precision@10"], 3), round(report["map"], 3)
    (0.938, 0.881)

    Items of the training, here every other one, and new items separately:

    >>> seen = np.arange(150) % 2 == 0
    >>> report = lw.evaluate_retrieval("euclidean", data.X, labels=data.y, trained_on=seen)
    >>> round(report.seen["map"], 3), round(report.new["map"], 3)
    (0.824, 0.832)
    """
    similarity = as_similarity(similarity)
    cutoffs = check_cutoffs(k)
    among_themselves = items is None
    backend = current_backend() if similarity.takes == "rows" else None
    if backend is None:
        queries = similarity.check_queries(queries, "queries")
        items = (
            _items_among(similarity, queries)
            if among_themselves
            else similarity.check_items(items, "items")
        )
    else:
        queries = backend.rows(queries, "queries")
        items = queries if among_themselves else backend.rows(items, "items")
        labels = None if labels is None else backend.labels(labels, "labels")
        item_labels = None if item_labels is None else backend.labels(item_labels, "item_labels")
    n_queries, n_items = n_rows(queries), n_rows(items)
    truth = check_truth(labels, item_labels, relevance, queries, items, among_themselves)
    seen = None if trained_on is None else check_seen(trained_on, n_items)
    n_left_out = 0 if seen is None else truth.max_relevant  # of a ranking, by kinds of items
    ranks = Ranks.of(n_items, cutoffs, depth, among_themselves, n_left_out)

    if backend is not None:
        with show_progress(verbose):
            blocks = _blocks_on(backend, similarity, queries, items, truth, ranks, seen)
            return report_of([part for part in blocks if part], n_queries, cutoffs)
    parts: list[list[Measured]] = []
    size = queries_in_block(truth, ranks)
    with show_progress(verbose), LongWork("ranking", total=n_queries, unit="queries") as work:
        for block in np.split(np.arange(n_queries), range(size, n_queries, size)):
            relevant = truth.of(block, block if among_themselves else None)
            which = np.flatnonzero(relevant.n_relevant)
            if len(which):
                rows = block[which]
                own = rows if among_themselves else None
                order = _ranking(similarity, take(queries, rows), items, own, ranks.n)
                parts.append(measure(rows, relevant.take(which), order, ranks, seen))
            work.advance(len(block))
    return report_of(parts, n_queries, cutoffs)


def _blocks_on(
    backend: Backend,
    similarity: Similarity,
    queries: Any,
    items: Any,
    truth: SameLabel | Grades,
    ranks: "Ranks",
    seen: np.ndarray | None,
) -> list[list[Measured]]:
    """Rank and measure on a backend; only the measures of each query come back."""
    same = items is queries
    item_labels = backend.share(truth.item_labels if isinstance(truth, SameLabel) else None)
    shared_seen = backend.share(seen)

    def arguments(block: slice) -> tuple[Any, ...]:
        part = truth.query_labels[block] if isinstance(truth, SameLabel) else truth.grades[block]
        return block.start, part, item_labels, same, ranks, shared_seen

    blocks = backend.search(
        similarity,
        queries,
        items,
        ranks.n,
        measure_block,
        arguments,
        exclude_self=same,
        block_size=queries_in_block(truth, ranks),
    )
    return list(blocks)


def measure_block(
    matches: Matches,
    start: int,
    part: Any,
    item_labels: np.ndarray | None,
    same: bool,
    ranks: "Ranks",
    seen: np.ndarray | None,
) -> list[Measured]:
    """Measure the rankings of a block of queries, of which the first is row `start`.

    Returns an empty list where no query of the block has a relevant item.
    """
    rows = np.arange(start, start + len(matches.ids))
    truth = Grades(part) if item_labels is None else SameLabel(part, item_labels)
    relevant = truth.of(slice(None), rows if same else None)
    which = np.flatnonzero(relevant.n_relevant)
    if len(which) == 0:
        return []
    return measure(rows[which], relevant.take(which), matches.ids[which], ranks, seen)


class Ranks(NamedTuple):
    """The number of ranks to search, the cut-offs, and the depth for mAP and MRR."""

    n: int
    cutoffs: tuple[int, ...]
    depth: int

    @classmethod
    def of(
        cls,
        n_items: int,
        cutoffs: tuple[int, ...],
        depth: int | None,
        same: bool,
        n_left_out: int = 0,
    ) -> "Ranks":
        """Return the ranks that the measures need.

        With `same` every query is one of the items and is left out. Up to `n_left_out` more items
        are left out after ranking.
        """
        depth = n_items if depth is None else check_whole_number(depth, "depth")
        return cls(min(max(depth, *cutoffs) + n_left_out, n_items - same), cutoffs, depth)


def check_cutoffs(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the cut-offs as whole numbers."""
    cutoffs = tuple(check_whole_number(value, "k") for value in np.atleast_1d(k).tolist())
    if not cutoffs:
        raise ValueError("k must hold at least one cut-off, but none was given.")
    return cutoffs


def queries_in_block(truth: Truth, ranks: Ranks) -> int:
    """Return the number of queries to rank and grade at a time."""
    maximum = _NUMBERS_IN_BLOCK // max(ranks.n, truth.numbers_per_query)
    return max(1, min(maximum, _QUERIES_IN_BLOCK))


def _items_among(similarity: Similarity, queries: Any) -> Any:
    """Return the queries as the items: for a precomputed matrix its columns."""
    if similarity.takes != "matrix":
        return similarity.check_items(queries, "queries")
    check_square(queries, "queries")
    return np.arange(len(queries))


def _ranking(
    similarity: Similarity, queries: Any, items: Any, own_rows: Any, n_ranks: int
) -> np.ndarray:
    """Return row numbers of the `n_ranks` best items for some queries.

    A search is used even for all items, where sorting `similarity.score` would be faster: a matrix
    product rounds equal pairs differently, and only the search detects equal scores.
    """
    scorer, dtype = similarity._scorer(queries, items)
    best = best_items(scorer, n_ranks, own_rows=own_rows)
    return to_matches(best, n_ranks, scorer.n_items, own_rows, dtype).ids


def report_of(
    parts: Sequence[Sequence[Measured]], n_queries: int, cutoffs: tuple[int, ...]
) -> RetrievalReport:
    """Return the report of the measures of all blocks."""
    if not parts:
        raise ValueError("no query has a relevant item, so there is nothing to measure.")
    kinds = zip(*parts, strict=True)
    overall, *by_kind = (_report_of_kind(kind, n_queries, cutoffs) for kind in kinds)
    if not by_kind:
        return overall
    seen, new = by_kind
    return replace(overall, seen=seen, new=new)


def _report_of_kind(
    parts: Sequence[Measured], n_queries: int, cutoffs: tuple[int, ...]
) -> RetrievalReport:
    values = [part for _, part in parts]
    per_query = {name: np.concatenate([part[name] for part in values]) for name in values[0]}
    rows = np.concatenate([rows for rows, _ in parts])
    return RetrievalReport(per_query, rows, n_queries - len(rows), cutoffs)


def _mean_with_error(values: np.ndarray) -> str:
    return " ± ".join(_mean_and_error(values)) if len(values) else "–"


def _mean_and_error(values: np.ndarray) -> tuple[str, str]:
    """Return the mean and its standard error as text, dashes where there are no values."""
    n = len(values)
    if n == 0:
        return "–", "–"
    error = values.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
    return f"{values.mean():.4f}", f"{error:.4f}"


def measure(
    rows: np.ndarray, truth: BlockTruth, order: np.ndarray, ranks: Ranks, seen: np.ndarray | None
) -> list[Measured]:
    """Measure the rankings of queries that all have a relevant item.

    Parameters
    ----------
    rows : row numbers of the queries
    truth : their relevance
    order : (n_queries, ranks.n) array of items, best first
    ranks : Ranks
    seen : mask of items, optional

    Returns
    -------
    list : of all relevant items; with `seen`, also of seen and of new items
    """
    gains = truth.gains(order)
    measured = [(rows, _measures(truth, gains, ranks))]
    for kind in () if seen is None else (seen, ~seen):
        of_kind = truth.among(kind)
        which = np.flatnonzero(of_kind.n_relevant)
        of_kind = of_kind.take(which)
        gains_of_kind = of_kind.gains(order[which])
        compact = _without(gains_of_kind, (gains[which] > 0) & (gains_of_kind == 0))
        measured.append((rows[which], _measures(of_kind, compact, ranks)))
    return measured


def _without(gains: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return the gains by rank without the items of a mask, whose gain is 0; others move up."""
    return np.take_along_axis(gains, np.argsort(left_out, axis=1, kind="stable"), axis=1)


def _measures(truth: BlockTruth, gains: np.ndarray, ranks: Ranks) -> dict[str, np.ndarray]:
    """Return every measure of the rankings, one value for each query."""
    cutoffs, depth = ranks.cutoffs, ranks.depth
    n_relevant = truth.n_relevant
    ideal = truth.ideal(max(cutoffs))
    return {
        **{f"precision@{k}": precision_at(gains, k) for k in cutoffs},
        **{f"recall@{k}": recall_at(gains, k, n_relevant) for k in cutoffs},
        **{f"ndcg@{k}": ndcg_at(gains, k, ideal) for k in cutoffs},
        "mrr": reciprocal_rank(gains[:, :depth]),
        "map": average_precision(gains[:, :depth], n_relevant),
    }
