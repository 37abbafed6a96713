"""When a candidate is created, how it is evaluated, and when it passes.

All of it depends only on the journal: a learner that was interrupted and resumed does the same as
one that was not.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from math import log, sqrt
from typing import NamedTuple, Protocol

import numpy as np

from likewise.learners import MIN_GAIN_IN_ERRORS, Outcome
from likewise.learners import judge as choose
from likewise.server.learning._initial import BASE_VERSION
from likewise.server.learning._pages import HeldOutPages, JudgedItems, Pages
from likewise.server.store import Evaluation, ItemId, Verdict
from likewise.supervision import N_SPLITS

MIN_QUERIES = 20
MAX_PAGES = 10_000  # the newest pages evaluate
_MAX_RANKED_PAGES = 400  # of a split, whose items are ranked among all items
_TEST_PENALTY = 2.5  # see `passing_threshold`
_MIN_STEP, _MAX_STEP, _GROWTH = 10, 1_000, 0.05


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

    def next(self, position: int) -> int:
        """Return the first position above a position."""
        return self._positions[self._count_until(position)]

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
    """Return the newest pages from a position on; None if too few queries chose an item.

    A query without a chosen item tells little: what was chosen is compared with it.

    Parameters
    ----------
    pages : Pages
    first : int
        The position of the last automatic promotion, which earlier pages decided.
    splits : sequence of int
        The splits whose queries evaluate.
    """
    page_numbers = np.union1d(pages.with_comparisons(first), pages.with_pairs(first))
    in_splits = np.isin(pages.query_splits[pages.query[page_numbers]], splits)
    page_numbers = page_numbers[in_splits][-MAX_PAGES:]
    return page_numbers if with_enough_choices(pages, page_numbers) else None


def with_enough_choices(pages: Pages, page_numbers: np.ndarray) -> bool:
    """Tell whether enough queries of some pages chose an item."""
    with_choice = np.intersect1d(page_numbers, pages.page[pages.chosen])
    return len(np.unique(pages.query[with_choice])) >= MIN_QUERIES


class Evaluated(Protocol):
    """A version that is live: its scores and mapped queries in every split."""

    def scores(self, held_out: HeldOutPages, split: int) -> np.ndarray | None:
        """Return the scores of the items shown; None if there are none for the split."""

    def mapped(self, queries: np.ndarray, split: int) -> np.ndarray | None:
        """Return queries mapped by the version; None if there is no form for the split."""


class Candidates(Protocol):
    """Candidates trained without a split."""

    @property
    def splits(self) -> Sequence[int]:
        """The splits whose queries evaluate."""

    def scores(self, pages: Pages, held_out: HeldOutPages, split: int) -> np.ndarray:
        """Return the scores of the items shown, of shape (n_forms, n_steps, n_shown)."""

    def ranks(
        self, pages: Pages, judged: JudgedItems, split: int, live: np.ndarray
    ) -> np.ndarray | None:
        """Return the ranks of judged items by the live version and all forms; None if unknown."""


class Means(NamedTuple):
    """Means of every held-out query.

    Attributes
    ----------
    live : array of shape (3, n_queries)
    candidates : array of shape (n_forms, n_steps, 3, n_queries)
    heads : array of shape (1 + n_forms, n_judged_queries) or None
        The share of chosen items among the judged ones that the live version and the forms rank
        high: see `JudgedItems.discounted`.
    """

    live: np.ndarray
    candidates: np.ndarray
    heads: np.ndarray | None

    @property
    def n_queries(self) -> int:
        """Number of queries with a value; one with nothing to compare has none."""
        return int(np.isfinite(self.live[0]).sum())


def evaluate(
    pages: Pages, page_numbers: np.ndarray, candidates: Candidates, live: Evaluated
) -> Means:
    """Return the mean of every held-out query for the live version and for the candidates.

    In split k the pages of the queries of split k evaluate models trained without these queries and
    without the items of split k. The value of a page is the share of other items that its chosen
    items outscore; pages of pairs, of which all or no items were chosen, are compared with each
    other.

    Parameters
    ----------
    pages : Pages
    page_numbers : int array
        The pages that evaluate.
    candidates : Candidates
    live : Evaluated
    """
    compares = np.isin(page_numbers, pages.with_comparisons(0))
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    discounted = []
    for split in candidates.splits:
        is_training_item = pages.is_training_item(split)
        comparing = pages.in_split(page_numbers[compares], split)
        if len(comparing):
            held_out = HeldOutPages(pages, comparing)
            live_scores = live.scores(held_out, split)
            if live_scores is None:
                continue
            scores = candidates.scores(pages, held_out, split)
            parts.append(
                (
                    held_out.query_means(live_scores, is_training_item),
                    held_out.query_means(scores, is_training_item),
                )
            )
        for numbers, has_pairs in ((comparing, False), (page_numbers[~compares], True)):
            newest = pages.in_split(numbers, split)[-_MAX_RANKED_PAGES:]
            if len(newest) == 0:
                continue
            judged = JudgedItems(pages, newest)
            mapped = live.mapped(judged.queries, split)
            ranks = None if mapped is None else candidates.ranks(pages, judged, split, mapped)
            if ranks is None:
                continue
            discounted.append(judged.discounted(ranks))
            if has_pairs:
                values = judged.query_values(ranks, is_training_item)
                parts.append((values[0], values[1:, None]))
    return _joined(parts, discounted)


def _joined(
    parts: Sequence[tuple[np.ndarray, np.ndarray]], discounted: Sequence[np.ndarray]
) -> Means:
    """Return the means of all splits; values of pairs are the same for all steps of offsets."""
    if not parts:
        return Means(np.zeros((3, 0)), np.zeros((1, 1, 3, 0)), None)
    n_steps = max(candidates.shape[1] for _, candidates in parts)
    live = np.concatenate([part for part, _ in parts], axis=-1)
    candidates = np.concatenate(
        [np.repeat(c, n_steps, axis=1) if c.shape[1] < n_steps else c for _, c in parts], axis=-1
    )
    if not discounted:
        return Means(live, candidates, None)
    chosen, judged = np.concatenate(discounted, axis=-1)
    # The values of a ratio: their mean is the ratio, and their standard error its error.
    total = judged.sum(axis=-1, keepdims=True)
    ratio = chosen.sum(axis=-1, keepdims=True) / total
    heads = ratio + chosen.shape[-1] * (chosen - ratio * judged) / total
    return Means(live, candidates, heads)


def choose_candidate(
    means: Means, live: int, test: int, *, max_head_loss: float = 1.0
) -> tuple[int, int, Verdict]:
    """Choose a candidate; return its form, its step and its verdict.

    On pages, which show few items, a form may gain that lifts items nobody would choose. One by
    which the share of chosen items among the judged ones that it ranks high falls, by more than
    `max_head_loss` standard errors, is not chosen.
    """
    threshold = passing_threshold(test, means.n_queries)
    choice = choose(
        means.live,
        means.candidates,
        "protect",
        min_gain=threshold,
        heads=means.heads,
        max_head_loss=max_head_loss,
    )
    return choice.form, choice.step, _verdict(choice.outcomes, choice.passes, live, test, threshold)


def judge_retrained(means: Means, place: tuple[int, int], live: int, test: int) -> Verdict:
    """Return the verdict on the live version's recipe, trained on all answers.

    It must clearly beat the model file, by answers since the live version was promoted, and lose at
    most one standard error against the live version. That it is better than the live version need
    not be shown: more answers to the same learner are worth something, and where they are not, as
    random ones, the model file is not beaten.

    Parameters
    ----------
    means : Means
        Of answers to questions: on pages of clicks the version that ranked them has an advantage.
    place : (form, step) of the recipe; those of the model file are (0, 0)
    live : int
    test : int
    """
    form, step = place
    threshold = passing_threshold(test, means.n_queries)
    values = means.candidates[form : form + 1, step : step + 1]
    heads = None if means.heads is None else means.heads[[1, 1 + form]]
    beside_live = choose(means.live, values).outcomes["overall"]
    keeps = beside_live.learned - beside_live.start >= -beside_live.error
    choice = choose(means.candidates[0, 0], values, "protect", min_gain=threshold, heads=heads)
    verdict = _verdict(choice.outcomes, choice.passes and keeps, live, test, threshold)
    return replace(verdict, against=BASE_VERSION)


def _verdict(
    outcomes: dict[str, Outcome], passes: bool, live: int, test: int, threshold: float
) -> Verdict:
    overall, seen, new = (to_evaluation(outcomes[kind]) for kind in ("overall", "seen", "new"))
    return Verdict(live, overall, seen, new, test, threshold, passes)


def to_evaluation(outcome: Outcome) -> Evaluation:
    """Return an outcome for JSON, which has no NaN."""
    start, learned, error = (None if np.isnan(x) else float(x) for x in outcome[:3])
    return Evaluation(start, learned, error, outcome.n)
