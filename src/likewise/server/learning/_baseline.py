"""The comparison of a version with the model file, by cross-validation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.learners import judge as compare
from likewise.server.learning._forms import Forms
from likewise.server.learning._gate import MAX_PAGES, to_evaluation
from likewise.server.learning._initial import InitialModel, matrix_scores
from likewise.server.learning._journal import JournalCache
from likewise.server.learning._learner import ScoredVersion
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.learning._spaces import Spaces
from likewise.server.store import Evaluation, Store
from likewise.supervision import N_SPLITS


@dataclass(frozen=True, eq=False)
class BaselineComparison:
    """Held-out comparisons, and means over held-out queries.

    Attributes
    ----------
    outcomes : dict of str to Evaluation
        ``"overall"``, ``"seen"`` and ``"new"``: the model file and the version.
    triplets : list of (query, closer, farther)
        Revisions; None for a query that is a vector.
    before, after : arrays of shape (n_triplets,)
        Margins of the closer item over the farther one.
    """

    outcomes: dict[str, Evaluation]
    triplets: list[tuple[int | None, int, int]]
    before: np.ndarray
    after: np.ndarray


def compare_with_baseline(store: Store, number: int) -> BaselineComparison | None:
    """Evaluate a version on the pages of each split, trained without that split.

    A version of an earlier release cannot be trained again and is evaluated on later pages only.
    The answer is None if there is no page.
    """
    initial = InitialModel.from_store(store)
    version = next(v for v in store.versions() if v.number == number)
    pages = JournalCache.load(store, initial, store.checkpoint_entry()).pages()
    legacy = version.recipe is None and version.origin != "file"
    page_numbers = pages.with_comparisons(version.position if legacy else 0)[-MAX_PAGES:]
    forms = Forms(initial, Spaces(store, initial))
    scored = ScoredVersion(version, store.version_files(number), pages, forms)
    means: list[Any] = []
    triplets: list[Any] = []
    margins: list[Any] = []
    for split in range(N_SPLITS):
        in_split = pages.in_split(page_numbers, split)
        if len(in_split) == 0:
            continue
        held_out = HeldOutPages(pages, in_split)
        after = scored.scores(held_out, split)
        if after is None:
            continue
        before = matrix_scores(pages, held_out, initial.W)
        before += (initial.lexical or 0.0) * held_out.lexical
        both = np.array([before, after])
        means.append(held_out.query_means(both, pages.is_training_item(split)))
        query, closer, farther = held_out.comparisons()
        triplets += _revisions(pages, query, held_out.item[closer], held_out.item[farther])
        margins.append(both[:, closer] - both[:, farther])
    if not means:
        return None
    before, after = np.concatenate(means, axis=-1)
    outcomes = compare(before, after[None, None]).outcomes
    return BaselineComparison(
        {kind: to_evaluation(outcome) for kind, outcome in outcomes.items()},
        triplets,
        *np.concatenate(margins, axis=-1),
    )


def _revisions(pages: Pages, query: Any, closer: Any, farther: Any) -> list[Any]:
    queries = [pages.query_revisions[row] for row in query.tolist()]
    items = (pages.revisions[rows].tolist() for rows in (closer, farther))
    return list(zip(queries, *items, strict=True))
