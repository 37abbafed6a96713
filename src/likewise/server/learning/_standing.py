"""How the live version stands beside the model file, on pages that it was not learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.learners import judge as compared
from likewise.server.learning._gate import MOST_PAGES, judged_of
from likewise.server.learning._learner import journal_pages, live_scores
from likewise.server.learning._pages import JudgedPages, Pages
from likewise.server.learning._start import Start, form_scores
from likewise.server.store import Store
from likewise.server.store._records import Judged
from likewise.supervision import N_SPLITS


@dataclass(frozen=True, eq=False)
class Standing:
    """Held-out comparisons, and the values of held-out queries.

    Attributes
    ----------
    outcomes : dict of str to Judged
        ``"overall"``, ``"seen"`` and ``"new"``: the model file and the live version.
    triplets : list of (query, closer, farther)
        Revisions; None for a query that is a vector.
    before, after : arrays of shape (n_triplets,)
        By how much the closer item scores above the farther one.
    """

    outcomes: dict[str, Judged]
    triplets: list[tuple[int | None, int, int]]
    before: np.ndarray
    after: np.ndarray


def standing(store: Store, number: int) -> Standing | None:
    """Judge a version by the pages of each split, learned again without that split.

    A version of an earlier likewise cannot be learned again: pages that came after it judge it.
    None where no page judges.
    """
    start = Start.of(store)
    version = next(v for v in store.versions() if v.number == number)
    pages = journal_pages(store, start)
    legacy = version.recipe is None and version.origin != "file"
    which = pages.comparing(version.position if legacy else 0)[-MOST_PAGES:]
    live = live_scores(version, store.files(number), pages, start)
    values: list[Any] = []
    triplets: list[Any] = []
    margins: list[Any] = []
    for split in range(N_SPLITS):
        held = which[pages.query_splits[pages.query[which]] == split]
        judged = JudgedPages(pages, held)
        after = live(judged, split) if len(held) else None
        if after is None:
            continue
        both = np.array([form_scores(pages, judged, start.W), after])
        values.append(judged.values(both, pages.seen(split)))
        query, closer, farther = judged.comparisons()
        triplets += _named(pages, query, judged.item[closer], judged.item[farther])
        margins.append(both[:, closer] - both[:, farther])
    if not values:
        return None
    before, after = np.concatenate(values, axis=-1)
    outcomes = compared(before, after[None, None]).outcomes
    return Standing(
        {kind: judged_of(outcome) for kind, outcome in outcomes.items()},
        triplets,
        *np.concatenate(margins, axis=-1),
    )


def _named(pages: Pages, query: Any, closer: Any, farther: Any) -> list[Any]:
    asked = [pages.query_revisions[row] for row in query.tolist()]
    items = (pages.revisions[rows].tolist() for rows in (closer, farther))
    return list(zip(asked, *items, strict=True))
