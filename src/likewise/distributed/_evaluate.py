"""How well a similarity finds what is relevant, among rows that need not be here."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise._progress import show_progress
from likewise._validation import Rows
from likewise.distributed._blocks import even_blocks
from likewise.distributed._executor import connected
from likewise.distributed._rows import RowBlocks, labels_here
from likewise.distributed._search import Found, Search, similarity_of_rows
from likewise.evaluation import RetrievalReport
from likewise.evaluation._ranking import (
    Measured,
    Ranks,
    check_cutoffs,
    measured,
    n_left_out,
    queries_in_block,
    report_of,
)
from likewise.evaluation._truth import Grades, SameLabel, check_seen, check_truth
from likewise.similarities import matches_of


def evaluate_retrieval(
    similarity: Any,
    queries: Any,
    items: Any = None,
    *,
    labels: Any = None,
    item_labels: Any = None,
    relevance: Any = None,
    trained_on: Any = None,
    k: int | Sequence[int] = (1, 5, 10),
    depth: int | None = None,
    client: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> RetrievalReport:
    """Rank the items for every query and measure the rankings, wherever the rows lie.

    The answer is that of `likewise.evaluate_retrieval`. Workers rank and measure; what comes back
    is one value for each measure and query.

    Parameters
    ----------
    similarity : Similarity, fitted learner or name
    queries, items : rows, as `likewise.distributed.neighbors` takes them
        Without `items` every query ranks the other queries.
    labels, item_labels, relevance, trained_on, k, depth, verbose
        As in `likewise.evaluate_retrieval`; labels may also be a Dask array, an .npy file or a
        column of `read_parquet`.
    client : distributed.Client or address, optional
        Threads of this process by default.
    n_jobs : int, optional
        How many threads these are.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.load("iris")
    >>> report = lw.distributed.evaluate_retrieval("euclidean", data.X, labels=data.y, n_jobs=2)
    >>> round(report["map"], 3)
    0.881
    """
    similarity = similarity_of_rows(similarity)
    cutoffs = check_cutoffs(k)
    same = items is None
    labels = None if labels is None else labels_here(labels, "labels")
    item_labels = None if item_labels is None else labels_here(item_labels, "item_labels")
    with show_progress(verbose), connected(client, n_jobs) as executor:
        Q = RowBlocks(queries, "queries", executor)
        P = Q if same else RowBlocks(items, "items", executor)
        truth = check_truth(labels, item_labels, relevance, Q, P, same)
        seen = None if trained_on is None else check_seen(trained_on, len(P))
        ranks = Ranks.of(len(P), cutoffs, depth, same, n_left_out(truth, seen))
        blocks = even_blocks(len(Q), queries_in_block(truth, ranks))
        held = executor.share(truth.held if isinstance(truth, SameLabel) else None)
        shared_seen = executor.share(seen)
        tasks = [
            (_asked(truth, block), held, len(P), block.start, same, ranks, shared_seen)
            for block in blocks
        ]
        search = Search(executor, similarity, Q, P, exclude_self=same)
        parts = list(search.each(blocks, ranks.n, finish_measures, tasks))
        return report_of([part for part in parts if part], len(Q), cutoffs)


def _asked(truth: SameLabel | Grades, block: slice) -> np.ndarray | Rows:
    """Return what is known of a block of queries alone: their labels, or their grades."""
    return truth.wanted[block] if isinstance(truth, SameLabel) else truth.grades[block]


def finish_measures(
    found: Found,
    asked: Any,
    held: Any,
    n_items: int,
    start: int,
    same: bool,
    ranks: Ranks,
    seen: np.ndarray | None,
) -> list[Measured]:
    """Measure the rankings of a block of queries, of which the first is row `start`.

    Nothing comes back where no query of the block has anything relevant.
    """
    rows = np.arange(start, start + len(found.best[0]))
    own_rows = rows if same else None
    truth = Grades(asked) if held is None else SameLabel(asked, held)
    relevant = truth.of(slice(None), own_rows)
    wanted = np.flatnonzero(relevant.n_relevant)
    if len(wanted) == 0:
        return []
    order = matches_of(found.best, ranks.n, n_items, own_rows, found.dtype).ids
    return measured(rows[wanted], relevant.take(wanted), order[wanted], ranks, seen)
