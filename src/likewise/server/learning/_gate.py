"""When a candidate is made, by which queries it is judged, and what it must exceed.

All of it depends on the journal alone: a run that was cut off and begun again does the same as one
that was not.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from math import log, sqrt

import numpy as np

from likewise.learners import ERRORS_TO_PASS, Outcome
from likewise.learners import judge as best_of
from likewise.server.learning._pages import JudgedPages, Pages
from likewise.server.store._records import ItemId, Judged, Verdict
from likewise.supervision import N_SPLITS

FEWEST_QUERIES = 20
MOST_PAGES = 10_000  # the newest, that judge
_MORE_ERRORS = 2.5  # see `errors_to_pass`
_SMALL_STEP, _LARGE_STEP, _GROWTH = 10, 1_000, 0.05

Scores = Callable[[JudgedPages, int], np.ndarray | None]


def split_of(query_or_item: ItemId | Iterable[float]) -> int:
    """Return the split of a query or of an item: by the hash of its id, or of its vector."""
    if isinstance(query_or_item, int | str):
        content = str(query_or_item).encode()
    else:
        content = np.asarray(query_or_item, dtype="<f4").tobytes()
    return _scattered(int.from_bytes(sha256(content).digest()[:8], "big")) % N_SPLITS


def _scattered(number: int) -> int:
    """Return a number that looks random: SplitMix64, by Steele, Lea and Flood (2014)."""
    mixed = (number + 0x9E3779B97F4A7C15) % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
    return mixed ^ (mixed >> 31)


class Marks:
    """Positions at which a candidate is made: often at first, then at a twentieth more."""

    def __init__(self) -> None:
        self._known = [_SMALL_STEP]

    def between(self, before: int, after: int) -> bool:
        """Tell whether there is one above `before` and not above `after`."""
        return self._up_to(after) > self._up_to(before)

    def last(self, position: int) -> int:
        """Return the last one that is not above a position; 0 where there is none."""
        n = self._up_to(position)
        return self._known[n - 1] if n else 0

    def _up_to(self, position: int) -> int:
        while self._known[-1] <= position:
            step = int(np.clip(self._known[-1] * _GROWTH, _SMALL_STEP, _LARGE_STEP))
            self._known.append(self._known[-1] + step)
        return bisect_right(self._known, position)


def errors_to_pass(test: int, n_queries: int) -> float:
    """Return how many standard errors the overall gain must exceed.

    Of many tests on the same pages one passes by chance before long, so the threshold rises with
    their number; and errors of few queries are themselves uncertain, so it is as improbable by
    Student's t as √(2.5² + c ln test) is by the normal distribution. With it, random clicks promote
    anything in at most 5 of 100 whole streams (``python -m benchmarks gate``).

    Parameters
    ----------
    test : int
        Number of the test since the last automatic promotion, from 1.
    n_queries : int
        Queries that judge.
    """
    from scipy.special import ndtr, stdtrit

    threshold = sqrt(ERRORS_TO_PASS**2 + _MORE_ERRORS * log(test))
    return float(-stdtrit(max(n_queries - 1, 1), ndtr(-threshold)))


def judged_pages(pages: Pages, first: int, splits: Sequence[int]) -> np.ndarray | None:
    """Return the pages that judge, the newest from a position on; None for too few queries.

    Parameters
    ----------
    pages : Pages
    first : int
        The position of the last automatic promotion: it was decided on what came before.
    splits : sequence of int
        Those of the queries that judge.
    """
    which = pages.comparing(first)
    which = which[np.isin(pages.query_splits[pages.query[which]], splits)][-MOST_PAGES:]
    few = len(np.unique(pages.query[which])) < FEWEST_QUERIES
    return None if few else which


def judge(
    pages: Pages,
    which: np.ndarray,
    candidates: Scores,
    live: Scores,
    splits: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the live version and of the candidates, by held-out query.

    In split k the pages of the queries of split k judge what was learned without these queries and
    without the items of split k.

    Parameters
    ----------
    pages : Pages
    which : int array
        The pages that judge.
    candidates, live : callables from the pages of a split, and its number, to scores
        Of shape (n_forms, n_steps, n_shown) and (n_shown,); None where a version cannot be judged.
    splits : sequence of int

    Returns
    -------
    live : array of shape (3, n_queries)
    candidates : array of shape (n_forms, n_steps, 3, n_queries)
    """
    before, after = [], []
    for split in splits:
        held = which[pages.query_splits[pages.query[which]] == split]
        if len(held) == 0:
            continue
        judged = JudgedPages(pages, held)
        theirs = live(judged, split)
        if theirs is None:
            continue
        ours = candidates(judged, split)
        assert ours is not None
        seen = pages.seen(split)
        before.append(judged.values(theirs, seen))
        after.append(judged.values(ours, seen))
    if not before:
        return np.zeros((3, 0)), np.zeros((1, 1, 3, 0))
    return np.concatenate(before, axis=-1), np.concatenate(after, axis=-1)


def verdict_of(
    live_values: np.ndarray, values: np.ndarray, live: int, test: int
) -> tuple[int, int, Verdict]:
    """Choose a candidate; return its form, its step and the verdict on it."""
    threshold = errors_to_pass(test, live_values.shape[1])
    found = best_of(live_values, values, "protect", errors_to_pass=threshold)
    outcomes = {kind: judged_of(outcome) for kind, outcome in found.outcomes.items()}
    verdict = Verdict(live, **outcomes, test=test, threshold=threshold, passes=found.passes)
    return found.form, found.step, verdict


def judged_of(outcome: Outcome) -> Judged:
    """Return an outcome without NaN, which JSON does not have."""
    start, learned, error = (None if np.isnan(x) else float(x) for x in outcome[:3])
    return Judged(start, learned, error, outcome.n)
