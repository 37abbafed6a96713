"""When a candidate is created, how it is evaluated, and when it passes.

All of it depends only on the journal: a learner that was interrupted and resumed does the same as
one that was not.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from math import log, sqrt

import numpy as np

from likewise.learners import MIN_GAIN_IN_ERRORS, Outcome
from likewise.learners import judge as choose
from likewise.server.learning._pages import HeldOutPages, Pages
from likewise.server.store import Evaluation, ItemId, Verdict
from likewise.supervision import N_SPLITS

MIN_QUERIES = 20
MAX_PAGES = 10_000  # the newest pages evaluate
_TEST_PENALTY = 2.5  # see `passing_threshold`
_MIN_STEP, _MAX_STEP, _GROWTH = 10, 1_000, 0.05

Scores = Callable[[HeldOutPages, int], np.ndarray | None]


def split_of(query_or_item: ItemId | Iterable[float]) -> int:
    """Return the split of a query or an item, by the hash of its id or its vector."""
    if isinstance(query_or_item, int | str):
        content = str(query_or_item).encode()
    else:
        content = np.asarray(query_or_item, dtype="<f4").tobytes()
    return _splitmix64(int.from_bytes(sha256(content).digest()[:8], "big")) % N_SPLITS


def _splitmix64(number: int) -> int:
    """Return a pseudo-random number: SplitMix64, by Steele, Lea and Flood (2014)."""
    mixed = (number + 0x9E3779B97F4A7C15) % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
    return mixed ^ (mixed >> 31)


class CandidateSchedule:
    """The positions at which candidates are created: every 10, later in steps of 5 %."""

    def __init__(self) -> None:
        self._positions = [_MIN_STEP]

    def any_between(self, before: int, after: int) -> bool:
        """Tell whether there is a position above `before` and not above `after`."""
        return self._count_until(after) > self._count_until(before)

    def last(self, position: int) -> int:
        """Return the last position that is not above a position; 0 if there is none."""
        n = self._count_until(position)
        return self._positions[n - 1] if n else 0

    def _count_until(self, position: int) -> int:
        while self._positions[-1] <= position:
            step = int(np.clip(self._positions[-1] * _GROWTH, _MIN_STEP, _MAX_STEP))
            self._positions.append(self._positions[-1] + step)
        return bisect_right(self._positions, position)


def passing_threshold(test: int, n_queries: int) -> float:
    """Return the number of standard errors that the overall gain must exceed.

    Among many tests on the same pages one soon passes by chance, so the threshold rises with their
    number. Standard errors of few queries are uncertain, so the threshold is the quantile of
    Student's t with the probability of √(2.5² + c ln test) under the normal distribution. With it,
    random clicks promote anything in at most 5 of 100 streams (``python -m benchmarks gate``).

    Parameters
    ----------
    test : int
        Number of the test since the last automatic promotion, from 1.
    n_queries : int
        Number of queries in the evaluation.
    """
    from scipy.special import ndtr, stdtrit

    threshold = sqrt(MIN_GAIN_IN_ERRORS**2 + _TEST_PENALTY * log(test))
    return float(-stdtrit(max(n_queries - 1, 1), ndtr(-threshold)))


def evaluation_pages(pages: Pages, first: int, splits: Sequence[int]) -> np.ndarray | None:
    """Return the newest pages from a position on; None if they have too few queries.

    Parameters
    ----------
    pages : Pages
    first : int
        The position of the last automatic promotion, which earlier pages decided.
    splits : sequence of int
        The splits whose queries evaluate.
    """
    page_numbers = pages.with_comparisons(first)
    in_splits = np.isin(pages.query_splits[pages.query[page_numbers]], splits)
    page_numbers = page_numbers[in_splits][-MAX_PAGES:]
    too_few = len(np.unique(pages.query[page_numbers])) < MIN_QUERIES
    return None if too_few else page_numbers


def evaluate(
    pages: Pages,
    page_numbers: np.ndarray,
    candidates: Scores,
    live: Scores,
    splits: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of every held-out query for the live version and for the candidates.

    In split k the pages of the queries of split k evaluate models trained without these queries and
    without the items of split k.

    Parameters
    ----------
    pages : Pages
    page_numbers : int array
        The pages that evaluate.
    candidates, live : callables from the pages and the number of a split to scores
        Of shapes (n_forms, n_steps, n_shown) and (n_shown,); None if a version has no scores.
    splits : sequence of int

    Returns
    -------
    live : array of shape (3, n_queries)
    candidates : array of shape (n_forms, n_steps, 3, n_queries)
    """
    live_means, candidate_means = [], []
    for split in splits:
        in_split = pages.in_split(page_numbers, split)
        if len(in_split) == 0:
            continue
        held_out = HeldOutPages(pages, in_split)
        live_scores = live(held_out, split)
        if live_scores is None:
            continue
        scores = candidates(held_out, split)
        assert scores is not None
        is_training_item = pages.is_training_item(split)
        live_means.append(held_out.query_means(live_scores, is_training_item))
        candidate_means.append(held_out.query_means(scores, is_training_item))
    if not live_means:
        return np.zeros((3, 0)), np.zeros((1, 1, 3, 0))
    return np.concatenate(live_means, axis=-1), np.concatenate(candidate_means, axis=-1)


def choose_candidate(
    live_means: np.ndarray, candidate_means: np.ndarray, live: int, test: int
) -> tuple[int, int, Verdict]:
    """Choose a candidate; return its form, its step and its verdict."""
    threshold = passing_threshold(test, live_means.shape[1])
    choice = choose(live_means, candidate_means, "protect", min_gain=threshold)
    outcomes = {kind: to_evaluation(outcome) for kind, outcome in choice.outcomes.items()}
    verdict = Verdict(live, **outcomes, test=test, threshold=threshold, passes=choice.passes)
    return choice.form, choice.step, verdict


def to_evaluation(outcome: Outcome) -> Evaluation:
    """Return an outcome for JSON, which has no NaN."""
    start, learned, error = (None if np.isnan(x) else float(x) for x in outcome[:3])
    return Evaluation(start, learned, error, outcome.n)
